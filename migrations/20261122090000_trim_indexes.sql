-- Every request passes these indexes on its way in and out: each costs a share of the throughput.

-- The chain proves each hash, and no query looks for one. What every request leaves in the audit is
-- read in its order; only the rest is looked for by its subject.
DROP TRIGGER audit_refuses_update;
DROP TRIGGER audit_refuses_delete;
DROP INDEX audit_by_subject;
ALTER TABLE audit RENAME TO audit_before;
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
INSERT INTO audit(seq, prev, hash, at, actor, action, subject, detail)
  SELECT seq, prev, hash, at, actor, action, subject, detail FROM audit_before ORDER BY seq;
DROP TABLE audit_before;
CREATE INDEX audit_by_subject ON audit(subject, seq)
  WHERE action NOT IN ('request', 'decide', 'decision');
CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- No query uses it.
DROP INDEX requests_by_tool_args;

-- What waits has no verdict.
DROP INDEX requests_by_verdict;
CREATE INDEX requests_by_verdict ON requests(verdict, id) WHERE verdict IS NOT NULL;
