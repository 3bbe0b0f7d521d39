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
