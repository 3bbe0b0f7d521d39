//! Brings a store of an earlier version to this one, one migration after the other, and reports its progress.
//!
//! Each step is a transaction of its own, and one that is stopped leaves no trace. sqlx keeps
//! the list of what was done and compares its checksums.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::migrate::{Migrate as _, Migration, Migrator};
use tokio::sync::watch;
use tokio::time::Instant;

use super::StoreError;
use super::meta::WRITTEN_BY;
use super::pool::{MIGRATIONS, Reader};

/// Where sqlx lists what was done.
const DONE: &str = "_sqlx_migrations";
/// A step that takes longer is reported again, and again after as long.
const AGAIN: Duration = Duration::from_secs(10);

/// A step of bringing a store to this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateStep {
    /// Which one, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// What it does, such as `create span times`.
    pub what: String,
    /// Since when.
    pub since: Instant,
}

/// Where the current step is reported; none before the first and after the last.
pub type Updates = watch::Sender<Option<UpdateStep>>;

/// Runs what is missing. A new store is not reported: that takes no time.
///
/// May be dropped at any time: the steps that were finished stay, and the next start goes on with the one that was not.
pub(super) async fn bring_up(
    migrations: &Migrator,
    store: &mut SqliteConnection,
    announced: &Updates,
) -> Result<(), StoreError> {
    refuse_newer(migrations, store).await?;
    let _over = Over(announced);
    store.ensure_migrations_table(DONE).await?;
    let done = store.list_applied_migrations(DONE).await?;
    if !done.is_empty() {
        let done: HashSet<i64> = done.iter().map(|step| step.version).collect();
        let missing: Vec<&Migration> = migrations
            .iter()
            .filter(|step| {
                !step.migration_type.is_down_migration() && !done.contains(&step.version)
            })
            .collect();
        for (step, number) in missing.iter().zip(1..) {
            let now = UpdateStep {
                number,
                of: missing.len(),
                what: step.description.to_string(),
                since: Instant::now(),
            };
            announced.send_replace(Some(now.clone()));
            one(migrations, step.version, store, &now).await?;
        }
    }
    // Everything where nothing was done, else what sqlx finds wrong with what was.
    migrations.run(&mut *store).await?;
    Ok(())
}

/// Refuses a store that lacks steps: only who holds its folder's lock brings it to this version, for the console that
/// runs there may be an older one, which could never be started again.
pub(super) async fn refuse_older(
    migrations: &Migrator,
    store: &mut SqliteConnection,
) -> Result<(), StoreError> {
    refuse_newer(migrations, store).await?;
    let done = store.list_applied_migrations(DONE).await?;
    let done: HashSet<i64> = done.iter().map(|step| step.version).collect();
    match migrations.iter().find(|step| !done.contains(&step.version)) {
        Some(step) => Err(StoreError::Older(format!("it lacks step {}", step.version))),
        None => Ok(migrations.run(&mut *store).await?),
    }
}

/// The error of a store that a newer version brought up to itself; none where this version knows all its steps.
pub async fn newer(reader: &Reader) -> Result<Option<StoreError>, StoreError> {
    let mut store = reader.0.acquire().await?;
    Ok(refuse_newer(&MIGRATIONS, &mut store).await.err())
}

/// The last step of a store of this version.
pub fn last_step() -> i64 {
    MIGRATIONS
        .iter()
        .map(|step| step.version)
        .max()
        .unwrap_or(0)
}

/// Refuses a store that has steps of a newer version, before anything is written.
pub(super) async fn refuse_newer(
    migrations: &Migrator,
    store: &mut SqliteConnection,
) -> Result<(), StoreError> {
    let tables: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_master WHERE name IN ('_sqlx_migrations', 'meta')",
    )
    .fetch_one(&mut *store)
    .await?;
    if tables < 2 {
        return Ok(());
    }
    let done = store.list_applied_migrations(DONE).await?;
    let known = |version| migrations.iter().any(|step| step.version == version);
    if done.iter().all(|step| known(step.version)) {
        return Ok(());
    }
    let by = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
        .bind(WRITTEN_BY)
        .fetch_optional(store)
        .await?;
    Err(StoreError::Newer {
        by: by.unwrap_or_else(|| "of a newer version".to_owned()),
    })
}

/// Keeps which version writes, for the words of an older one. A disk that takes nothing now takes it at the next start.
pub(super) async fn sign(store: &mut SqliteConnection) -> Result<(), StoreError> {
    let put = "INSERT INTO meta(key, value) VALUES (?1, ?2)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value";
    let put = sqlx::query(put)
        .bind(WRITTEN_BY)
        .bind(env!("CARGO_PKG_VERSION"));
    match put.execute(store).await.map_err(StoreError::from) {
        Err(error) if !error.is_read_only() => Err(error),
        _ => Ok(()),
    }
}

async fn one(
    migrations: &Migrator,
    version: i64,
    store: &mut SqliteConnection,
    step: &UpdateStep,
) -> Result<(), StoreError> {
    let UpdateStep {
        number, of, what, ..
    } = step;
    tracing::info!("updating the store: step {number} of {of}, {what}");
    let mut again = tokio::time::interval_at(step.since + AGAIN, AGAIN);
    let mut run = pin!(migrations.run_to(version, &mut *store));
    loop {
        tokio::select! {
            ended = &mut run => return Ok(ended?),
            _ = again.tick() => tracing::info!(
                "updating the store: still step {number} of {of}, {what}, since {} s",
                step.since.elapsed().as_secs()
            ),
        }
    }
}

/// Clears the report, also when the update is stopped.
struct Over<'a>(&'a Updates);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|step| step.take().is_some());
    }
}

#[cfg(test)]
mod tests;
