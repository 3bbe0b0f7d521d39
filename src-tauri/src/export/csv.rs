//! The history as a table for spreadsheets.
//!
//! A cell that a spreadsheet would run is written as text.

use std::io::{self, Write};

use csv::{Terminator, Writer, WriterBuilder};
use serde_json::{Map, Value};

/// Columns: a pointer into the line for each.
const COLUMNS: &[(&str, &str)] = &[
    ("request_id", "/request_id"),
    ("workspace", "/workspace"),
    ("agent", "/agent"),
    ("tool", "/tool"),
    ("kind", "/kind"),
    ("risk", "/risk"),
    ("state", "/state"),
    ("verdict", "/verdict"),
    ("origin", "/origin"),
    ("decided_by", "/decided_by/name"),
    ("decided_by_key", "/decided_by/key"),
    ("message", "/message"),
    ("args_digest", "/args_digest"),
    ("requested_at", "/requested_at"),
    ("stored_at", "/stored_at"),
    ("received_at", "/received_at"),
    ("deadline_at", "/deadline_at"),
    ("decided_at", "/decided_at"),
    ("delivery", "/delivery"),
    ("request_seq", "/request_seq"),
    ("stream_seq", "/stream_seq"),
    ("rule", "/rule"),
    ("error_code", "/error_code"),
    ("request_digest", "/request_digest"),
    ("decision_id", "/decision/decision_id"),
    ("decision_key", "/decision/key"),
    ("payload_digest", "/decision/payload_digest"),
    ("rule_version", "/decision/rule_version"),
    ("policy_digest", "/decision/policy_digest"),
    ("fault", "/decision/fault"),
];
/// After them: what the audit log says, `seq:hash` with a blank between.
const AUDIT: &str = "audit";

/// The line with the columns' names.
pub(crate) fn heading(to: &mut impl Write) -> io::Result<()> {
    let names = COLUMNS.iter().map(|(name, _)| *name).chain([AUDIT]);
    record(to, names.map(str::to_owned))
}

/// One request.
pub(crate) fn row(to: &mut impl Write, line: &Map<String, Value>) -> io::Result<()> {
    let line = Value::Object(line.clone());
    let cells = COLUMNS.iter().map(|(_, place)| cell(line.pointer(place)));
    let audit: Vec<String> = line["audit"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            format!(
                "{}:{}",
                row["seq"],
                row["hash"].as_str().unwrap_or_default()
            )
        })
        .collect();
    record(to, cells.chain([harmless(&audit.join(" "))]))
}

fn record(to: &mut impl Write, cells: impl Iterator<Item = String>) -> io::Result<()> {
    let mut writer: Writer<&mut _> = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(to);
    writer.write_record(cells)?;
    writer.flush()
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => harmless(text),
        Some(other) => other.to_string(),
    }
}

/// A text that spreadsheets never take for a formula: an apostrophe comes before what would begin one.
fn harmless(text: &str) -> String {
    let begins = text.trim_start_matches(' ').chars().next();
    let runs = [
        '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    match begins.is_some_and(|first| runs.contains(&first)) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn no_cell_begins_as_a_formula_does() {
        for (text, cell) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1", "'+1"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("\n=1", "'\n=1"),
            ("  =1", "'  =1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("plain = text", "plain = text"),
            ("", ""),
        ] {
            assert_eq!(harmless(text), cell, "{text:?}");
        }
    }

    #[test]
    fn a_table_reads_back_as_the_lines_that_it_was_made_from() {
        let line = json!({
            "request_id": "r1", "tool": "=cmd|' /C calc'!A0", "message": "a \"b\", c\nd", "request_seq": 7,
            "verdict": null, "decided_by": { "name": "M", "key": "U1" },
            "audit": [{ "seq": 1, "hash": "aa" }, { "seq": 9, "hash": "bb" }],
        });
        let mut written = Vec::new();
        heading(&mut written).unwrap();
        row(&mut written, line.as_object().unwrap()).unwrap();
        let mut read = csv::Reader::from_reader(&written[..]);
        let names = read.headers().unwrap().clone();
        let cells = read.records().next().unwrap().unwrap();
        let of = |name: &str| &cells[names.iter().position(|other| other == name).unwrap()];
        assert_eq!(of("tool"), "'=cmd|' /C calc'!A0");
        assert_eq!(of("message"), "a \"b\", c\nd");
        assert_eq!(
            (of("request_seq"), of("verdict"), of("decided_by")),
            ("7", "", "M")
        );
        assert_eq!(of("audit"), "1:aa 9:bb");
    }
}
