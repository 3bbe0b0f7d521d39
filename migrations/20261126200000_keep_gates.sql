-- When a probe of the gate in front of an agent's program last held. gate_open: why it is open; null where it holds.
ALTER TABLE agents ADD COLUMN gate_held_at INTEGER;
ALTER TABLE agents ADD COLUMN gate_open TEXT;
