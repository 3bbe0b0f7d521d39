//! Writes a bundle with which anybody can check the audit log without this program (`docs/audit.md`, "The bundle").
//!
//! The bundle holds what the store holds, unchecked.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_wire::Sha256Digest;
use serde_json::{Value, json};

use crate::Fault;
use crate::domain::Timestamp;
use crate::runtime::App;
use crate::store::audit::{StoredAnchor, hex};
use crate::store::bundle::{BundledDecision, BundledRequest, Snapshot};

/// Called while the bundle is written: audit rows so far, and all of them.
pub type Progress<'a> = &'a (dyn Fn(i64, i64) + Sync);

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// Rows of the log.
    pub rows: i64,
    /// Hash of the last one, hexadecimal.
    pub head: String,
    /// Requests.
    pub requests: u64,
    /// Decisions.
    pub decisions: u64,
    /// Signed heads.
    pub anchors: u64,
    /// Values of the shared policy.
    pub policy: u64,
    /// Entries of the realm log.
    pub entries: u64,
    /// Whether the anchors were read from the bus.
    pub anchors_from_bus: bool,
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn time(ms: i64) -> String {
    Timestamp(ms).rfc3339()
}

struct Lines<'w> {
    to: &'w mut dyn Write,
}

impl Lines<'_> {
    fn line(&mut self, value: &Value) -> Result<(), Fault> {
        let failed = |error: std::io::Error| {
            Fault::environment(format!(
                "the bundle could not be written: {error}; choose a folder that has space"
            ))
        };
        serde_json::to_writer(&mut self.to, value).map_err(|error| failed(error.into()))?;
        self.to.write_all(b"\n").map_err(failed)
    }
}

impl App {
    /// Writes the bundle, a JSON object a line. Needs memory for some requests at once, whatever the size of
    /// the store.
    ///
    /// # Errors
    /// `ErrorCode::Store`; `ErrorCode::Environment` when nothing can be written.
    pub async fn audit_export(
        &self,
        to: &mut (dyn Write + Send),
        progress: Progress<'_>,
    ) -> Result<Exported, Fault> {
        let mut lines = Lines { to };
        // Read before the log: every row that is anchored by then is in it, or is missing.
        let anchors = self.all_anchors().await?;
        let mut store = self.reader().snapshot().await?;
        let head = store.head().await?;
        let mut done = Exported {
            rows: head.seq,
            head: hex(&head.hash),
            anchors_from_bus: anchors.on_bus.is_some(),
            ..Exported::default()
        };
        lines.line(&json!({
            "type": "header", "format": "countersign-audit-bundle", "v": 1, "program": env!("CARGO_PKG_VERSION"),
            "realm": self.realm(), "console": self.identity().console_id,
            "made_at": self.now().rfc3339(), "anchors_from_bus": done.anchors_from_bus,
            "head": { "seq": head.seq, "hash": done.head },
        }))?;
        for row in store.entries().await? {
            lines.line(&json!({
                "type": "entry", "n": row.n, "digest": row.digest, "slot": row.slot, "seq": row.seq,
                "stored_at": time(row.stored_at), "word": row.word,
                "message": text(&row.message.unwrap_or_default()),
            }))?;
            done.entries += 1;
        }
        policy(&mut store, &mut lines, &mut done).await?;
        log(&mut store, &mut lines, head.seq, progress).await?;
        let mut known = std::collections::HashSet::new();
        for anchor in anchors.all() {
            if known.insert((anchor.stream_seq, anchor.payload.as_slice())) {
                lines.line(&anchor_line(anchor))?;
                done.anchors += 1;
            }
        }
        let mut after = 0;
        loop {
            let page = store.requests(after).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            for row in &page {
                lines.line(&request_line(row))?;
                done.requests += 1;
            }
        }
        after = 0;
        loop {
            let page = store.decisions(after).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            for row in &page {
                lines.line(&decision_line(row))?;
                done.decisions += 1;
            }
        }
        lines.line(&json!({
            "type": "end", "counts": {
                "audit": done.rows, "policy": done.policy, "entry": done.entries, "anchor": done.anchors,
                "request": done.requests, "decision": done.decisions,
            },
        }))?;
        Ok(done)
    }
}

async fn policy(
    store: &mut Snapshot,
    lines: &mut Lines<'_>,
    done: &mut Exported,
) -> Result<(), Fault> {
    let mut after = 0;
    loop {
        let page = store.policy(after).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.id;
        for row in &page {
            lines.line(&json!({
                "type": "policy", "name": row.key, "revision": row.revision,
                "payload": text(&row.payload), "key": row.signer, "sig": row.sig,
            }))?;
            done.policy += 1;
        }
    }
}

async fn log(
    store: &mut Snapshot,
    lines: &mut Lines<'_>,
    all: i64,
    progress: Progress<'_>,
) -> Result<(), Fault> {
    let mut after = 0;
    loop {
        let page = store.log(after).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.seq;
        for row in &page {
            lines.line(&json!({
                "type": "audit", "seq": row.seq, "prev": hex(&row.prev), "hash": hex(&row.hash), "at": row.at,
                "actor": row.actor, "action": row.action, "subject": row.subject, "detail": row.detail,
            }))?;
        }
        progress(after, all);
    }
}

fn anchor_line(anchor: &StoredAnchor) -> Value {
    json!({
        "type": "anchor", "stream_seq": anchor.stream_seq, "payload": text(&anchor.payload), "sig": anchor.sig,
    })
}

fn request_line(row: &BundledRequest) -> Value {
    let whole = Sha256Digest::of_bytes(&row.raw).to_string() == row.request_digest;
    // Bytes that are neither the request's nor removed are shown as they are.
    let raw = (whole || !row.raw.is_empty()).then(|| text(&row.raw));
    json!({
        "type": "request", "workspace": row.ws, "agent": row.agent, "request_id": row.request_id,
        "digest": row.request_digest, "stored_at": time(row.stored_at), "deadline_at": time(row.deadline_at),
        "state": row.state, "raw": raw,
    })
}

fn decision_line(row: &BundledDecision) -> Value {
    json!({
        "type": "decision", "workspace": row.ws, "agent": row.agent, "request_id": row.request_id,
        "payload": text(&row.payload), "key": row.key, "sig": row.sig, "stream_seq": row.stream_seq,
        "stored_at": time(row.stored_at), "effective": row.effective, "fault": row.fault,
    })
}
