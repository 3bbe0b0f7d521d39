//! The operators and the log, a line each, for the front ends.

use std::collections::BTreeSet;

use countersign_wire::realm::{Entry, Limits, Realm, SigningKey, Word};
use countersign_wire::{KeyRole, Risk, Sha256Digest, Stream};

use super::asks::{self, Asked};
use super::feed::{fold, words};
use crate::Fault;
use crate::domain::Timestamp;
use crate::runtime::{App, Role};
use crate::store::bus_stream;
use crate::store::realm_log::{self, SlotRow};

/// State of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedState {
    /// Counts now.
    InForce,
    /// Asks to be let in.
    Waiting,
    /// Ended, or was turned away.
    Ended,
}

countersign_wire::words!(ListedState {
    InForce => "in_force", Waiting => "waiting", Ended => "ended",
});

/// A device, or a console key with limits of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDevice {
    /// Where it lives; not escaped.
    pub name: Option<String>,
    /// None: all.
    pub workspaces: Option<BTreeSet<String>>,
    /// None: any.
    pub max_risk: Option<Risk>,
    /// When it ends, as its record says.
    pub until: Option<String>,
}

/// One line: a key that an entry has named, or that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: String,
    /// The operator's id; of an ask the operator whose key it wants to be.
    pub operator: String,
    /// As it named itself, or as an operator named it; not escaped. None of a newcomer who was turned away.
    pub name: Option<String>,
    /// What it may sign.
    pub role: KeyRole,
    /// Its state.
    pub state: ListedState,
    /// Whether its operator is an administrator.
    pub admin: bool,
    /// The operator's; none: all.
    pub workspaces: Option<BTreeSet<String>>,
    /// The operator's; none: any.
    pub max_risk: Option<Risk>,
    /// Of a device, or of a console key with limits of its own.
    pub device: Option<ListedDevice>,
    /// The number of the entry with which it came.
    pub since: Option<u64>,
    /// The number of the entry with which it ended.
    pub ended: Option<u64>,
    /// Who signed the entry with which it came.
    pub by: Option<String>,
    /// When that entry was stored; of an ask when it asked, by its own clock.
    pub at: Option<Timestamp>,
    /// The last name of who signed it; not escaped.
    pub by_name: Option<String>,
    /// No person accepted it.
    pub by_itself: bool,
    /// When the entry with which it ended was stored.
    pub ended_at: Option<Timestamp>,
    /// Whether it is this console's.
    pub mine: bool,
    /// The console that it is of, by its record.
    pub console: Option<String>,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The entry's number.
    pub n: u64,
    /// Its digest.
    pub digest: String,
    /// Its slot.
    pub slot: u64,
    /// The sequence of its message.
    pub seq: u64,
    /// The server's stamp.
    pub stored_at: Timestamp,
    /// Who signed it.
    pub by: String,
    /// The signer's name at that entry; none of the recovery key. Not escaped.
    pub name: Option<String>,
    /// No person accepted.
    pub by_itself: bool,
    /// What became of it.
    pub word: Word,
    /// What it changed.
    pub does: Vec<&'static str>,
}

/// The slots of the log as this folder has read them.
async fn rows(app: &App) -> Result<Vec<SlotRow>, Fault> {
    let positions = bus_stream::all(app.reader()).await?;
    let decisions = Stream::Decisions.name();
    let Some(position) = positions.iter().find(|at| at.stream == decisions) else {
        return Ok(Vec::new());
    };
    Ok(realm_log::read(app.reader(), &position.epoch).await?)
}

/// The entries of the realm log, the first one first.
///
/// # Errors
/// `ErrorCode::Store`.
pub async fn operators_log(app: &App) -> Result<Vec<LogLine>, Fault> {
    let rows = rows(app).await?;
    let known = app.inner.shared.trusted.log();
    let mut log = Realm::new(*known.realm(), *known.root());
    let mut lines = Vec::new();
    for row in &rows {
        let (before, length) = (log.clone(), log.chain.len());
        log = fold(log, std::slice::from_ref(row));
        let Some(entry) = log.chain.get(length) else {
            continue;
        };
        let signer = match length {
            0 => &log,
            _ => &before,
        };
        lines.push(LogLine {
            n: entry.n,
            digest: entry.digest.to_string(),
            slot: entry.slot,
            seq: entry.sequence,
            stored_at: Timestamp(row.stored_at),
            by: entry.by.to_string(),
            name: signer.name(entry.by.as_str()).map(str::to_owned),
            by_itself: by_itself(row),
            word: entry.word,
            does: words(&entry.does),
        });
    }
    Ok(lines)
}

/// Whether no person accepted what an entry does.
fn by_itself(row: &SlotRow) -> bool {
    let entry = row.message.as_deref().and_then(Entry::read);
    entry.is_some_and(|entry| {
        let by_itself = entry.fields.get("by_itself");
        by_itself.is_some_and(|is| is == true)
    })
}

/// What a line says of a key of the log.
struct Of<'a> {
    log: &'a Realm,
    rows: &'a [SlotRow],
    mine: &'a [String],
}

impl Of<'_> {
    fn row(&self, n: u64) -> Option<&SlotRow> {
        let n = i64::try_from(n).ok();
        self.rows.iter().find(|row| row.n == n)
    }

    fn stamp(&self, n: u64) -> Option<Timestamp> {
        Some(Timestamp(self.row(n)?.stored_at))
    }

    fn line(&self, key: &str) -> Option<Listed> {
        let terms = self.log.terms_of(key);
        let (first, last) = (terms.first()?, terms.last()?);
        let since = first.began.n;
        let at = usize::try_from(since).ok()?.checked_sub(1)?;
        let record = self.log.operators.get(&last.operator);
        let record = record.filter(|_| last.ended.is_none());
        let limits = record.and_then(|record| record.limits.as_ref());
        let by = self.log.chain.get(at).map(|entry| entry.by.to_string());
        let ended = last.ended.as_ref().map(|ended| ended.n);
        Some(Listed {
            key: key.to_owned(),
            operator: last.operator.clone(),
            name: self.log.name(key).map(str::to_owned),
            role: last.key.role.known()?,
            state: match last.ended {
                None => ListedState::InForce,
                Some(_) => ListedState::Ended,
            },
            admin: record.is_some_and(|record| record.admin),
            workspaces: limits.and_then(|limits| limits.workspaces.clone()),
            max_risk: limits.and_then(|limits| limits.max_risk),
            device: record.and_then(|_| device(&last.key)),
            since: Some(since),
            ended,
            by_name: by
                .as_deref()
                .and_then(|by| self.log.name(by))
                .map(str::to_owned),
            by,
            by_itself: self.row(since).is_some_and(by_itself),
            ended_at: ended.and_then(|n| self.stamp(n)),
            at: self.stamp(since),
            mine: self.mine.iter().any(|mine| mine == key),
            console: last.key.device.clone(),
        })
    }

    fn turned_away(&self, key: &str, n: u64) -> Listed {
        Listed {
            key: key.to_owned(),
            operator: key.to_owned(),
            name: None,
            role: KeyRole::Human,
            state: ListedState::Ended,
            admin: false,
            workspaces: None,
            max_risk: None,
            device: None,
            since: None,
            ended: Some(n),
            by: None,
            by_name: None,
            by_itself: false,
            ended_at: self.stamp(n),
            at: None,
            mine: self.mine.iter().any(|mine| mine == key),
            console: None,
        }
    }

    fn ask(&self, asked: &Asked) -> Option<Listed> {
        let ask = &asked.ask;
        Some(Listed {
            key: ask.key.key.clone(),
            operator: ask.operator.to_string(),
            name: Some(ask.name.clone()),
            role: ask.key.role.known()?,
            state: ListedState::Waiting,
            admin: false,
            workspaces: None,
            max_risk: None,
            device: device(&ask.key),
            since: None,
            ended: None,
            by: None,
            by_name: None,
            by_itself: false,
            ended_at: None,
            at: Timestamp::parse(&ask.at),
            mine: self.mine.contains(&ask.key.key),
            console: ask.key.device.clone(),
        })
    }
}

fn device(key: &SigningKey) -> Option<ListedDevice> {
    let limits: Option<&Limits> = key.limits.as_ref();
    let shown = key.role.known() == Some(KeyRole::Device) || limits.is_some();
    shown.then(|| ListedDevice {
        name: key.device.clone(),
        workspaces: limits.and_then(|limits| limits.workspaces.clone()),
        max_risk: limits.and_then(|limits| limits.max_risk),
        until: key
            .fields
            .get("until")
            .and_then(|at| at.as_str())
            .map(str::to_owned),
    })
}

impl App {
    /// Keys in force and asks; with `all` also keys that have ended. In the order in which they came, asks last.
    ///
    /// # Errors
    /// `ErrorCode::Store`.
    pub async fn operators(&self, all: bool) -> Result<Vec<Listed>, Fault> {
        let shared = &self.inner.shared;
        if self.role() != Role::Console
            && let Some(bus) = self.bus()
        {
            // Without an answer what the store has is shown.
            if let Err(error) = super::write::refresh(shared, &bus).await {
                tracing::warn!(%error, "the realm log is shown as the store has it");
            }
        }
        let (log, rows) = (shared.trusted.log(), rows(self).await?);
        let keys = shared.identity.signing();
        let mine = [keys.human_key.to_string(), keys.auto_key.to_string()];
        let of = Of {
            log: &log,
            rows: &rows,
            mine: &mine,
        };
        let named: BTreeSet<&str> = log.all_terms().map(|term| term.key.key.as_str()).collect();
        let mut lines: Vec<Listed> = named.into_iter().filter_map(|key| of.line(key)).collect();
        lines.extend(
            log.turned_away
                .iter()
                .map(|(key, n)| of.turned_away(key, *n)),
        );
        lines.retain(|line| all || line.state == ListedState::InForce);
        lines.sort_by(|a, b| {
            let place = |line: &Listed| (line.since.is_none(), line.since);
            (place(a), &a.key).cmp(&(place(b), &b.key))
        });
        let asks = match (self.role(), self.bus(), self.realm()) {
            (Role::Console, ..) => shared.trusted.asks().borrow().clone(),
            (_, Some(bus), Some(realm)) => asks::look(&bus, &realm).await,
            _ => Default::default(),
        };
        let open = asks::listed(&asks, &log);
        lines.extend(open.iter().filter_map(|asked| of.ask(asked)));
        Ok(lines)
    }
}

/// Whether newcomers wait for a person.
#[must_use]
pub fn acceptance(app: &App) -> bool {
    app.inner.shared.trusted.log().acceptance
}

/// Root and head of the realm log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Digest of entry 1.
    pub root: Sha256Digest,
    /// Number of the last entry; 0 before entry 1.
    pub n: u64,
    /// Its digest; none before entry 1.
    pub digest: Option<Sha256Digest>,
}

/// Root and head of the realm log as this process knows it.
#[must_use]
pub fn log_head(app: &App) -> Head {
    let log = app.inner.shared.trusted.log();
    let head = log.chain.last();
    Head {
        root: *log.root(),
        n: head.map_or(0, |head| head.n),
        digest: head.map(|head| head.digest),
    }
}

/// Every key, also one that has ended, that is this or is of an operator with this name.
#[must_use]
pub fn keys_of(app: &App, name: &str) -> Vec<String> {
    let log = app.inner.shared.trusted.log();
    let keys = log.all_terms().map(|term| term.key.key.as_str());
    let named = keys.filter(|key| *key == name || log.name(key) == Some(name));
    let keys: BTreeSet<&str> = named.collect();
    keys.into_iter().map(str::to_owned).collect()
}
