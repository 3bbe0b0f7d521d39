-- What the last hello said. hello_fault: why nothing of it could be read; setup_schema and credentials: JSON.
ALTER TABLE agents ADD COLUMN hello_at INTEGER;
ALTER TABLE agents ADD COLUMN hello_fault TEXT;
ALTER TABLE agents ADD COLUMN setup_schema TEXT;
ALTER TABLE agents ADD COLUMN credentials TEXT;

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
  UNIQUE(ws, agent, name)
) STRICT;
