//! Triggers that write down every change of every table, and the audit rows that must explain them.
//!
//! A table that is not named here must at least come with some audit row.

use countersign_core::store;
use countersign_testkit::TempData;
use sqlx::{ConnectOptions, SqliteConnection};

const NAME: &str =
    "iif(NEW.ws = '', NEW.request_id, NEW.ws || '/' || NEW.agent || '/' || NEW.request_id)";
const OLD_NAME: &str = "OLD.ws || '/' || OLD.agent || '/' || OLD.request_id";
/// The request of an outbox row, from its subject.
const OUT: &str =
    "(SELECT ws || '/' || agent || '/' || request_id FROM requests WHERE id = NEW.request)";
const OLD_OUT: &str =
    "(SELECT ws || '/' || agent || '/' || request_id FROM requests WHERE id = OLD.request)";

/// A kind of change: table, when the trigger fires, the subject of the audit row, what the change is called, and the
/// actions that explain it.
type Kind = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const KINDS: &[Kind] = &[
    (
        "requests",
        "INSERT WHEN NEW.state <> 'rejected'",
        NAME,
        "stored",
        &["request"],
    ),
    (
        "requests",
        "INSERT WHEN NEW.state = 'rejected'",
        NAME,
        "rejected",
        &["rejected"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state = 'pending'",
        NAME,
        "pending again",
        &["undo", "hold_dropped", "cast", "taken_back"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state = 'holding'",
        NAME,
        "held",
        &["hold"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state = 'queued'",
        NAME,
        "queued",
        &["decide"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state IN ('decided', 'rejected', 'void')",
        NAME,
        "decided",
        &["decision", "judged", "judged_again"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state = 'expired'",
        NAME,
        "expired",
        &["expire", "late", "decision", "judged", "judged_again"],
    ),
    (
        "requests",
        "UPDATE OF state WHEN OLD.state <> NEW.state AND NEW.state = 'withdrawn'",
        NAME,
        "withdrawn",
        &[
            "withdraw",
            "taken_back",
            "decision",
            "judged",
            "judged_again",
        ],
    ),
    (
        "requests",
        "UPDATE OF verdict WHEN OLD.state = NEW.state AND OLD.verdict IS NOT NEW.verdict",
        NAME,
        "verdict",
        &["decision", "judged", "judged_again"],
    ),
    (
        "requests",
        "UPDATE OF deadline_at WHEN OLD.deadline_at <> NEW.deadline_at",
        NAME,
        "deadline",
        &["tighten", "tighten_ignored"],
    ),
    (
        "requests",
        "UPDATE OF withdrawn_at WHEN OLD.withdrawn_at IS NOT NEW.withdrawn_at",
        NAME,
        "withdrawn at",
        &["withdraw"],
    ),
    (
        "requests",
        "UPDATE OF delivery WHEN OLD.delivery <> NEW.delivery",
        NAME,
        "delivery",
        &[
            "decide",
            "decision",
            "judged",
            "judged_again",
            "late",
            "receipt",
        ],
    ),
    ("decisions", "INSERT", NAME, "decision", &["decision"]),
    (
        "decisions",
        "UPDATE OF effective WHEN OLD.effective IS NOT NEW.effective",
        NAME,
        "effective",
        &["judged", "judged_again"],
    ),
    (
        "outbox",
        "INSERT WHEN NEW.kind = 'decision'",
        OUT,
        "outgoing",
        &["hold", "decide", "answer"],
    ),
    (
        "outbox",
        "UPDATE OF state WHEN NEW.kind = 'decision' AND OLD.state <> NEW.state AND NEW.state = 'queued'",
        OUT,
        "released",
        &["decide"],
    ),
    (
        "outbox",
        "UPDATE OF state WHEN NEW.kind = 'decision' AND OLD.state <> NEW.state AND NEW.state <> 'queued'",
        OUT,
        "closed",
        &["decision", "judged", "lost", "late"],
    ),
    (
        "outbox",
        "DELETE WHEN OLD.kind = 'decision'",
        OLD_OUT,
        "dropped",
        &["undo", "hold_dropped", "withdraw", "answer", "taken_back"],
    ),
    ("votes", "INSERT", NAME, "vote", &["vote"]),
    (
        "votes",
        "UPDATE OF stands WHEN OLD.stands IS NOT NEW.stands",
        NAME,
        "vote judged",
        &["vote_judged"],
    ),
    (
        "outbox",
        "INSERT WHEN NEW.kind = 'vote'",
        OUT,
        "outgoing vote",
        &["hold", "cast"],
    ),
    (
        "outbox",
        "UPDATE OF state WHEN NEW.kind = 'vote' AND OLD.state <> NEW.state AND NEW.state = 'queued'",
        OUT,
        "released vote",
        &["cast"],
    ),
    (
        "outbox",
        "UPDATE OF state WHEN NEW.kind = 'vote' AND OLD.state <> NEW.state AND NEW.state <> 'queued'",
        OUT,
        "closed vote",
        &[
            "vote",
            "decision",
            "judged",
            "judged_again",
            "vote_lost",
            "vote_late",
        ],
    ),
    (
        "outbox",
        "DELETE WHEN OLD.kind = 'vote'",
        OLD_OUT,
        "dropped vote",
        &["undo", "hold_dropped", "withdraw", "decide"],
    ),
    ("receipts", "INSERT", NAME, "receipt", &["receipt"]),
    (
        "quarantine",
        "INSERT WHEN NEW.code <> 'conflict'",
        "NEW.stream || '/' || NEW.stream_seq",
        "kept",
        &["quarantine"],
    ),
    (
        "tombstones",
        "INSERT",
        NAME,
        "early",
        &["withdraw_early", "tighten_early"],
    ),
    (
        "tombstones",
        "DELETE",
        OLD_NAME,
        "early used",
        &["withdraw", "tighten", "tighten_ignored"],
    ),
    (
        "agents",
        "INSERT WHEN NEW.key IS NOT NULL OR NEW.hello IS NOT NULL",
        "NEW.ws || '/' || NEW.name",
        "agent",
        &["enroll", "hello"],
    ),
    (
        "agents",
        "UPDATE OF hello WHEN OLD.hello IS NOT NEW.hello",
        "NEW.ws || '/' || NEW.name",
        "hello",
        &["hello"],
    ),
    (
        "agents",
        "UPDATE OF key WHEN OLD.key IS NOT NEW.key",
        "NEW.ws || '/' || NEW.name",
        "key",
        &["enroll", "revoke"],
    ),
    (
        "realm_log",
        "INSERT WHEN NEW.word = 'ok'",
        "CAST(NEW.n AS TEXT)",
        "entry",
        &["operators"],
    ),
    ("policy", "INSERT", "NEW.key", "policy", &["policy"]),
    (
        "policy",
        "UPDATE WHEN OLD.payload <> NEW.payload",
        "NEW.key",
        "policy",
        &["policy"],
    ),
    ("alarms", "INSERT", "NEW.subject", "alarm", &["alarm"]),
    ("alarms", "UPDATE", "NEW.subject", "alarm", &["alarm"]),
    (
        "meta",
        "INSERT WHEN NEW.key = 'realm'",
        "NEW.value",
        "realm",
        &["realm"],
    ),
    (
        "meta",
        "UPDATE WHEN NEW.key = 'realm'",
        "NEW.value",
        "realm",
        &["realm"],
    ),
];

/// A change (its kind) or an audit row (its action), and on what.
pub(crate) type Logged = (Option<i64>, Option<String>, Option<String>);

/// Tables whose changes say nothing about what was asked, decided or allowed.
const SILENT: &[&str] = &[
    "anchors",
    "audit",
    "bus_stream",
    "meta",
    "changes",
    "_sqlx_migrations",
    // The index follows in steps of its own, made of what was stored and audited.
    "request_audit",
    "request_text",
];

/// Writes down what happens to the file from now on, in the order of the statements.
pub(crate) async fn spy(data: &TempData) {
    let path = data.path().join("countersign.db");
    store::open(&path).await.unwrap().0.close().unwrap();
    let mut raw = connect(data).await;
    let run = async |raw: &mut SqliteConnection, sql: String| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone()))
            .execute(raw)
            .await
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    };
    run(
        &mut raw,
        "CREATE TABLE changes(n INTEGER PRIMARY KEY, kind INTEGER, action TEXT, subject TEXT)"
            .into(),
    )
    .await;
    for (kind, (table, when, subject, ..)) in KINDS.iter().enumerate() {
        let (event, condition) = match when.split_once(" WHEN ") {
            Some((event, condition)) => (event, format!("WHEN {condition}")),
            None => (*when, String::new()),
        };
        run(
            &mut raw,
            format!(
                "CREATE TRIGGER spy_{kind} AFTER {event} ON {table} FOR EACH ROW {condition} BEGIN
             INSERT INTO changes(kind, subject) VALUES ({kind}, {subject}); END"
            ),
        )
        .await;
    }
    run(
        &mut raw,
        "CREATE TRIGGER spy_audit AFTER INSERT ON audit BEGIN
         INSERT INTO changes(action, subject) VALUES (NEW.action, NEW.subject); END"
            .into(),
    )
    .await;
    // A table that nobody has thought about here: its changes must at least come with some audit row.
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table'")
            .fetch_all(&mut raw)
            .await
            .unwrap();
    for table in tables {
        if KINDS.iter().any(|kind| kind.0 == table)
            || SILENT.contains(&table.as_str())
            || table.starts_with("requests_fts")
        {
            continue;
        }
        for event in ["INSERT", "UPDATE", "DELETE"] {
            run(
                &mut raw,
                format!(
                    "CREATE TRIGGER spy_{table}_{event} AFTER {event} ON {table} BEGIN
                 INSERT INTO changes(kind, subject) VALUES (-1, '{table}'); END"
                ),
            )
            .await;
        }
    }
}

pub(crate) async fn connect(data: &TempData) -> SqliteConnection {
    let path = data.path().join("countersign.db");
    sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .connect()
        .await
        .unwrap()
}

/// Every change of a transaction is explained by an audit row of it, and every audit row explains at most one change of a
/// kind. A transaction writes its audit rows last.
pub(crate) fn unexplained(log: &[Logged]) -> Vec<String> {
    let mut missing = Vec::new();
    let mut changes: Vec<(i64, &str)> = Vec::new();
    let mut rows: Vec<(&str, &str)> = Vec::new();
    let mut settle = |changes: &mut Vec<(i64, &str)>, rows: &mut Vec<(&str, &str)>| {
        for (at, (kind, subject)) in changes.iter().enumerate() {
            let Ok(known) = usize::try_from(*kind) else {
                if rows.is_empty() {
                    missing.push(format!("{subject} without any audit row"));
                }
                continue;
            };
            let (table, _, _, what, actions) = KINDS[known];
            let before = changes[..at]
                .iter()
                .filter(|change| **change == (*kind, *subject))
                .count();
            let fit = rows
                .iter()
                .filter(|(action, on)| on == subject && actions.contains(action))
                .count();
            if fit <= before {
                missing.push(format!("{table}: {what} {subject}, audited {rows:?}"));
            }
        }
        changes.clear();
        rows.clear();
    };
    for (kind, action, subject) in log {
        let subject = subject.as_deref().unwrap_or_default();
        match (kind, action) {
            (Some(kind), _) => {
                if !rows.is_empty() {
                    settle(&mut changes, &mut rows);
                }
                changes.push((*kind, subject));
            }
            (None, action) => rows.push((action.as_deref().unwrap_or_default(), subject)),
        }
    }
    settle(&mut changes, &mut rows);
    missing
}

pub(crate) async fn log_of(data: &TempData) -> Vec<Logged> {
    let mut raw = connect(data).await;
    sqlx::query_as("SELECT kind, action, subject FROM changes ORDER BY n")
        .fetch_all(&mut raw)
        .await
        .unwrap()
}

/// The spy itself: a change without a row, or with the row of another subject, is reported.
#[test]
fn a_change_without_its_row_is_seen() {
    let change = |kind: i64, subject: &str| (Some(kind), None, Some(subject.to_owned()));
    let row =
        |action: &str, subject: &str| (None, Some(action.to_owned()), Some(subject.to_owned()));
    let fine = [
        change(0, "a"),
        row("request", "a"),
        change(0, "b"),
        row("request", "b"),
    ];
    assert!(unexplained(&fine).is_empty());
    for bad in [
        vec![change(0, "a")],
        vec![change(0, "a"), row("request", "b")],
        vec![change(0, "a"), row("decision", "a")],
        vec![change(0, "a"), change(0, "a"), row("request", "a")],
        vec![
            change(0, "a"),
            row("request", "b"),
            change(0, "b"),
            row("request", "a"),
        ],
        vec![change(-1, "new_table")],
    ] {
        assert!(!unexplained(&bad).is_empty(), "{bad:?}");
    }
}
