//! Receipts of calls that an earlier process of the hook asked about: one file a call in `approved`.
//!
//! A record goes when the bus has its receipt. What nobody reports within an hour, or before its session ends, did not
//! start.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_sdk::wire::Sha256Digest;
use countersign_sdk::{Decision, Gate, GateError, RequestId};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::call::{Call, Report};

const NOT_STARTED_AFTER: Duration = Duration::from_secs(3600);
/// A call may still run that was reported as not started: so long it counts as one that was asked.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(86_400);
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
    became: Option<Became>,
}

/// What became of it, where that is known and the bus has no receipt yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Became {
    Executed(Option<Sha256Digest>),
    Failed(Option<Sha256Digest>, String),
    NotStarted,
    /// A receipt said that it did not start: nobody had reported it for an hour.
    Overdue,
}

impl Record {
    pub(crate) fn of(call: &Call, decision: &Decision) -> Self {
        Self {
            request_id: decision.request().request_id.clone(),
            decision_id: decision.decision_id().unwrap_or_default().to_owned(),
            session: call.session.clone(),
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            digest: decision.args_digest(),
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

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.request_id))
    }

    /// By the id of the call, else by session, tool and digest.
    fn is_of(&self, report: &Report) -> bool {
        match (&self.call_id, &report.call_id) {
            (Some(own), Some(id)) => own == id && self.session == report.session,
            _ => {
                self.session == report.session
                    && self.tool == report.tool
                    && self.digest == report.ran
            }
        }
    }

    async fn send(&self, gate: &Gate) -> Result<(), GateError> {
        let receipts = gate.reports(self.request_id.clone(), &self.decision_id);
        match &self.became {
            None | Some(Became::Overdue) => Ok(()),
            Some(Became::Executed(ran)) => receipts.ran(*ran, None).await,
            Some(Became::Failed(ran, why)) => receipts.ran(*ran, Some(why)).await,
            Some(Became::NotStarted) => receipts.refused("not_started").await,
        }
    }
}

/// Writes down what became of a call; false where it is not one of ours.
pub(crate) fn note(folder: &Path, report: &Report) -> io::Result<bool> {
    let open = |record: &Record| matches!(record.became, None | Some(Became::Overdue));
    let Some((_, mut record)) = records(folder)?
        .into_iter()
        .find(|(_, record)| open(record) && record.is_of(report))
    else {
        return Ok(false);
    };
    if record.became.is_some() {
        return Ok(true);
    }
    record.became = Some(match &report.failed {
        None => Became::Executed(report.ran),
        Some(why) => Became::Failed(report.ran, why.clone()),
    });
    record.keep(folder)?;
    Ok(true)
}

/// Notes that what is left of a session will not run; false where nothing is.
pub(crate) fn note_end(folder: &Path, session: &str) -> io::Result<bool> {
    let mut any = false;
    for (_, mut record) in records(folder)? {
        if record.session.as_deref() == Some(session) && record.became.is_none() {
            record.became = Some(Became::NotStarted);
            record.keep(folder)?;
            any = true;
        }
    }
    Ok(any)
}

/// Sends every receipt that is due. One that the bus does not take stays for a later process.
pub(crate) async fn settle_late(gate: &Gate, folder: &Path) {
    let work = async {
        for (age, mut record) in records(folder).unwrap_or_default() {
            let overdue = record.became.is_none();
            let after = match record.became {
                None => NOT_STARTED_AFTER,
                Some(Became::Overdue) => FORGOTTEN_AFTER,
                Some(_) => Duration::ZERO,
            };
            if age < after {
                continue;
            }
            if overdue {
                record.became = Some(Became::NotStarted);
            }
            match record.send(gate).await {
                Ok(()) if overdue => {
                    record.became = Some(Became::Overdue);
                    let _ = record.keep(folder);
                }
                Ok(()) => _ = fs::remove_file(record.path(folder)),
                Err(error) => tracing::warn!("a receipt is late: {error}"),
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
