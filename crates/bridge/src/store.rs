//! The bridge's own store: each command, and how far it is. Written before each step.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use serde::Serialize;
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};

use crate::command::Inbound;
use crate::error::BridgeError;
use crate::store_rows::{COLUMNS, LISTED, Stored, listed, stored};

const COMMANDS: &str = "bridge.sqlite";
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS commands (
  id INTEGER PRIMARY KEY, project_id TEXT NOT NULL, tool_call_id TEXT, state TEXT NOT NULL, reason TEXT,
  channel_id TEXT, tool_name TEXT, agent_id TEXT, request_id TEXT, received_ms INTEGER NOT NULL,
  deadline_ms INTEGER NOT NULL, resume_ms INTEGER, forward_from INTEGER, forwarded_seq INTEGER, report TEXT,
  subject TEXT NOT NULL, headers TEXT NOT NULL, payload BLOB NOT NULL, stream_seq INTEGER NOT NULL,
  card TEXT, request BLOB, decision TEXT) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS commands_call ON commands (project_id, tool_call_id)
  WHERE tool_call_id IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS commands_seq ON commands (stream_seq, received_ms)
  WHERE tool_call_id IS NULL;
CREATE INDEX IF NOT EXISTS commands_state ON commands (state);
CREATE TABLE IF NOT EXISTS waits (project_id TEXT, tool_call_id TEXT, resume_ms INTEGER NOT NULL,
  PRIMARY KEY (project_id, tool_call_id)) STRICT;
";
/// What decides nothing is in a file of its own: it waits for no disk, and no command waits for it.
const TRACE: &str = "
CREATE TABLE IF NOT EXISTS turns (project_id TEXT, turn_id TEXT, trace_id TEXT NOT NULL,
  PRIMARY KEY (project_id, turn_id)) STRICT;
CREATE TABLE IF NOT EXISTS spans (project_id TEXT, span_id TEXT, body TEXT NOT NULL,
  PRIMARY KEY (project_id, span_id)) STRICT;
";

const MOST_AT_ONCE: usize = 500;

/// Columns and what they are set to.
pub(crate) type Set<'a> = &'a [(&'static str, Value)];
type Waiting = (String, Vec<Value>, oneshot::Sender<rusqlite::Result<()>>);

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Stored, nothing else yet.
    Received,
    /// CommonGround's API does not answer with its card.
    WaitingForCard,
    /// A person can answer.
    Asked,
    /// Asked, and can only be denied: its card does not check out.
    Unverifiable,
    /// Approved; whether it went on is not known yet.
    Forwarding,
    /// CommonGround's stream has the command of the tool.
    Forwarded,
    /// Not approved; the reporter is being asked.
    Reporting,
    /// CommonGround has the result.
    Reported,
    /// Somebody else answered first.
    Answered,
    /// Its time ran out.
    Expired,
    /// Approved, and CommonGround's API did not answer in time.
    NotForwarded,
    /// Nobody was asked.
    Rejected,
}

countersign_sdk::wire::words!(State {
    Received => "received", WaitingForCard => "waiting_for_card", Asked => "asked",
    Unverifiable => "unverifiable", Forwarding => "forwarding", Forwarded => "forwarded",
    Reporting => "reporting", Reported => "reported", Answered => "answered", Expired => "expired",
    NotForwarded => "not_forwarded", Rejected => "rejected",
});

/// One line of `list`.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub(crate) project_id: String,
    pub(crate) channel_id: Option<String>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) tool_name: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) request_id: Option<String>,
    /// How far it is.
    pub state: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) received_at: String,
    pub(crate) resume_deadline: Option<String>,
    pub(crate) forwarded_seq: Option<i64>,
    pub(crate) report: Option<String>,
}

/// A command that is new to the store.
pub(crate) struct NewCommand<'a> {
    pub(crate) message: &'a Inbound,
    pub(crate) project: &'a str,
    pub(crate) channel: Option<&'a str>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) request_id: Option<String>,
    pub(crate) deadline_ms: i64,
    pub(crate) reason: Option<&'static str>,
}

/// The open store; its folder is locked while this lives.
pub(crate) struct Store {
    connection: Arc<Mutex<Connection>>,
    trace: Mutex<Connection>,
    steps: mpsc::Sender<Waiting>,
    _lock: File,
}

impl Store {
    /// Opens or makes the store. Errors: the folder, another process.
    pub(crate) fn open(folder: &Path) -> Result<Self, BridgeError> {
        std::fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
        let lock = File::create(folder.join("bridge.lock")).map_err(|e| unusable(folder, &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BridgeError::Locked(folder.to_owned())),
            Err(TryLockError::Error(error)) => return Err(unusable(folder, &error)),
        }
        let open = |file, synchronous, schema| {
            let connection = connect(folder, file, synchronous)?;
            let made = connection.execute_batch(schema);
            made.map_err(|error| unusable(folder, &error))?;
            Ok(Mutex::new(connection))
        };
        let connection = Arc::new(open(COMMANDS, "FULL", SCHEMA)?);
        let (steps, waiting) = mpsc::channel(MOST_AT_ONCE);
        let shared = Arc::clone(&connection);
        std::thread::spawn(move || write(&shared, waiting));
        Ok(Self {
            connection,
            steps,
            trace: open("trace.sqlite", "NORMAL", TRACE)?,
            _lock: lock,
        })
    }

    /// Stores commands in one transaction; the ids of those that are new. The first of a call stays.
    pub(crate) fn take(&self, commands: &[NewCommand<'_>]) -> rusqlite::Result<Vec<i64>> {
        let mut connection = self.lock();
        let tx = connection.transaction()?;
        let mut new = Vec::new();
        for of in commands {
            let message = of.message;
            let headers = serde_json::to_string(&message.headers).unwrap_or_default();
            let state = match of.reason {
                Some(_) => State::Rejected,
                None => State::Received,
            };
            let sql = "INSERT OR IGNORE INTO commands (project_id, tool_call_id, state, reason, channel_id, tool_name,
                agent_id, request_id, received_ms, deadline_ms, subject, headers, payload, stream_seq)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
            let rows = tx.prepare_cached(sql)?.execute(params![
                of.project,
                message.tool_call_id(),
                state.as_str(),
                of.reason,
                of.channel,
                of.tool,
                message.header("CG-Agent-Id"),
                of.request_id,
                message.at_ms,
                of.deadline_ms,
                message.subject,
                headers,
                message.payload.as_ref(),
                as_i64(message.stream_seq),
            ])?;
            if rows == 1 {
                new.push(tx.last_insert_rowid());
            }
        }
        tx.commit()?;
        Ok(new)
    }

    /// The next step of a command, with what belongs to it. Columns are named by this crate only.
    ///
    /// Steps that come while the disk is waited for are stored together by the next commit.
    pub(crate) async fn step(&self, id: i64, state: State, set: Set<'_>) -> rusqlite::Result<()> {
        let columns: String = set
            .iter()
            .map(|(name, _)| format!(", {name} = ?"))
            .collect();
        let sql = format!("UPDATE commands SET state = ?{columns} WHERE id = ?");
        let mut values = vec![Value::from(state.as_str().to_owned())];
        values.extend(set.iter().map(|(_, value)| value.clone()));
        values.push(id.into());
        let (done, stored) = oneshot::channel();
        // The thread that writes ends with the store only.
        let sent = self.steps.send((sql, values, done)).await;
        sent.map_err(|_| rusqlite::Error::InvalidQuery)?;
        stored.await.map_err(|_| rusqlite::Error::InvalidQuery)??;
        at_step(state);
        Ok(())
    }

    pub(crate) fn load(&self, id: i64) -> rusqlite::Result<Stored> {
        let sql = format!("SELECT {COLUMNS} FROM commands WHERE id = ?");
        self.lock().prepare_cached(&sql)?.query_row([id], stored)
    }

    /// Commands to go on with after a start: those that are not at their end, and refused ones without a report.
    pub(crate) fn unfinished(&self) -> rusqlite::Result<Vec<i64>> {
        let connection = self.lock();
        let mut rows = connection.prepare(
            "SELECT id FROM commands WHERE state IN ('received', 'waiting_for_card', 'asked', 'unverifiable',
              'forwarding', 'reporting') OR state IN ('rejected', 'expired') AND report IS NULL ORDER BY id",
        )?;
        let ids = rows.query_map([], |row| row.get(0))?;
        ids.collect()
    }

    /// The first time that CommonGround names for a call counts.
    pub(crate) fn note_wait(
        &self,
        project: &str,
        call: &str,
        resume_ms: i64,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT OR IGNORE INTO waits VALUES (?, ?, ?)";
        let connection = self.lock();
        connection
            .prepare_cached(sql)?
            .execute(params![project, call, resume_ms])?;
        Ok(())
    }

    pub(crate) fn wait_of(&self, project: &str, call: &str) -> rusqlite::Result<Option<i64>> {
        let sql = "SELECT resume_ms FROM waits WHERE project_id = ? AND tool_call_id = ?";
        let connection = self.lock();
        let mut row = connection.prepare_cached(sql)?;
        row.query_row([project, call], |row| row.get(0)).optional()
    }

    /// The trace of a turn: the one that is known, else this one from now on.
    pub(crate) fn trace_of(
        &self,
        project: &str,
        turn: &str,
        new: &str,
    ) -> rusqlite::Result<String> {
        let connection = lock(&self.trace);
        let sql = "INSERT OR IGNORE INTO turns VALUES (?, ?, ?)";
        connection
            .prepare_cached(sql)?
            .execute([project, turn, new])?;
        let sql = "SELECT trace_id FROM turns WHERE project_id = ? AND turn_id = ?";
        let mut row = connection.prepare_cached(sql)?;
        row.query_row([project, turn], |row| row.get(0))
    }

    /// Joins what is known of a span with what is new; the whole span.
    pub(crate) fn span(
        &self,
        project: &str,
        span_id: &str,
        join: impl FnOnce(Option<Json>) -> Json,
    ) -> rusqlite::Result<Json> {
        let connection = lock(&self.trace);
        let sql = "SELECT body FROM spans WHERE project_id = ? AND span_id = ?";
        let mut row = connection.prepare_cached(sql)?;
        let known: Option<String> = row
            .query_row([project, span_id], |row| row.get(0))
            .optional()?;
        let whole = join(known.and_then(|text| serde_json::from_str(&text).ok()));
        let sql = "INSERT OR REPLACE INTO spans VALUES (?, ?, ?)";
        let mut put = connection.prepare_cached(sql)?;
        put.execute([project, span_id, &whole.to_string()])?;
        Ok(whole)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        lock(&self.connection)
    }
}

/// Writes steps until the store is dropped.
fn write(connection: &Mutex<Connection>, mut waiting: mpsc::Receiver<Waiting>) {
    while let Some(first) = waiting.blocking_recv() {
        let mut steps = vec![first];
        while let Ok(next) = waiting.try_recv() {
            steps.push(next);
        }
        let mut connection = lock(connection);
        let together = connection.transaction().and_then(|tx| {
            for (sql, values, _) in &steps {
                tx.prepare_cached(sql)?.execute(params_from_iter(values))?;
            }
            tx.commit()
        });
        for (sql, values, done) in steps {
            let stored = match &together {
                Ok(()) => Ok(()),
                // Each gets its own fault.
                Err(_) => connection
                    .execute(&sql, params_from_iter(&values))
                    .map(drop),
            };
            // Who asked may be gone.
            let _ = done.send(stored);
        }
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every command that was stored, newest first; beside a running bridge too.
pub fn list(folder: &Path, state: Option<State>) -> Result<Vec<Listed>, BridgeError> {
    if !folder.join(COMMANDS).exists() {
        return Ok(Vec::new());
    }
    let bad = |error: rusqlite::Error| unusable(folder, &error);
    let connection = connect(folder, COMMANDS, "FULL")?;
    let sql =
        format!("SELECT {LISTED} FROM commands WHERE ?1 IS NULL OR state = ?1 ORDER BY id DESC");
    let mut rows = connection.prepare(&sql).map_err(bad)?;
    let lines = rows
        .query_map([state.map(State::as_str)], listed)
        .map_err(bad)?;
    lines.collect::<Result<_, _>>().map_err(bad)
}

fn connect(folder: &Path, file: &str, synchronous: &str) -> Result<Connection, BridgeError> {
    let open = || {
        let connection = Connection::open(folder.join(file))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", synchronous)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| unusable(folder, &error))
}

fn unusable(folder: &Path, why: &dyn std::fmt::Display) -> BridgeError {
    BridgeError::Store {
        folder: folder.to_owned(),
        why: why.to_string(),
    }
}

pub(crate) fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Where tests stop the process to kill it; only in builds with debug assertions.
fn at_step(state: State) {
    if cfg!(debug_assertions)
        && std::env::var("COUNTERSIGN_BRIDGE_HOLD_AT").is_ok_and(|at| at == state.as_str())
    {
        loop {
            std::thread::park();
        }
    }
}
