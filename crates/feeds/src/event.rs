//! Events: what a row of the audit log is for a receiver. Pure: the same row always has the same bodies and ids.

use countersign_domain::Timestamp;
use countersign_store::audit::{ACTIONS, Row, hex};
use countersign_store::feed_log::{DecisionFacts, Facts, LogRow};
use countersign_wire::{AgentKey, PolicyKey, RequestKey, Sha256Digest, WorkspaceName};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ascii;

/// Of an event that `feeds test` sends.
pub const TEST: &str = "feed.test";
/// Beside `audit.ACTION` and [`TEST`].
pub const TYPES: [&str; 19] = [
    "request.waiting",
    "request.decided",
    "request.expired",
    "request.withdrawn",
    "request.void",
    "request.rejected",
    "receipt.received",
    "receipt.executed",
    "receipt.failed",
    "receipt.refused",
    "alarm.raised",
    "alarm.acknowledged",
    "alarm.cleared",
    "control.changed",
    "rules.changed",
    "operator.changed",
    "console.changed",
    TEST,
    "audit.*",
];
/// Of names and words.
const LONGEST: usize = 200;
/// Of a detail, as ASCII.
const LARGEST_DETAIL: usize = 16 << 10;
/// Calls of the probe of a gate.
const PROBE: &str = "countersign_probe";

/// Who sends, and how texts of others are made safe to show.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Id of the realm.
    pub realm: String,
    /// Id of the console.
    pub console: String,
    /// Escapes a text for display and hides what looks like a secret.
    pub shown: fn(&str) -> String,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The same for each try, each replay and each console of the realm.
    pub id: String,
    /// Its row of the log.
    pub seq: i64,
    /// Its type.
    pub kind: String,
    /// What it is about: events about one thing are sent in their order.
    pub subject: String,
    /// The workspace; none for what belongs to the realm.
    pub workspace: Option<String>,
    /// The row's time, RFC 3339.
    pub at: String,
    /// The body, one line of ASCII.
    pub body: String,
}

/// Whether a pattern, in which `*` is any characters, matches a text.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Whether a pattern matches any type.
#[must_use]
pub fn is_of_use(pattern: &str) -> bool {
    let audit = |action: &&str| matches(pattern, &format!("audit.{action}"));
    TYPES
        .iter()
        .any(|kind| *kind != "audit.*" && matches(pattern, kind))
        || ACTIONS.iter().any(audit)
}

/// The events of a row that a feed wants.
#[must_use]
pub fn of_row(
    from: &Sender,
    log: &LogRow,
    wants: impl Fn(&str, Option<&str>) -> bool,
) -> Vec<Event> {
    let row = &log.row;
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let workspace = workspace_of(row);
    let events = kinds_of(log, wants).into_iter().map(|kind| {
        let is_of_request = kind.starts_with("request.") || kind.starts_with("receipt.");
        let mut data = match (&log.facts, is_of_request) {
            (Some(facts), true) => of_request(from, row, &kind, &detail, facts),
            _ => of_audit_row(row, &detail),
        };
        for (name, value) in [
            ("v", json!(1)),
            ("realm", json!(from.realm)),
            ("console", json!(from.console)),
            ("seq", json!(row.seq)),
            ("workspace", json!(workspace)),
        ] {
            data[name] = value;
        }
        let body = json!({ "type": kind, "timestamp": row.at, "data": data });
        let unique = unique(row, &kind, &detail, log.facts.as_ref());
        Event {
            id: id(&from.realm, &kind, &unique),
            seq: row.seq,
            kind,
            subject: row.subject.clone(),
            workspace: workspace.clone(),
            at: row.at.clone(),
            body: ascii(&body),
        }
    });
    events.collect()
}

/// The types of the events of a row that a feed wants.
pub(crate) fn kinds_of(log: &LogRow, wants: impl Fn(&str, Option<&str>) -> bool) -> Vec<String> {
    let row = &log.row;
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    let workspace = workspace_of(row);
    let of_audit = format!("audit.{}", row.action);
    let kinds = kind_of(row, &detail, log.facts.as_ref()).map(str::to_owned);
    let kinds = kinds.into_iter().chain([of_audit]);
    kinds
        .filter(|kind| wants(kind, workspace.as_deref()))
        .collect()
}

/// What `feeds test` sends.
#[must_use]
pub fn test(from: &Sender, at: &str, random: &str) -> Event {
    let data = json!({
        "v": 1, "realm": from.realm, "console": from.console, "seq": null, "workspace": null,
    });
    Event {
        id: id(&from.realm, TEST, random),
        seq: 0,
        kind: TEST.to_owned(),
        subject: TEST.to_owned(),
        workspace: None,
        at: at.to_owned(),
        body: ascii(&json!({ "type": TEST, "timestamp": at, "data": data })),
    }
}

fn id(realm: &str, kind: &str, unique: &str) -> String {
    let hash = Sha256::digest(format!("{realm}\n{kind}\n{unique}"));
    format!("evt_{}", hex(&hash[..16]))
}

/// What makes an event the same one at each console, or the row where only this one has it.
fn unique(row: &Row, kind: &str, detail: &Value, facts: Option<&Facts>) -> String {
    let key = row
        .subject
        .parse::<RequestKey>()
        .map_or_else(|_| "", |_| row.subject.as_str());
    let text = |name: &str| detail[name].as_str().unwrap_or_default();
    match (kind.split_once('.'), row.action.as_str()) {
        (Some(("request", _)), "request" | "rejected") => {
            format!("{key}\n{}", text("request_digest"))
        }
        (Some(("request", _)), "decision" | "judged") => {
            let decision = facts.and_then(|facts| facts.decision.as_ref());
            let named = decision.and_then(|of| of.id.clone());
            let digest = |of: &DecisionFacts| {
                let payload = of.payload.as_deref().filter(|_| kind == "request.void")?;
                Some(Sha256Digest::of_bytes(payload).to_string())
            };
            let named = named
                .or_else(|| decision.and_then(digest))
                .unwrap_or_default();
            format!("{key}\n{named}\n{}", text("effective"))
        }
        (Some(("receipt", _)), _) => format!("{key}\n{}", text("payload_digest")),
        _ => hex(&row.hash),
    }
}

fn kind_of(row: &Row, detail: &Value, facts: Option<&Facts>) -> Option<&'static str> {
    if facts.is_some_and(|facts| facts.tool.as_deref() == Some(PROBE)) {
        return None;
    }
    let policy = || match PolicyKey::parse(&row.subject)? {
        PolicyKey::Panic | PolicyKey::Pause(_) | PolicyKey::Bypass(_) => Some("control.changed"),
        PolicyKey::Rules(_) | PolicyKey::Setup(_) => Some("rules.changed"),
        _ => None,
    };
    let text = |name: &str| detail[name].as_str();
    Some(match row.action.as_str() {
        "request" => "request.waiting",
        "rejected" => "request.rejected",
        "decision" | "judged" | "judged_again" => match text("effective")? {
            "expired" => "request.expired",
            "withdrawn" => "request.withdrawn",
            "void" => "request.void",
            "rejected" => return None,
            _ => "request.decided",
        },
        "receipt" => match text("stage")? {
            "received" => "receipt.received",
            "executed" => "receipt.executed",
            "failed" => "receipt.failed",
            "refused" => "receipt.refused",
            _ => return None,
        },
        "alarm" => "alarm.raised",
        "alarm_acknowledged" => "alarm.acknowledged",
        "alarm_cleared" => "alarm.cleared",
        "policy" => return policy(),
        "regret" => "rules.changed",
        "operators" | "operator_waits" => "operator.changed",
        "console_start" | "console_stop" | "read_only" | "read_only_ended" | "restore"
        | "bus_recover" => "console.changed",
        _ => return None,
    })
}

/// The workspace of what a row is about: a request, a vote, an agent, or a key of the shared policy.
fn workspace_of(row: &Row) -> Option<String> {
    let subject = &row.subject;
    let of_key = || match PolicyKey::parse(subject)? {
        PolicyKey::Rules(workspace) => Some(workspace),
        PolicyKey::Setup(agent) | PolicyKey::Pause(agent) | PolicyKey::Bypass(agent) => {
            Some(agent.workspace)
        }
        _ => None,
    };
    let agent = subject.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    let of_agent = agent.parse().ok().map(|key: AgentKey| key.workspace);
    of_agent
        .or_else(of_key)
        .map(|of: WorkspaceName| of.to_string())
}

fn of_audit_row(row: &Row, detail: &Value) -> Value {
    // Of these the detail names arguments.
    let is_open = !matches!(row.action.as_str(), "reader_answered" | "typed_target");
    let is_small = is_open && ascii(detail).len() <= LARGEST_DETAIL;
    json!({
        "at": row.at, "actor": row.actor, "action": row.action, "subject": row.subject,
        "detail": is_small.then_some(detail), "prev": hex(&row.prev), "hash": hex(&row.hash),
    })
}

fn of_request(from: &Sender, row: &Row, kind: &str, detail: &Value, facts: &Facts) -> Value {
    let shown = |text: &str| (from.shown)(text).chars().take(LONGEST).collect::<String>();
    let named = |text: &Option<String>| text.as_deref().map(shown);
    let time = |at: Option<i64>| at.map(|at| Timestamp(at).rfc3339());
    let key = row.subject.parse::<RequestKey>().ok();
    let is_rejected = kind == "request.rejected";
    let state = match facts.effective.as_deref() {
        None if is_rejected => Some("rejected"),
        None if kind == "request.waiting" => Some("pending"),
        None => None,
        Some(word @ ("expired" | "withdrawn" | "void" | "rejected")) => Some(word),
        Some(_) => Some("decided"),
    };
    let decision = facts.decision.clone().unwrap_or_default();
    let by = decision
        .decided_by
        .as_deref()
        .and_then(|by| serde_json::from_str::<Value>(by).ok());
    let by = by.map(|by| {
        let field = |name: &str| by[name].as_str().map(shown);
        json!({ "name": field("name"), "key": field("key") })
    });
    let rule = decision
        .rule_id
        .as_deref()
        .map(|id| json!({ "id": shown(id), "version": decision.rule_version }));
    let decision_id = facts.receipt_of.clone().or_else(|| decision.id.clone());
    json!({
        "agent": key.as_ref().map(|key| key.agent.to_string()),
        "request_id": key.as_ref().map(|key| key.request_id.to_string()),
        "kind": facts.kind,
        "tool": named(&facts.tool),
        "risk": facts.risk,
        "state": state,
        "verdict": named(&facts.effective),
        "origin": named(&decision.origin),
        "decided_by": by,
        "rule": rule,
        "stage": detail["stage"],
        "args_digest": facts.args_digest,
        "request_digest": facts.request_digest,
        "decision_id": named(&decision_id),
        "stored_at": time(facts.stored_at),
        "deadline_at": time(facts.deadline_at.filter(|_| !is_rejected)),
        "decided_at": time(facts.decision.as_ref().map(|of| of.stored_at)),
    })
}
