-- Times are milliseconds since the Unix epoch; digests are text; bytes are as received.
-- Words are compared one by one: SQLite fills a temporary b-tree for every IN of more than two values, each time.

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
  state              TEXT NOT NULL CHECK (state = 'pending' OR state = 'holding' OR state = 'queued' OR
    state = 'decided' OR state = 'expired' OR state = 'withdrawn' OR state = 'rejected' OR state = 'void'),
  verdict            TEXT,
  origin             TEXT,
  decided_at         INTEGER,
  delivery           TEXT NOT NULL CHECK (delivery = 'stored' OR delivery = 'decided' OR delivery = 'on_bus' OR
    delivery = 'received' OR delivery = 'executed' OR delivery = 'failed' OR delivery = 'refused'),
  error_code         TEXT,
  error_detail       TEXT,
  tightened_at       INTEGER,
  withdrawn_at       INTEGER,
  -- Of what this call itself says of its tool; null when it says no more than the name.
  tool_digest        TEXT,
  -- How many operators must agree because a rule says so; null where only the request's own number counts.
  approvals_needed   INTEGER CHECK (approvals_needed BETWEEN 2 AND 5),
  -- What is remarkable about the call, JSON; null while it was not looked at, and where another console decided.
  findings           TEXT,
  -- What will happen; null where the console cannot be sure.
  effect             TEXT,
  -- Effective effects of the call, where its agent checks signatures of devices; null where it does not.
  device_effects     TEXT,
  -- Last: the columns before it are read without walking its pages.
  raw                BLOB NOT NULL,
  UNIQUE(ws, agent, request_id),
  UNIQUE(stream_epoch, stream_seq)
) STRICT;
-- Every request passes these indexes on its way in and out: each costs a share of the throughput.
CREATE INDEX requests_pending_by_deadline ON requests(deadline_at, id, risk) WHERE state = 'pending';
CREATE INDEX requests_by_state ON requests(state, id) WHERE state <> 'decided';
CREATE INDEX requests_by_tool ON requests(ws, tool, id);
CREATE INDEX requests_by_agent ON requests(ws, agent, id);
CREATE INDEX requests_by_request_id ON requests(request_id);
CREATE INDEX requests_by_trace ON requests(trace_id) WHERE trace_id IS NOT NULL;
-- What waits has no verdict.
CREATE INDEX requests_by_verdict ON requests(verdict, id) WHERE verdict IS NOT NULL;
-- The same call asked again. Eight digits of the digest keep the index small; the whole digest is compared.
CREATE INDEX requests_by_call ON requests(ws, agent, tool, substr(args_digest, 8, 8))
  WHERE state = 'decided' AND args_digest IS NOT NULL;
-- Each filter of the history is one range of one index, in the order of the rows.
CREATE INDEX requests_by_risk ON requests(risk, id);
CREATE INDEX requests_by_origin ON requests(origin, id) WHERE origin IS NOT NULL;
-- No list shows a probe.
CREATE INDEX requests_of_probes ON requests(id) WHERE tool = 'countersign_probe';

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
  -- What it said of itself.
  scope          TEXT,
  UNIQUE(ws, agent, request_id),
  UNIQUE(stream_epoch, stream_seq)
) STRICT;
CREATE INDEX decisions_orphaned ON decisions(ws, agent, request_id) WHERE request IS NULL;
CREATE INDEX decisions_by_key ON decisions(key, request) WHERE request IS NOT NULL;
CREATE INDEX decisions_by_rule ON decisions(rule_id, request) WHERE rule_id IS NOT NULL;

-- Decisions and votes of this console on their way to the stream.
CREATE TABLE outbox(
  id          TEXT PRIMARY KEY,
  kind        TEXT NOT NULL CHECK (kind = 'decision' OR kind = 'vote'),
  request     INTEGER NOT NULL REFERENCES requests(id),
  subject     TEXT NOT NULL,
  signer      TEXT NOT NULL,
  sig         TEXT,
  release_at  INTEGER NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  last_error  TEXT,
  state       TEXT NOT NULL CHECK (state = 'holding' OR state = 'queued' OR
    state = 'stored' OR state = 'lost' OR state = 'late'),
  payload     BLOB NOT NULL
) STRICT;
-- Never two answers of one console, whatever key signs; and one vote of each key.
CREATE UNIQUE INDEX outbox_decision ON outbox(request) WHERE kind = 'decision';
CREATE UNIQUE INDEX outbox_vote ON outbox(request, signer) WHERE kind = 'vote';
CREATE INDEX outbox_holding ON outbox(release_at, id) WHERE state = 'holding';
CREATE INDEX outbox_queued ON outbox(release_at, id) WHERE state = 'queued';

CREATE TABLE receipts(
  ws          TEXT NOT NULL,
  agent       TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  decision_id TEXT NOT NULL,
  stage       TEXT NOT NULL CHECK (stage = 'received' OR stage = 'executed' OR stage = 'failed' OR stage = 'refused'),
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
  -- Since when an agent is heard without a pause.
  alive_since INTEGER,
  -- What the last hello said. hello_fault: why nothing of it could be read; setup_schema and credentials: JSON.
  hello_at  INTEGER,
  hello_fault TEXT,
  setup_schema TEXT,
  credentials TEXT,
  -- Since when it is not known here how tools of the agent that `tools` does not define were defined: rules that are
  -- older do not cover them. Not null, a tool that is defined for the first time here may replace another definition;
  -- 0 where that is all: hellos may have been missed since one that is known.
  tools_unknown_at INTEGER,
  -- When a probe of the gate in front of the agent's program last held. gate_open: why it is open; null where it holds.
  gate_held_at INTEGER,
  gate_open TEXT,
  PRIMARY KEY(ws, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE policy(
  key      TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  payload  BLOB NOT NULL,
  signer   TEXT NOT NULL,
  sig      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The slots of the realm log as they were read, in the order of the stream: the state of the log is folded from
-- them. What is no entry keeps its place and not its bytes.
CREATE TABLE realm_log(
  epoch     TEXT NOT NULL,
  slot      INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  stored_at INTEGER NOT NULL,
  n         INTEGER,
  digest    TEXT,
  word      TEXT NOT NULL,
  message   BLOB,
  PRIMARY KEY(epoch, slot)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX realm_log_by_seq ON realm_log(epoch, seq);

CREATE TABLE alarms(
  id      INTEGER PRIMARY KEY,
  code    TEXT NOT NULL,
  subject TEXT NOT NULL,
  at      INTEGER NOT NULL,
  -- Once a person has seen it: it then stays in the list of alarms, and leaves `status`.
  acknowledged_at INTEGER,
  acknowledged_by TEXT,
  UNIQUE(code, subject)
) STRICT;
CREATE INDEX alarms_by_subject ON alarms(subject, id);

-- Append-only: the triggers stop mistakes, the hash chain and its anchors show tampering. The chain proves each
-- hash, and no query looks for one.
CREATE TABLE audit(
  seq     INTEGER PRIMARY KEY,
  prev    BLOB NOT NULL CHECK (length(prev) = 32),
  hash    BLOB NOT NULL CHECK (length(hash) = 32),
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
-- What every request leaves in the audit is read in its order; only the rest is looked for by its subject.
CREATE INDEX audit_by_subject ON audit(subject, seq)
  WHERE action <> 'request' AND action <> 'decide' AND action <> 'decision';

CREATE TABLE anchors(
  seq        INTEGER PRIMARY KEY,
  payload    BLOB NOT NULL,
  sig        TEXT NOT NULL,
  stream_seq INTEGER NOT NULL,
  -- The stream that holds it: one that was made anew does not hold those of the former one.
  epoch      TEXT
) STRICT;

-- A vote is kept also while (or although) its request is not here.
CREATE TABLE votes(
  id           INTEGER PRIMARY KEY,
  request      INTEGER REFERENCES requests(id),
  ws           TEXT NOT NULL,
  agent        TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  -- The voter's public key, from the subject.
  key          TEXT NOT NULL,
  vote_id      TEXT,
  verdict      TEXT,
  args_digest  TEXT,
  name         TEXT,
  payload      BLOB NOT NULL,
  signer       TEXT,
  sig          TEXT,
  stream_epoch TEXT NOT NULL,
  stream_seq   INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  -- Whether every check held when it was stored; null while its request is not here.
  stands       INTEGER,
  -- Whether this console's operator gave it.
  mine         INTEGER NOT NULL,
  UNIQUE(ws, agent, request_id, key),
  UNIQUE(stream_epoch, stream_seq)
) STRICT;
CREATE INDEX votes_by_request ON votes(request, stream_seq) WHERE request IS NOT NULL;
CREATE INDEX votes_orphaned ON votes(ws, agent, request_id) WHERE request IS NULL;

-- Requests of which a receipt came before their decision: the two come on different streams.
-- look_at: when an execution among them counts as one without a decision; null when there is none.
CREATE TABLE early_receipts(
  ws         TEXT NOT NULL,
  agent      TEXT NOT NULL,
  request_id TEXT NOT NULL,
  look_at    INTEGER,
  PRIMARY KEY(ws, agent, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX early_receipts_by_look ON early_receipts(look_at) WHERE look_at IS NOT NULL;

-- Answers whose next rung is awaited; with an alarm once it is overdue.
CREATE TABLE stalls(
  request INTEGER PRIMARY KEY REFERENCES requests(id),
  code    TEXT CHECK (code = 'stalled_not_on_bus' OR code = 'stalled_not_received' OR
    code = 'stalled_not_executed'),
  look_at INTEGER NOT NULL
) STRICT;
CREATE INDEX stalls_by_look ON stalls(look_at) WHERE code IS NULL;
CREATE INDEX stalls_alarmed ON stalls(code) WHERE code IS NOT NULL;

-- Every signed value of the shared policy that this console accepted.
CREATE TABLE policy_history(
  id       INTEGER PRIMARY KEY,
  key      TEXT NOT NULL,
  revision INTEGER NOT NULL,
  payload  BLOB NOT NULL,
  signer   TEXT NOT NULL,
  sig      TEXT NOT NULL,
  UNIQUE(key, revision, sig)
) STRICT;

-- Requests whose payload retention took away: an empty payload is no change by somebody else.
CREATE TABLE removed(
  request INTEGER PRIMARY KEY REFERENCES requests(id),
  at      INTEGER NOT NULL
) STRICT;

-- What agents did. The body is as received; the other columns are what lists and joins need of it.
CREATE TABLE spans(
  id             INTEGER PRIMARY KEY,
  ws             TEXT NOT NULL,
  agent          TEXT NOT NULL,
  trace_id       TEXT NOT NULL,
  span_id        TEXT NOT NULL,
  parent_span_id TEXT,
  name           TEXT NOT NULL,
  kind           TEXT NOT NULL,
  status         TEXT,
  started_at     INTEGER NOT NULL,
  ended_at       INTEGER,
  request_id     TEXT,
  call_id        TEXT,
  stream_epoch   TEXT NOT NULL,
  stream_seq     INTEGER NOT NULL,
  body           BLOB NOT NULL,
  UNIQUE(ws, agent, trace_id, span_id)
) STRICT;
CREATE INDEX spans_by_trace ON spans(trace_id, started_at, id);
CREATE INDEX spans_by_request ON spans(ws, agent, request_id) WHERE request_id IS NOT NULL;
-- A trace goes with its last span, whoever deletes it.
CREATE TRIGGER traces_end AFTER DELETE ON spans
  WHEN NOT EXISTS (SELECT 1 FROM spans WHERE trace_id = OLD.trace_id)
BEGIN
  DELETE FROM traces WHERE trace_id = OLD.trace_id;
END;

-- Running copies of an agent. instance_id is empty for one that gives none.
CREATE TABLE agent_instances(
  ws          TEXT NOT NULL,
  agent       TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  first_seen  INTEGER NOT NULL,
  last_seen   INTEGER NOT NULL,
  PRIMARY KEY(ws, agent, instance_id)
) STRICT, WITHOUT ROWID;

-- The tools of the last hello, and those that a person has approved a call of.
-- place: among the tools of the last hello; null when it does not list this one.
-- approved_*: the definition that stood when a person last approved a call; call_digest: the digest of what
-- that call itself told of the tool, null when it told no more than the name.
CREATE TABLE tools(
  id               INTEGER PRIMARY KEY,
  ws               TEXT NOT NULL,
  agent            TEXT NOT NULL,
  name             TEXT NOT NULL,
  place            INTEGER,
  def              TEXT,
  def_digest       TEXT,
  changed_at       INTEGER,
  approved_def     TEXT,
  approved_digest  TEXT,
  approved_at      INTEGER,
  call_digest      TEXT,
  call_approved_at INTEGER,
  call_request     INTEGER REFERENCES requests(id),
  -- When a tool's definition took the place of another one: a rule made before does not cover it.
  redefined_at     INTEGER,
  UNIQUE(ws, agent, name)
) STRICT;
CREATE TRIGGER tools_redefined AFTER UPDATE OF def_digest ON tools
WHEN OLD.def_digest IS NOT NULL AND NEW.def_digest IS NOT OLD.def_digest
BEGIN
  UPDATE tools SET redefined_at = NEW.changed_at
  WHERE ws = NEW.ws AND agent = NEW.agent AND name = NEW.name;
END;

-- The words of a request, secrets left out: what a text search looks through. Beside `requests`, because
-- a change of state rewrites a request's whole row. Filled a little behind the intake; `meta` says how far.
CREATE TABLE request_text(
  request INTEGER PRIMARY KEY REFERENCES requests(id),
  hay     TEXT NOT NULL
) STRICT;

-- The program folds the words and cuts those of scripts without blanks (`domain/search/words`); here they are only
-- parted at blanks.
CREATE VIRTUAL TABLE requests_fts USING fts5(hay, content='request_text', content_rowid='request',
  prefix='2 3', tokenize="ascii tokenchars '_-.'");
-- What retention removes leaves the index at once and not with a later merge. From the beginning: an
-- index that was deleted from in the other way keeps what it hid.
INSERT INTO requests_fts(requests_fts, rank) VALUES ('secure-delete', 1);

-- From when to when the requests of 1,024 row numbers were stored: rows follow arrival nearly, not quite.
CREATE TABLE request_times(
  block    INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL
) STRICT;

-- Which rows of the audit log are about a request. Filled a little behind the log, like the index of words:
-- an index of the log itself would be written with every row. `meta` says how far it is.
CREATE TABLE request_audit(
  request INTEGER NOT NULL REFERENCES requests(id),
  seq     INTEGER NOT NULL,
  PRIMARY KEY(request, seq)
) STRICT, WITHOUT ROWID;

-- Rows of the log about requests that are not here, or not yet.
CREATE TABLE audit_early(
  subject TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  PRIMARY KEY(subject, seq)
) STRICT, WITHOUT ROWID;

-- What the window remembers, such as saved searches.
CREATE TABLE ui_state(
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What rules and setup keys decided, as limits count it: on its way here, or read from the stream.
CREATE TABLE rule_uses(
  request      INTEGER PRIMARY KEY REFERENCES requests(id),
  ws           TEXT NOT NULL,
  rule_id      TEXT NOT NULL,
  rule_version INTEGER NOT NULL,
  origin       TEXT NOT NULL,
  verdict      TEXT NOT NULL,
  decision_id  TEXT NOT NULL,
  at           INTEGER NOT NULL
) STRICT;
CREATE INDEX rule_uses_by_rule ON rule_uses(ws, rule_id, at);
CREATE INDEX rule_uses_by_decision ON rule_uses(decision_id);

-- What rules said of a request without deciding it: what a shadow rule would have done, why a rule could
-- not be read for sure.
CREATE TABLE rule_notes(
  request       INTEGER NOT NULL REFERENCES requests(id),
  ws            TEXT NOT NULL,
  rule_id       TEXT NOT NULL,
  rule_version  INTEGER NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('shadow', 'trouble')),
  detail        TEXT NOT NULL,
  policy_digest TEXT NOT NULL,
  at            INTEGER NOT NULL,
  PRIMARY KEY(request, rule_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX rule_notes_by_rule ON rule_notes(ws, rule_id, at);

-- The body of every digest that a decision of this console named.
CREATE TABLE policy_versions(
  digest TEXT PRIMARY KEY,
  body   BLOB NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a trace, so that the traces that were last written to are listed page by page.
-- `seen` counts up: the trace with the highest was written to last.
CREATE TABLE traces(
  id       INTEGER PRIMARY KEY,
  trace_id TEXT NOT NULL UNIQUE,
  seen     INTEGER NOT NULL UNIQUE
) STRICT;

-- From when to when the spans of 1,024 row numbers were last written, by the server's stamps: what retention
-- goes by. Beside `spans`, because a column and its index would be written with every span.
CREATE TABLE span_times(
  block    INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL
) STRICT;

-- Which argument of a tool is typed before a critical call of it is approved: chosen by an operator, never by the agent.
-- Without a row it is the tool's name. pointer: RFC 6901, into the arguments.
CREATE TABLE typed_targets(
  ws        TEXT NOT NULL,
  agent     TEXT NOT NULL,
  tool      TEXT NOT NULL,
  pointer   TEXT NOT NULL,
  chosen_by TEXT NOT NULL,
  chosen_at INTEGER NOT NULL,
  PRIMARY KEY(ws, agent, tool)
) STRICT, WITHOUT ROWID;

-- How many messages of one sender came on one day that fit nowhere: only the first of them are kept.
-- sender: WS/AGENT, or the stream where the subject names nobody. day: of the server's stamps, since 1970.
CREATE TABLE quarantine_days(
  sender   TEXT NOT NULL,
  day      INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  PRIMARY KEY(sender, day)
) STRICT, WITHOUT ROWID;

-- How a person looked at a call before deciding it here. A row counts once the request's decision is this one: what was
-- taken back, or was not the first, says nothing. front_ms: how long the card was in front and armed; read_ms: how long it
-- takes to read; both null on the command line. looked: JSON, what is reported.
CREATE TABLE looked(
  request     INTEGER PRIMARY KEY REFERENCES requests(id),
  decision_id TEXT NOT NULL,
  front_ms    INTEGER,
  read_ms     INTEGER,
  looked      TEXT NOT NULL
) STRICT;

-- The history is sorted by when it was decided, page by page.
CREATE INDEX requests_by_decided ON requests(decided_at, id) WHERE decided_at IS NOT NULL;

-- What people approved and denied of an agent's tool, as counts per place in the arguments, value and day (since 1970).
-- kind: what the value is. A secret is kept as its digest with the key `hiding` of `meta`.
CREATE TABLE habits(
  ws        TEXT NOT NULL,
  agent     TEXT NOT NULL,
  tool      TEXT NOT NULL,
  kind      TEXT NOT NULL,
  place     TEXT NOT NULL,
  value     TEXT NOT NULL,
  day       INTEGER NOT NULL,
  approved  INTEGER NOT NULL,
  denied    INTEGER NOT NULL,
  -- The newest denial of the day.
  denied_at INTEGER,
  denied_by TEXT,
  why       TEXT,
  PRIMARY KEY(ws, agent, tool, kind, place, value, day)
) STRICT, WITHOUT ROWID;

-- Verdicts on practice cards, which are no requests: only the report of practice reads this.
-- operator: the person's key here. kind: what was changed; none where nothing was.
CREATE TABLE practice(
  id       INTEGER PRIMARY KEY,
  operator TEXT NOT NULL,
  name     TEXT NOT NULL,
  kind     TEXT,
  outcome  TEXT NOT NULL CHECK (outcome IN ('caught', 'missed', 'false_alarm', 'passed')),
  at       INTEGER NOT NULL
) STRICT;

-- What a second reader made of a call: one row for a call that was sent or skipped. It decides nothing.
CREATE TABLE reader(
  request  INTEGER PRIMARY KEY REFERENCES requests(id),
  state    TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'skipped', 'late')),
  -- When it was sent, by the server's time; null for what was skipped.
  asked_at INTEGER,
  -- Marks that did not fit.
  dropped  INTEGER NOT NULL,
  -- JSON [{at, code, message}]; null where there is none.
  marks    TEXT
) STRICT;

CREATE INDEX reader_by_asked ON reader(asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX reader_under_way ON reader(request) WHERE state = 'asked';
CREATE INDEX reader_marked ON reader(request) WHERE marks IS NOT NULL;

-- How far each feed has come. One that is out of the settings keeps its place for a while.
CREATE TABLE feeds(
  name          TEXT PRIMARY KEY,
  -- Digest of its settings, and where it sends: JSON, without what may be secret.
  settings      TEXT NOT NULL,
  address       TEXT NOT NULL,
  -- The last row of the audit log of which every event was taken, is in feed_events, or is not wanted.
  cursor        INTEGER NOT NULL,
  -- Events up to replay_to are sent again; then it goes on behind resume_at.
  replay_to     INTEGER,
  resume_at     INTEGER,
  state         TEXT NOT NULL CHECK (state IN ('ok', 'resting', 'disabled')),
  last_taken_at INTEGER,
  last_error    TEXT,
  -- Grows with every change that a command makes: a running feed then begins anew.
  revision      INTEGER NOT NULL,
  removed_at    INTEGER
) STRICT, WITHOUT ROWID;

-- Events that a receiver refused, those that wait behind one of them (tries 0), and those that are sent again by their id.
-- due_at: when the next try may be.
CREATE TABLE feed_events(
  feed       TEXT NOT NULL,
  id         TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  type       TEXT NOT NULL,
  subject    TEXT NOT NULL,
  tries      INTEGER NOT NULL,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  last_error TEXT,
  due_at     INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('retrying', 'dead')),
  PRIMARY KEY(feed, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_events_by_seq ON feed_events(feed, state, seq);
