-- Append-only: the triggers stop mistakes, the hash chain and its anchors show tampering.
CREATE TABLE audit(
  seq     INTEGER PRIMARY KEY,
  prev    BLOB NOT NULL CHECK (length(prev) = 32),
  hash    BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  at      TEXT NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_subject ON audit(subject, seq);
CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TABLE anchors(
  seq        INTEGER PRIMARY KEY,
  payload    BLOB NOT NULL,
  sig        TEXT NOT NULL,
  stream_seq INTEGER NOT NULL
) STRICT;
