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
