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
