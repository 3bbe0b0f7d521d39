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

-- When a tool's definition took the place of another one: a rule made before does not cover it.
ALTER TABLE tools ADD COLUMN redefined_at INTEGER;
CREATE TRIGGER tools_redefined AFTER UPDATE OF def_digest ON tools
WHEN OLD.def_digest IS NOT NULL AND NEW.def_digest IS NOT OLD.def_digest
BEGIN
  UPDATE tools SET redefined_at = NEW.changed_at
  WHERE ws = NEW.ws AND agent = NEW.agent AND name = NEW.name;
END;
