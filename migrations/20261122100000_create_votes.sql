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

-- Votes of this console's operator on their way to the stream.
CREATE TABLE vote_outbox(
  vote_id    TEXT PRIMARY KEY,
  request    INTEGER NOT NULL REFERENCES requests(id),
  subject    TEXT NOT NULL,
  key        TEXT NOT NULL,
  sig        TEXT,
  release_at INTEGER NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  state      TEXT NOT NULL CHECK (state IN ('holding', 'queued', 'stored', 'lost', 'late')),
  payload    BLOB NOT NULL,
  UNIQUE(request, key)
) STRICT;
CREATE INDEX vote_outbox_open ON vote_outbox(state, release_at) WHERE state IN ('holding', 'queued');
