-- Since when it is not known here how tools of the agent that `tools` does not define were defined: rules that are
-- older do not cover them. Not null, a tool that is defined for the first time here may replace another definition;
-- 0 where that is all: hellos may have been missed since one that is known.
ALTER TABLE agents ADD COLUMN tools_unknown_at INTEGER;
UPDATE agents SET tools_unknown_at = 0 WHERE hello_at IS NOT NULL;
