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
  code    TEXT CHECK (code IN ('stalled_not_on_bus', 'stalled_not_received', 'stalled_not_executed')),
  look_at INTEGER NOT NULL
) STRICT;
CREATE INDEX stalls_by_look ON stalls(look_at) WHERE code IS NULL;
CREATE INDEX stalls_alarmed ON stalls(code) WHERE code IS NOT NULL;

-- Since when an agent is heard without a pause.
ALTER TABLE agents ADD COLUMN alive_since INTEGER;

CREATE INDEX alarms_by_subject ON alarms(subject, id);
