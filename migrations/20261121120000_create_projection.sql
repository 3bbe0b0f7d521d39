-- Times are milliseconds since the Unix epoch; digests are text; bytes are as received.

-- What this console knows about itself and its realm.
CREATE TABLE meta(
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- The position is written in the transaction of the rows that it stands for.
CREATE TABLE bus_stream(
  stream   TEXT PRIMARY KEY,
  epoch    TEXT NOT NULL,
  next_seq INTEGER NOT NULL,
  last_ts  INTEGER NOT NULL
) STRICT;

CREATE TABLE requests(
  id                 INTEGER PRIMARY KEY,
  ws                 TEXT NOT NULL,
  agent              TEXT NOT NULL,
  request_id         TEXT NOT NULL,
  kind               TEXT,
  tool               TEXT,
  risk               TEXT NOT NULL,
  title              TEXT,
  run_id             TEXT,
  thread_id          TEXT,
  call_id            TEXT,
  trace_id           TEXT,
  span_id            TEXT,
  group_id           TEXT,
  allowed            TEXT NOT NULL,
  approvals_required INTEGER NOT NULL,
  args_digest        TEXT,
  request_digest     TEXT NOT NULL,
  stream_epoch       TEXT NOT NULL,
  stream_seq         INTEGER NOT NULL,
  requested_at       INTEGER,
  stored_at          INTEGER NOT NULL,
  received_at        INTEGER NOT NULL,
  lifetime           INTEGER NOT NULL,
  deadline_at        INTEGER NOT NULL,
  state              TEXT NOT NULL CHECK (state IN
    ('pending', 'holding', 'queued', 'decided', 'expired', 'withdrawn', 'rejected', 'void')),
  verdict            TEXT,
  origin             TEXT,
  decided_at         INTEGER,
  delivery           TEXT NOT NULL CHECK (delivery IN
    ('stored', 'decided', 'on_bus', 'received', 'executed', 'failed', 'refused')),
  error_code         TEXT,
  error_detail       TEXT,
  tightened_at       INTEGER,
  withdrawn_at       INTEGER,
  -- Last: the columns before it are read without walking its pages.
  raw                BLOB NOT NULL,
  UNIQUE(ws, agent, request_id),
  UNIQUE(stream_epoch, stream_seq)
) STRICT;
CREATE INDEX requests_pending_by_deadline ON requests(deadline_at, id) WHERE state = 'pending';
CREATE INDEX requests_by_state ON requests(state, id) WHERE state <> 'decided';
CREATE INDEX requests_by_tool ON requests(ws, tool, id);
CREATE INDEX requests_by_tool_args ON requests(ws, tool, args_digest, id);
CREATE INDEX requests_by_agent ON requests(ws, agent, id);
CREATE INDEX requests_by_request_id ON requests(request_id);
CREATE INDEX requests_by_trace ON requests(trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX requests_by_verdict ON requests(verdict, id);

-- A decision is kept also while (or although) its request is not here: requests age out of
-- their stream, decisions never do.
CREATE TABLE decisions(
  id             INTEGER PRIMARY KEY,
  request        INTEGER UNIQUE REFERENCES requests(id),
  ws             TEXT NOT NULL,
  agent          TEXT NOT NULL,
  request_id     TEXT NOT NULL,
  decision_id    TEXT,
  verdict        TEXT,
  payload        BLOB NOT NULL,
  key            TEXT,
  sig            TEXT,
  origin         TEXT,
  decided_by     TEXT,
  message        TEXT,
  rule_id        TEXT,
  rule_version   INTEGER,
  policy_digest  TEXT,
  args_digest    TEXT,
  stream_epoch   TEXT NOT NULL,
  stream_seq     INTEGER NOT NULL,
  stored_at      INTEGER NOT NULL,
  effective      TEXT,
  fault          TEXT,
  UNIQUE(ws, agent, request_id),
  UNIQUE(stream_epoch, stream_seq)
) STRICT;
CREATE INDEX decisions_orphaned ON decisions(ws, agent, request_id) WHERE request IS NULL;

CREATE TABLE outbox(
  decision_id TEXT PRIMARY KEY,
  request     INTEGER NOT NULL UNIQUE REFERENCES requests(id),
  subject     TEXT NOT NULL,
  key         TEXT NOT NULL,
  sig         TEXT,
  release_at  INTEGER NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  last_error  TEXT,
  state       TEXT NOT NULL CHECK (state IN ('holding', 'queued', 'stored', 'lost', 'late')),
  payload     BLOB NOT NULL
) STRICT;
CREATE INDEX outbox_holding ON outbox(release_at, decision_id) WHERE state = 'holding';
CREATE INDEX outbox_queued ON outbox(release_at, decision_id) WHERE state = 'queued';

CREATE TABLE receipts(
  ws          TEXT NOT NULL,
  agent       TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  decision_id TEXT NOT NULL,
  stage       TEXT NOT NULL CHECK (stage IN ('received', 'executed', 'failed', 'refused')),
  at          INTEGER NOT NULL,
  detail      BLOB NOT NULL,
  stream_seq  INTEGER NOT NULL,
  PRIMARY KEY(ws, agent, request_id, decision_id, stage)
) STRICT, WITHOUT ROWID;

-- Messages that were kept for inspection and changed nothing else.
CREATE TABLE quarantine(
  id           INTEGER PRIMARY KEY,
  stream       TEXT NOT NULL,
  stream_epoch TEXT NOT NULL,
  stream_seq   INTEGER NOT NULL,
  subject      TEXT NOT NULL,
  raw          BLOB NOT NULL,
  code         TEXT NOT NULL,
  detail       TEXT NOT NULL,
  at           INTEGER NOT NULL,
  UNIQUE(stream, stream_epoch, stream_seq)
) STRICT;

-- A withdraw or a tighten that came before its request.
CREATE TABLE tombstones(
  ws         TEXT NOT NULL,
  agent      TEXT NOT NULL,
  request_id TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('withdraw', 'tighten')),
  raw        BLOB NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY(ws, agent, request_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents(
  ws        TEXT NOT NULL,
  name      TEXT NOT NULL,
  key       TEXT,
  framework TEXT,
  hello     BLOB,
  last_seen INTEGER,
  enrolled_at INTEGER,
  revoked_at  INTEGER,
  PRIMARY KEY(ws, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE policy(
  key      TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  payload  BLOB NOT NULL,
  signer   TEXT NOT NULL,
  sig      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alarms(
  id      INTEGER PRIMARY KEY,
  code    TEXT NOT NULL,
  subject TEXT NOT NULL,
  at      INTEGER NOT NULL,
  UNIQUE(code, subject)
) STRICT;
