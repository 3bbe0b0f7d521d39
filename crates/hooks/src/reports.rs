//! Receipts of calls that an earlier process of the hook asked about: one file a call in `approved`.
//!
//! A record goes a minute after the bus has its receipt. What nobody reports within an hour, or before its session ends,
//! did not start.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sdk::wire::Sha256Digest;
use countersign_sdk::{Decision, Gate, GateError, RequestId};
use countersign_wire::args_digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use crate::call::{Call, Report};
use crate::claude::PROMPT;

const NOT_STARTED_AFTER: Duration = Duration::from_secs(3600);
/// A call may still run that was reported as not started: so long it counts as one that was asked.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(86_400);
/// Another entry of the settings may report the same call.
const REPORTED_AGAIN: Duration = Duration::from_secs(60);
/// How long one hook works on receipts that are not its own.
const AT_MOST: Duration = Duration::from_secs(5);

/// An approved call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    request_id: RequestId,
    decision_id: String,
    session: Option<String>,
    call_id: Option<String>,
    tool: String,
    /// Of the arguments that may run.
    digest: Option<Sha256Digest>,
    /// The program asked for permission: calls that it allows without asking are reported too.
    prompt: bool,
    became: Option<Became>,
}

/// Whose call an event after it was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// An approved one.
    Approved,
    /// An approved one that ran with other arguments.
    Differs,
    /// None of ours.
    Unasked,
}

/// What became of it, where that is known and the bus has no receipt yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Became {
    Executed(Option<Sha256Digest>),
    Failed(Option<Sha256Digest>, String),
    NotStarted,
    /// A receipt said that it did not start: nobody had reported it.
    Overdue,
    /// Something ran that may have been this call.
    Unclear,
    /// The bus has its receipt.
    Sent,
}

impl Record {
    /// `args` may run.
    pub(crate) fn of(call: &Call, decision: &Decision, args: &Value) -> Self {
        Self {
            request_id: decision.request().request_id.clone(),
            decision_id: decision.decision_id().unwrap_or_default().to_owned(),
            session: call.session.clone(),
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            digest: args_digest(args).ok(),
            prompt: call.event == PROMPT,
            became: None,
        }
    }

    /// Without flushing: a power cut loses a receipt, and nothing runs by it.
    pub(crate) fn keep(&self, folder: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(self.path(folder))?;
        Ok(())
    }

    fn at(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.request_id))
    }

    /// It may still run, or has: nobody reported it.
    fn is_open(&self) -> bool {
        use Became::{NotStarted, Overdue, Unclear};
        matches!(self.became, None | Some(NotStarted | Overdue | Unclear))
    }

    /// Whether the ids say that it is the reported call; None where one has none.
    fn has_id_of(&self, report: &Report) -> Option<bool> {
        Some(self.call_id.as_ref()? == report.call_id.as_ref()?)
    }

    async fn send(&self, gate: &Gate) -> Result<(), GateError> {
        let receipts = gate.reports(self.request_id.clone(), &self.decision_id);
        match &self.became {
            None | Some(Became::Overdue | Became::Unclear | Became::Sent) => Ok(()),
            Some(Became::Executed(ran)) => receipts.ran(*ran, None).await,
            Some(Became::Failed(ran, why)) => receipts.ran(*ran, Some(why)).await,
            Some(Became::NotStarted) => receipts.refused("not_started").await,
        }
    }
}

/// Writes down what became of a call. `own_ids`: no two calls of the program have one id.
pub(crate) fn note(folder: &Path, report: &Report, own_ids: bool) -> io::Result<Noted> {
    // Of two equal calls each process takes another record.
    let alone = File::open(folder)?;
    alone.lock()?;
    let records = records(folder)?.into_iter().map(|(_, record)| record);
    let (open, closed): (Vec<_>, Vec<_>) = records
        .filter(|record| record.session == report.session)
        .partition(Record::is_open);
    let Some(mut record) = record_of(&open, report) else {
        if own_ids && closed.iter().any(|of| of.has_id_of(report) == Some(true)) {
            return Ok(Noted::Approved);
        }
        let same = |of: &Record| of.tool == report.tool && of.has_id_of(report).is_none();
        for mut record in open.into_iter().filter(same) {
            record.became = Some(Became::Unclear);
            record.keep(folder)?;
        }
        return Ok(Noted::Unasked);
    };
    record.became = Some(match &report.failed {
        None => Became::Executed(report.ran),
        Some(why) => Became::Failed(report.ran, why.clone()),
    });
    record.keep(folder)?;
    Ok(match record.digest == report.ran {
        true => Noted::Approved,
        false => Noted::Differs,
    })
}

/// By the id of the call, where both have one; else by tool and digest, else the only one of this tool. The oldest of
/// several.
fn record_of(open: &[Record], report: &Report) -> Option<Record> {
    let equal = |record: &&Record| record.digest == report.ran;
    let mut by_id = open.iter().filter(|of| of.has_id_of(report) == Some(true));
    if let Some(first) = by_id.next() {
        let equal = [first].into_iter().chain(by_id).find(equal);
        return Some(equal.unwrap_or(first).clone());
    }
    let same = |of: &&Record| of.tool == report.tool && of.has_id_of(report).is_none();
    let same: Vec<_> = open.iter().filter(same).collect();
    let only = match same[..] {
        [only] if !only.prompt => Some(only),
        _ => None,
    };
    same.iter().copied().find(equal).or(only).cloned()
}

/// Notes that what is left of a session will not run; `Unasked` where nothing is.
pub(crate) fn note_end(folder: &Path, session: &str) -> io::Result<Noted> {
    let alone = File::open(folder)?;
    alone.lock()?;
    let mut any = Noted::Unasked;
    for (_, mut record) in records(folder)? {
        if record.session.as_deref() == Some(session) && record.became.is_none() {
            record.became = Some(Became::NotStarted);
            record.keep(folder)?;
            any = Noted::Approved;
        }
    }
    Ok(any)
}

/// Sends every receipt that is due. One that the bus does not take stays for a later process.
pub(crate) async fn settle_late(gate: &Gate, folder: &Path) {
    let work = async {
        for (age, listed) in records(folder).unwrap_or_default() {
            // Another process may have noted more meanwhile.
            let Some(mut record) = Record::at(&listed.path(folder)) else {
                continue;
            };
            use Became::{NotStarted, Overdue, Sent, Unclear};
            let after = match record.became {
                None => NOT_STARTED_AFTER,
                Some(Overdue | Unclear) => FORGOTTEN_AFTER,
                Some(Sent) => REPORTED_AGAIN,
                Some(_) => Duration::ZERO,
            };
            if age < after {
                continue;
            }
            let became = record.became.get_or_insert(NotStarted);
            let next = match became {
                NotStarted => Some(Overdue),
                Became::Executed(_) | Became::Failed(..) => Some(Sent),
                Overdue | Unclear | Sent => None,
            };
            match (record.send(gate).await, next) {
                (Ok(()), None) => _ = fs::remove_file(record.path(folder)),
                (Ok(()), next) => {
                    record.became = next;
                    let _ = record.keep(folder);
                }
                (Err(error), _) => tracing::warn!("a receipt is late: {error}"),
            }
        }
    };
    let _ = timeout(AT_MOST, work).await;
}

/// With how long ago each was written, oldest first. What cannot be read is removed.
fn records(folder: &Path) -> io::Result<Vec<(Duration, Record)>> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        // Another hook may have removed it.
        let Ok(text) = fs::read(&path) else { continue };
        match serde_json::from_slice::<Record>(&text) {
            Ok(record) => {
                let written = fs::metadata(&path).and_then(|file| file.modified());
                let age = written.ok().and_then(|at| at.elapsed().ok());
                found.push((age.unwrap_or_default(), record));
            }
            Err(_) => _ = fs::remove_file(&path),
        }
    }
    found.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    Ok(found)
}
