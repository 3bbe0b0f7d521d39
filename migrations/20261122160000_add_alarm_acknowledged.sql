-- A person has seen an alarm: it no longer stands in `status`, and stays in the list of alarms.
ALTER TABLE alarms ADD COLUMN acknowledged_at INTEGER;
ALTER TABLE alarms ADD COLUMN acknowledged_by TEXT;
