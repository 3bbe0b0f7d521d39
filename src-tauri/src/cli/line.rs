//! One line of `inbox` and `history` (command line, "Lines of `inbox` and `history`").
//!
//! Every name that an agent wrote is escaped.

use comfy_table::{Cell, Table};
use countersign_core::domain::Timestamp;
use countersign_core::domain::facts::{Approvals, EarlierCall, RequestSummary, decider};
use countersign_core::ops::scrutiny::findings_of;
use serde_json::{Map, Value, json};

use super::output::{plain, risk_cell, table};
use super::when;
use countersign_view::secrets::Secrets;

/// Longer than the names of tools that people give.
const CELL_CHARS: usize = 60;

/// Absent times and names are null.
fn time(at: Option<i64>) -> Option<String> {
    at.map(|at| Timestamp(at).rfc3339())
}

fn named(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The fields of a line, in the order of the contract.
pub(crate) fn fields(row: &RequestSummary) -> Map<String, Value> {
    fields_with(row, Secrets::Hidden)
}

/// The same, with what looks like a secret as it is or hidden.
pub(crate) fn fields_with(row: &RequestSummary, secrets: Secrets) -> Map<String, Value> {
    let escaped = |text: &Option<String>| text.as_deref().map(|text| secrets.line(text));
    // What could not be read as a request has no deadline.
    let deadline = (row.state != "rejected").then_some(row.deadline_at);
    let value = json!({
        "request_id": row.request_id,
        "workspace": named(&row.ws),
        "agent": named(&row.agent),
        "tool": escaped(&row.tool),
        "kind": row.kind,
        "risk": row.risk,
        "state": row.state,
        "verdict": escaped(&row.verdict),
        "origin": escaped(&row.origin),
        "decided_by": decided_by(row),
        "message": escaped(&row.message),
        "args_digest": row.args_digest,
        "requested_at": time(row.requested_at),
        "stored_at": time(Some(row.stored_at)),
        "received_at": time(Some(row.received_at)),
        "deadline_at": time(deadline),
        "decided_at": time(row.decided_at),
        "delivery": row.delivery,
        "request_seq": row.request_seq,
        "stream_seq": row.stream_seq,
        "rule": escaped(&row.rule_id),
        "error_code": row.error_code,
    });
    let Value::Object(mut fields) = value else {
        return Map::new();
    };
    // Only where several operators are asked; null elsewhere.
    let approvals = Approvals::of(row).map(|approvals| {
        json!({
            "required": approvals.required,
            "given": approvals.given,
            "apart": approvals.apart,
            "mine": approvals.mine,
        })
    });
    fields.insert("approvals".to_owned(), json!(approvals));
    fields
}

/// Adds `repeats` to a line of the history: null but where the same call was asked before.
pub(crate) fn add_repeats(line: &mut Map<String, Value>, earlier: Option<&EarlierCall>) {
    line.insert("repeats".to_owned(), json!(earlier.map(repeats)));
}

/// Adds `findings` to a line: their codes, the strongest first; null while they are not made, and where another console
/// decided.
pub(crate) fn add_findings(line: &mut Map<String, Value>, row: &RequestSummary) {
    let found = findings_of(row);
    let codes = found.map(|found| found.iter().map(|of| of.code).collect::<Vec<_>>());
    line.insert("findings".to_owned(), json!(codes));
}

/// The same call asked before, as the field `repeats` shows it.
pub(crate) fn repeats(earlier: &EarlierCall) -> Value {
    let name = decider(earlier.decided_by.as_deref()).and_then(|by| by.name);
    json!({
        "workspace": earlier.ws,
        "agent": earlier.agent,
        "request_id": earlier.request_id,
        "verdict": earlier.verdict.as_deref().map(plain),
        "by": name.as_deref().map(plain),
        "message": earlier.message.as_deref().map(plain),
        "decided_at": Timestamp(earlier.decided_at).rfc3339(),
    })
}

fn decided_by(row: &RequestSummary) -> Option<Value> {
    let by: Value = serde_json::from_str(row.decided_by.as_deref()?).ok()?;
    let field = |name: &str| by.get(name).and_then(Value::as_str).map(plain);
    Some(json!({ "name": field("name"), "key": field("key"), "listed_name": field("listed_name") }))
}

/// Who decided, for a person.
pub(crate) fn decided(row: &RequestSummary) -> Option<String> {
    let by = decider(row.decided_by.as_deref())?;
    by.name.as_deref().map(plain)
}

/// `WS/AGENT`, or nothing where the subject gave none.
pub(crate) fn agent(row: &RequestSummary) -> String {
    if row.ws.is_empty() {
        String::new()
    } else {
        format!("{}/{}", row.ws, row.agent)
    }
}

/// What is asked for: the tool, or the kind of question.
pub(crate) fn what(row: &RequestSummary) -> String {
    let tool = row.tool.as_deref().map(plain);
    tool.or_else(|| row.kind.clone())
        .unwrap_or_else(|| "unreadable".to_owned())
}

/// A cell of a table: an agent's long name must not push the other requests off the screen. `show` has
/// it whole.
fn short(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// How far several operators are: ` [1 of 2 votes, not yours]`.
pub(crate) fn votes(row: &RequestSummary) -> String {
    Approvals::of(row).map_or_else(String::new, |approvals| {
        let mine = if approvals.mine {
            "yours too"
        } else {
            "not yours"
        };
        let Approvals {
            required,
            given,
            apart,
            ..
        } = approvals;
        let mine = if given == 0 { "none yet" } else { mine };
        let other = match apart {
            0 => String::new(),
            apart => format!(", {apart} for another answer"),
        };
        format!(" [{given} of {required} votes, {mine}{other}]")
    })
}

/// What waits, for a person.
pub(crate) fn inbox_table(rows: &[RequestSummary], now: Timestamp) -> Table {
    let mut table = table(&["ID", "TOOL", "RISK", "AGENT", "LEFT"]);
    for row in rows {
        table.add_row([
            Cell::new(&row.request_id),
            Cell::new(format!("{}{}", short(&what(row)), votes(row))),
            risk_cell(&row.risk),
            Cell::new(agent(row)),
            Cell::new(when::left(Timestamp(row.deadline_at), now)),
        ]);
    }
    table
}

/// What was, for a person.
pub(crate) fn history_table(rows: &[RequestSummary]) -> Table {
    let mut table = table(&[
        "STORED", "ID", "TOOL", "RISK", "AGENT", "STATE", "VERDICT", "BY", "DELIVERY",
    ]);
    for row in rows {
        let verdict = row
            .verdict
            .as_deref()
            .or(row.error_code.as_deref())
            .unwrap_or_default();
        let by = decided(row);
        table.add_row([
            Cell::new(when::shown(Timestamp(row.stored_at))),
            Cell::new(&row.request_id),
            Cell::new(short(&what(row))),
            risk_cell(&row.risk),
            Cell::new(agent(row)),
            Cell::new(&row.state),
            Cell::new(plain(verdict)),
            Cell::new(by.unwrap_or_default()),
            Cell::new(&row.delivery),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_takes_no_more_than_its_cell_and_an_ordinary_one_stays() {
        for (name, wide) in [
            ("delete_invoice", 14),
            (&"é".repeat(60), 60),
            (&"e\u{301}".repeat(9_000), 61),
        ] {
            assert_eq!(short(name).chars().count(), wide);
        }
        assert_eq!(short("delete_invoice"), "delete_invoice");
    }
}
