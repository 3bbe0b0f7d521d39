//! The product's tables, indexes and triggers, and the rows of one decided request in them.

use std::path::Path;

use anyhow::Context as _;
use countersign_floor::decision::{self, DIGEST, KEY, SIG};
use countersign_floor::read::Arrival;
use rusqlite::{Connection, params};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection as _};

/// Pages of the log that are copied into the file at once, as in the product.
const LONG_LOG: i64 = 8_000;
/// More than there are statements.
const STATEMENTS: usize = 32;
const EPOCH: &str = "00000000-0000-4000-8000-000000000000";
const STAMP: &str = "2026-01-01T00:00:00.000Z";
const HASH: [u8; 32] = [7; 32];

pub(crate) struct Store(Connection);

/// A stored request.
pub(crate) struct Asked {
    id: i64,
    subject: String,
}

pub(crate) struct Transaction<'s>(rusqlite::Transaction<'s>);

impl Store {
    pub(crate) async fn open(path: &Path) -> anyhow::Result<Self> {
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .disable_statement_logging()
            .connect()
            .await?;
        sqlx::migrate!("../../migrations")
            .run(&mut connection)
            .await?;
        connection.close().await?;
        let sqlite = Connection::open(path)?;
        for (name, value) in [
            ("journal_mode", "WAL"),
            ("synchronous", "NORMAL"),
            ("foreign_keys", "ON"),
            ("trusted_schema", "OFF"),
            ("cell_size_check", "ON"),
            ("temp_store", "MEMORY"),
            ("cache_size", "-16384"),
        ] {
            sqlite.pragma_update(None, name, value)?;
        }
        sqlite.pragma_update(None, "wal_autocheckpoint", LONG_LOG)?;
        sqlite.set_prepared_statement_cache_capacity(STATEMENTS);
        for stream in ["CS_REQUESTS", "CS_DECISIONS"] {
            sqlite.execute(
                "INSERT INTO bus_stream(stream, epoch, next_seq, last_ts) VALUES (?, ?, 1, 0)",
                [stream, EPOCH],
            )?;
        }
        Ok(Self(sqlite))
    }

    pub(crate) fn begin(&mut self) -> anyhow::Result<Transaction<'_>> {
        let behavior = rusqlite::TransactionBehavior::Immediate;
        Ok(Transaction(self.0.transaction_with_behavior(behavior)?))
    }
}

impl Transaction<'_> {
    /// The rows of requests, each with its audit row, and the position.
    pub(crate) fn arrived(&self, arrivals: &[Arrival]) -> anyhow::Result<Vec<Asked>> {
        let mut asked = Vec::with_capacity(arrivals.len());
        let Some(last) = arrivals.last() else {
            return Ok(asked);
        };
        let mut insert = self.0.prepare_cached(
            "INSERT INTO requests(ws, agent, request_id, kind, tool, risk, run_id, call_id, allowed, approvals_required,
             args_digest, request_digest, raw, stream_epoch, stream_seq, requested_at, stored_at, received_at, lifetime,
             deadline_at, state, delivery, tool_digest)
             VALUES (?1, ?2, ?3, 'tool_call', 'delete_invoice', 'medium', 'r1', 'call_93', 'approve modify deny', 1,
             ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?9, 3600000, ?9 + 3600000, 'pending', 'stored', ?4)",
        )?;
        for arrival in arrivals {
            let [ws, agent, id] = names(&arrival.subject)?;
            insert.execute(params![
                ws,
                agent,
                id,
                "d".repeat(DIGEST),
                format!("sha256:{:064x}", arrival.seq),
                &arrival.payload[..],
                EPOCH,
                arrival.seq,
                arrival.stamp_ms,
            ])?;
            asked.push(Asked {
                id: self.0.last_insert_rowid(),
                subject: arrival.subject.clone(),
            });
            let detail = format!(
                "{{\"request_digest\":\"sha256:{:064x}\",\"stream_seq\":{}}}",
                arrival.seq, arrival.seq
            );
            self.audit(
                &format!("{ws}/{agent}"),
                "request",
                &arrival.subject,
                &detail,
            )?;
        }
        self.advance("CS_REQUESTS", last)?;
        Ok(asked)
    }

    /// Decisions in the outbox, each with its request's new state and its audit row. Returns what is to be published.
    pub(crate) fn decided(&self, asked: &[Asked]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let mut outgoing = Vec::with_capacity(asked.len());
        if asked.is_empty() {
            return Ok(outgoing);
        }
        let mut outbox = self.0.prepare_cached(
            "INSERT INTO outbox(id, kind, request, subject, payload, signer, sig, release_at, state)
             VALUES (?, 'decision', ?, ?, ?, ?, ?, ?, 'queued')",
        )?;
        let mut change = self.0.prepare_cached(
            "UPDATE requests SET state = 'queued', verdict = 'approve', origin = 'operator', decided_at = ?2,
             delivery = 'decided' WHERE id = ?1",
        )?;
        for request in asked {
            let (subject, payload) = decision::of_request(&request.subject)?;
            outbox.execute(params![
                decision_id(request.id),
                request.id,
                subject,
                payload,
                "U".repeat(KEY),
                "s".repeat(SIG),
                request.id,
            ])?;
            change.execute(params![request.id, request.id])?;
            let detail = format!(
                "{{\"by\":\"operator\",\"decision_id\":\"{}\",\"payload_digest\":\"{}\",\"verdict\":\"approve\"}}",
                decision_id(request.id),
                "d".repeat(DIGEST)
            );
            self.audit(&"U".repeat(KEY), "decide", &request.subject, &detail)?;
            outgoing.push((subject, payload));
        }
        Ok(outgoing)
    }

    /// Decisions as they come from the stream, each with its request's last state, its outbox row closed and its audit row.
    pub(crate) fn stored(&self, arrivals: &[Arrival]) -> anyhow::Result<()> {
        let Some(last) = arrivals.last() else {
            return Ok(());
        };
        let mut find = self.0.prepare_cached(
            "SELECT id FROM requests WHERE ws = ? AND agent = ? AND request_id = ?",
        )?;
        let mut insert = self.0.prepare_cached(
            "INSERT INTO decisions(request, ws, agent, request_id, decision_id, verdict, payload, key, sig, origin,
             decided_by, args_digest, stream_epoch, stream_seq, stored_at, effective, scope)
             VALUES (?, ?, ?, ?, ?, 'approve', ?, ?, ?, 'operator', ?, ?, ?, ?, ?, 'approve', 'once')",
        )?;
        let mut confirm = self.0.prepare_cached(
            "UPDATE requests SET state = 'decided', decided_at = ?2, delivery = 'on_bus' WHERE id = ?1",
        )?;
        let mut close = self.0.prepare_cached(
            "UPDATE outbox SET state = 'stored'
             WHERE kind = 'decision' AND request = ?1 AND state IN ('holding', 'queued')",
        )?;
        for arrival in arrivals {
            let [ws, agent, request_id] = names(&arrival.subject)?;
            let id: i64 = find.query_row([ws, agent, request_id], |row| row.get(0))?;
            let by = format!("{{\"name\":\"Bench\",\"key\":\"{}\"}}", "U".repeat(KEY));
            insert.execute(params![
                id,
                ws,
                agent,
                request_id,
                decision_id(id),
                &arrival.payload[..],
                "U".repeat(KEY),
                "s".repeat(SIG),
                by,
                "d".repeat(DIGEST),
                EPOCH,
                arrival.seq,
                arrival.stamp_ms,
            ])?;
            confirm.execute([id, arrival.stamp_ms])?;
            close.execute([id])?;
            let detail = format!(
                "{{\"decision_id\":\"{}\",\"effective\":\"approve\",\"payload_digest\":\"{}\",\"stream_seq\":{}}}",
                decision_id(id),
                "d".repeat(DIGEST),
                arrival.seq
            );
            self.audit(&"U".repeat(KEY), "decision", &arrival.subject, &detail)?;
        }
        self.advance("CS_DECISIONS", last)
    }

    fn audit(&self, actor: &str, action: &str, subject: &str, detail: &str) -> anyhow::Result<()> {
        let mut insert = self.0.prepare_cached(
            "INSERT INTO audit(prev, hash, at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        insert.execute(params![HASH, HASH, STAMP, actor, action, subject, detail])?;
        Ok(())
    }

    fn advance(&self, stream: &str, last: &Arrival) -> anyhow::Result<()> {
        let mut update = self.0.prepare_cached(
            "UPDATE bus_stream SET next_seq = ?2, last_ts = ?3 WHERE stream = ?1",
        )?;
        update.execute(params![stream, last.seq + 1, last.stamp_ms])?;
        Ok(())
    }

    pub(crate) fn commit(self) -> anyhow::Result<()> {
        Ok(self.0.commit()?)
    }
}

/// As long as a UUID, and in the order of time as those of the product.
fn decision_id(request: i64) -> String {
    format!("{request:036x}")
}

/// Workspace, agent and request of a subject.
fn names(subject: &str) -> anyhow::Result<[&str; 3]> {
    let mut parts = subject.split('.').skip(3);
    let mut next = || parts.next().context("a short subject");
    Ok([next()?, next()?, next()?])
}
