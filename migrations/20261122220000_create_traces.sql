-- One row a trace, so that the traces that were last written to are listed page by page.
-- `seen` counts up: the trace with the highest was written to last.
CREATE TABLE traces(
  id       INTEGER PRIMARY KEY,
  trace_id TEXT NOT NULL UNIQUE,
  seen     INTEGER NOT NULL UNIQUE
) STRICT;
INSERT INTO traces(trace_id, seen)
  SELECT trace_id, row_number() OVER (ORDER BY max(id)) FROM spans GROUP BY trace_id;
-- A trace goes with its last span, whoever deletes it.
CREATE TRIGGER traces_end AFTER DELETE ON spans
  WHEN NOT EXISTS (SELECT 1 FROM spans WHERE trace_id = OLD.trace_id)
BEGIN
  DELETE FROM traces WHERE trace_id = OLD.trace_id;
END;
