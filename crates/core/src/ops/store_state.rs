//! Reports that the store takes no writes, where the store cannot record it: to this process, and through a small file
//! to the other processes of the folder.
//!
//! The file has its length from the start and is written in place, so that a full disk has room for it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Fault;
use crate::domain::{AlarmCode, Timestamp};
use crate::runtime::{App, Health, Role};
use crate::store::alarms::{self, Alarm};

/// Name of the file in the data folder.
const FILE: &str = "store.state";
/// Its length; what is longer is cut.
const LENGTH: usize = 512;
/// The alarm's subject, in the place of a request.
const SUBJECT: &str = "countersign.db";

/// Why nothing can be written, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreFailed {
    pub(crate) why: String,
    /// The server's time, ms.
    pub(crate) since: i64,
    /// Another program holds the lock.
    #[serde(default)]
    pub(crate) locked: bool,
}

impl StoreFailed {
    fn of(health: &Health) -> Option<Self> {
        Some(Self {
            why: health.store_failed.clone()?,
            since: health.failed_at.map_or(0, |at| at.0),
            locked: health.locked,
        })
    }

    fn code(&self) -> AlarmCode {
        match self.locked {
            true => AlarmCode::StoreLocked,
            false => AlarmCode::StoreFailed,
        }
    }

    fn alarm(&self) -> Alarm {
        Alarm {
            code: self.code().as_str().to_owned(),
            subject: SUBJECT.to_owned(),
            at: self.since,
            ..Alarm::default()
        }
    }
}

/// Writes the state in place; blanks fill the rest.
fn write(folder: &Path, state: Option<&StoreFailed>) -> io::Result<()> {
    let mut text = match state {
        Some(state) => {
            let short = StoreFailed {
                why: state.why.chars().take(LENGTH / 8).collect(),
                ..*state
            };
            serde_json::to_vec(&short)?
        }
        None => b"null".to_vec(),
    };
    text.resize(LENGTH, b' ');
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join(FILE))?
        .write_all(&text)
}

fn read(folder: &Path) -> Option<StoreFailed> {
    let text = std::fs::read(folder.join(FILE)).ok()?;
    serde_json::from_slice::<Option<StoreFailed>>(&text).ok()?
}

impl App {
    /// Why nothing can be written to the store, as far as this process can know.
    pub(crate) fn store_failed(&self) -> Option<StoreFailed> {
        let own = StoreFailed::of(&self.health().borrow());
        match self.role() {
            Role::Console => own,
            // The note of a console that has gone proves nothing about the store.
            _ if !self.data().runtime_lives() => own,
            _ => own.or_else(|| read(self.data().path())),
        }
    }

    /// The alarms that nobody has acknowledged, newest first, and the one that could not be written.
    pub async fn standing_alarms(&self) -> Result<Vec<Alarm>, Fault> {
        self.with_store_failed(alarms::newest(self.reader()).await?)
    }

    pub(crate) fn with_store_failed(&self, mut alarms: Vec<Alarm>) -> Result<Vec<Alarm>, Fault> {
        if let Some(failed) = self.store_failed() {
            alarms.insert(0, failed.alarm());
        }
        Ok(alarms)
    }

    /// Keeps the file as the store is, and adds to the audit log afterwards what was missed.
    pub(crate) async fn follow_store(self) {
        let mut health = self.health();
        let mut reported: Option<StoreFailed> = None;
        self.report_folder(None);
        loop {
            let now = StoreFailed::of(&health.borrow_and_update());
            if now.is_some() != reported.is_some()
                || now.as_ref().map(|of| of.locked) != reported.as_ref().map(|of| of.locked)
            {
                self.report_folder(now.as_ref());
                if let (Some(before), None) = (&reported, &now) {
                    self.note_end(before).await;
                }
                reported = now;
            }
            tokio::select! {
                () = self.inner.stop.cancelled() => return,
                changed = health.changed() => if changed.is_err() { return },
            }
        }
    }

    fn report_folder(&self, state: Option<&StoreFailed>) {
        if let Err(error) = write(self.data().path(), state) {
            tracing::warn!(%error, "other commands are not informed how the store is");
        }
    }

    async fn note_end(&self, failed: &StoreFailed) {
        let detail = json!({
            "code": failed.code().as_str(), "since": Timestamp(failed.since).rfc3339(),
        });
        let written = self
            .record("alarm_cleared", SUBJECT.to_owned(), detail)
            .await;
        match written {
            Ok(()) => {
                self.inner.shared.health.send_if_modified(|health| {
                    health.note_end_announced();
                    false
                });
            }
            Err(error) => tracing::warn!(%error, "that the store works again is not audited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::alarm::words;

    #[test]
    fn a_locked_store_is_not_told_to_be_one_without_space() {
        for (locked, code, says, not) in [
            (true, "store_locked", "lock", "space"),
            (false, "store_failed", "space", "lock is released"),
        ] {
            let health = Health {
                store_failed: Some("it".to_owned()),
                locked,
                ..Health::default()
            };
            let alarm = StoreFailed::of(&health).map(|of| of.alarm());
            let alarm = alarm.unwrap_or_default();
            let (_, next) = words(&alarm.code, &alarm.subject);
            assert_eq!(alarm.code, code);
            assert!(next.contains(says) && !next.contains(not), "{next}");
        }
    }
}
