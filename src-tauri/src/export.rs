//! The history as an export writes it, page by page, for the command line and the window.
//!
//! Memory holds one page, and what looks like a secret is hidden.

mod csv;

use std::collections::BTreeMap;
use std::io::Write;

use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{AuditRef, RequestSummary};
use countersign_core::domain::history::HistoryFilter;
use countersign_core::store::export::ExportRow;
use countersign_core::{App, Fault};
use countersign_wire::{Sha256Digest, json_ascii_safe};
use serde_json::{Map, Value, json};

use crate::cli::line::{add_findings, add_repeats, fields};
use crate::cli::plain;

/// Requests in memory at once.
const PAGE: i64 = 500;

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON object a line.
    Jsonl,
    /// A table for a spreadsheet.
    Csv,
}

impl Format {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }
}

/// Writes into the audit log that data is about to leave the console.
pub(crate) async fn record(app: &App, format: Format) -> Result<(), Fault> {
    let console = app.identity().console_id.to_string();
    let detail = json!({ "what": "history", "format": format.as_str() });
    app.record("export", console, detail).await
}

/// One page of an export.
pub(crate) struct Piece {
    /// As they go into the file; the first page begins with the names of the columns.
    pub(crate) bytes: Vec<u8>,
    /// The requests in them, newest first.
    pub(crate) ids: Vec<i64>,
    /// Where the next page begins; none at the end.
    pub(crate) next: Option<i64>,
}

/// The page behind row `after`, or the first.
pub(crate) async fn piece(
    app: &App,
    filter: &HistoryFilter,
    format: Format,
    after: Option<i64>,
) -> Result<Piece, Fault> {
    let failed = |error: std::io::Error| Fault::failed(format!("the export: {error}"));
    let mut bytes = Vec::new();
    if (format, after) == (Format::Csv, None) {
        csv::heading(&mut bytes).map_err(failed)?;
    }
    let page = app.history_page(filter, after, PAGE, None).await?;
    let ids: Vec<i64> = page.rows.iter().map(|row| row.id).collect();
    let facts = app.export_facts(&ids).await?.into_iter();
    let mut facts: BTreeMap<i64, ExportRow> = facts.map(|row| (row.id, row)).collect();
    let mut audit = app.audit_of(&ids).await?;
    let repeated = app.repeated(&ids).await?;
    for row in &page.rows {
        let audit = audit.remove(&row.id).unwrap_or_default();
        let mut line = line(row, facts.remove(&row.id), audit);
        add_repeats(&mut line, repeated.get(&row.id));
        add_findings(&mut line, row);
        match format {
            Format::Jsonl => writeln!(bytes, "{}", json_ascii_safe(&Value::Object(line))),
            Format::Csv => csv::row(&mut bytes, &line),
        }
        .map_err(failed)?;
    }
    Ok(Piece {
        bytes,
        ids,
        next: page.next,
    })
}

/// A line of the history, then what an export adds.
fn line(
    row: &RequestSummary,
    facts: Option<ExportRow>,
    audit: Vec<AuditRef>,
) -> Map<String, Value> {
    let mut line = fields(row);
    let digest = facts.as_ref().map(|facts| facts.request_digest.clone());
    line.insert("request_digest".to_owned(), json!(digest));
    line.insert("decision".to_owned(), json!(facts.and_then(decision)));
    let audit: Vec<Value> = audit
        .into_iter()
        .map(|row| {
            let hash: String = row.hash.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "seq": row.seq, "hash": hash, "action": row.action, "at": row.at })
        })
        .collect();
    line.insert("audit".to_owned(), json!(audit));
    line
}

fn decision(facts: ExportRow) -> Option<Value> {
    let payload = facts.payload?;
    let shown = |text: Option<String>| text.as_deref().map(plain);
    Some(json!({
        "decision_id": shown(facts.decision_id),
        "key": shown(facts.key),
        "payload_digest": Sha256Digest::of_bytes(&payload).to_string(),
        "rule_version": facts.rule_version,
        "policy_digest": shown(facts.policy_digest),
        "stored_at": facts.decision_stored_at.map(|at| Timestamp(at).rfc3339()),
        "fault": facts.fault,
    }))
}
