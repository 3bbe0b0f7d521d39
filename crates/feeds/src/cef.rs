//! Events as syslog has them: frames (RFC 5424, octet counting) with the body or with CEF. Pure.

use countersign_domain::Timestamp;
use serde_json::Value;

use crate::ascii;
use crate::event::Event;

/// Log audit.
const FACILITY: u8 = 13;
/// Characters of a row's detail in CEF.
const DETAIL: usize = 4_000;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a syslog server gets for an event.
pub(crate) fn frame(event: &Event, host: &str, console: &str, as_cef: bool) -> String {
    let body: Value = serde_json::from_str(&event.body).unwrap_or_default();
    let (severity, _) = severity(event, &body);
    let priority = FACILITY * 8 + severity;
    let console = console.get(..8).unwrap_or("-");
    let (at, kind) = (&event.at, &event.kind);
    let message = match as_cef {
        true => cef(event, &body),
        false => event.body.clone(),
    };
    let line = format!("<{priority}>1 {at} {host} countersign {console} {kind} - {message}");
    format!("{} {line}", line.len())
}

/// Of syslog and of CEF.
fn severity(event: &Event, body: &Value) -> (u8, u8) {
    let is_high = matches!(body["data"]["risk"].as_str(), Some("high" | "critical"));
    match event.kind.as_str() {
        "alarm.raised" | "request.void" => (4, 8),
        "request.waiting" if is_high => (5, 5),
        _ => (6, 3),
    }
}

fn cef(event: &Event, body: &Value) -> String {
    let data = &body["data"];
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let act = Some(text("verdict")).filter(|verdict| !verdict.is_empty());
    let detail = match &data["detail"] {
        Value::Null => String::new(),
        detail => ascii(detail),
    };
    let detail = match detail.get(..DETAIL) {
        Some(start) if start.len() < detail.len() => format!("{start}…"),
        _ => detail,
    };
    let time = Timestamp::parse(&event.at).map(|at| at.0.to_string());
    let seq = data["seq"].as_i64().map(|seq| seq.to_string());
    let by = data["decided_by"]["name"].as_str().unwrap_or_default();
    let mut fields = String::new();
    for (label, key, value) in [
        ("", "rt", time.unwrap_or_default()),
        ("", "externalId", event.id.clone()),
        ("", "act", act.unwrap_or_else(|| text("state"))),
        ("", "suser", by.to_owned()),
        ("", "dvchost", text("console")),
        ("seq", "cn1", seq.unwrap_or_default()),
        ("realm", "cs1", text("realm")),
        ("subject", "cs2", event.subject.clone()),
        ("tool", "cs3", text("tool")),
        ("risk", "cs4", text("risk")),
        ("origin", "cs5", text("origin")),
        ("detail", "cs6", detail),
    ] {
        if value.is_empty() {
            continue;
        }
        if !label.is_empty() {
            fields.push_str(&format!("{key}Label={label} "));
        }
        fields.push_str(&format!("{key}={} ", escaped(&value)));
    }
    let (_, severity) = severity(event, body);
    let kind = event.kind.replace('\\', "\\\\").replace('|', "\\|");
    let fields = fields.trim_end_matches(' ');
    format!("CEF:0|Countersign|Countersign|{VERSION}|{kind}|{kind}|{severity}|{fields}")
}

/// The value of a field of an extension.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('=', "\\=");
    value.replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn event(kind: &str, data: Value) -> Event {
        Event {
            id: "evt_0".to_owned(),
            seq: 7,
            kind: kind.to_owned(),
            subject: "acme/bot/r=1".to_owned(),
            workspace: None,
            at: "2026-11-28T12:00:00.250Z".to_owned(),
            body: ascii(
                &json!({ "type": kind, "timestamp": "2026-11-28T12:00:00.250Z", "data": data }),
            ),
        }
    }

    #[test]
    fn a_frame_counts_its_bytes_and_names_its_severity() {
        for (kind, risk, priority) in [
            ("alarm.raised", "", 108),
            ("request.void", "low", 108),
            ("request.waiting", "high", 109),
            ("request.waiting", "critical", 109),
            ("request.waiting", "low", 110),
            ("audit.policy", "high", 110),
        ] {
            let event = event(kind, json!({ "risk": risk }));
            for as_cef in [false, true] {
                let frame = frame(&event, "host", "0123456789ab", as_cef);
                let (length, line) = frame.split_once(' ').unwrap();
                assert_eq!(length.parse::<usize>().unwrap(), line.len());
                let head = format!(
                    "<{priority}>1 2026-11-28T12:00:00.250Z host countersign 01234567 {kind} - "
                );
                assert!(line.starts_with(&head), "{line}");
            }
        }
    }

    #[test]
    fn cef_escapes_what_parts_fields_and_leaves_out_what_is_empty() {
        let detail = json!({ "a": "x=1|\\", "long": "ä".repeat(1_000) });
        let event = event(
            "audit.policy",
            json!({ "seq": 7, "tool": "a=b\nc\\d|e", "detail": detail }),
        );
        let frame = frame(&event, "-", "0123456789ab", true);
        let (_, cef) = frame.split_once("CEF:0|").unwrap();
        let head = format!(
            "Countersign|Countersign|{VERSION}|audit.policy|audit.policy|3|rt=1795867200250 externalId=evt_0 "
        );
        assert!(cef.starts_with(&head), "{cef}");
        assert!(
            cef.contains("cn1Label=seq cn1=7 cs2Label=subject cs2=acme/bot/r\\=1 "),
            "{cef}"
        );
        assert!(cef.contains("cs3Label=tool cs3=a\\=b\\nc\\\\d|e "), "{cef}");
        assert!(
            !cef.contains("suser") && !cef.contains("cs4") && !cef.contains("act="),
            "{cef}"
        );
        let detail = cef.split_once("cs6=").unwrap().1;
        assert!(
            detail.ends_with('…') && detail.starts_with("{\"a\":\"x\\=1|"),
            "{cef}"
        );
        assert!(!frame.contains('\n'));
    }
}
