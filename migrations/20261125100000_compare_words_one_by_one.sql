-- SQLite fills a temporary b-tree for every IN of more than two values, each time a statement runs: eleven of
-- them for each request that goes the whole way, a sixth of the console's work. Compared one by one they cost
-- nothing. The words stay the same, so the rows need not be copied: https://sqlite.org/lang_altertable.html,
-- "Making Other Kinds Of Table Schema Changes", the simpler procedure.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
'state              TEXT NOT NULL CHECK (state IN
    (''pending'', ''holding'', ''queued'', ''decided'', ''expired'', ''withdrawn'', ''rejected'', ''void''))',
'state              TEXT NOT NULL CHECK (state = ''pending'' OR state = ''holding'' OR state = ''queued'' OR
    state = ''decided'' OR state = ''expired'' OR state = ''withdrawn'' OR state = ''rejected'' OR state = ''void'')'),
'delivery           TEXT NOT NULL CHECK (delivery IN
    (''stored'', ''decided'', ''on_bus'', ''received'', ''executed'', ''failed'', ''refused''))',
'delivery           TEXT NOT NULL CHECK (delivery = ''stored'' OR delivery = ''decided'' OR delivery = ''on_bus'' OR
    delivery = ''received'' OR delivery = ''executed'' OR delivery = ''failed'' OR delivery = ''refused'')')
WHERE type = 'table' AND name = 'requests';
UPDATE sqlite_schema SET sql = replace(sql,
'CHECK (state IN (''holding'', ''queued'', ''stored'', ''lost'', ''late''))',
'CHECK (state = ''holding'' OR state = ''queued'' OR
    state = ''stored'' OR state = ''lost'' OR state = ''late'')')
WHERE type = 'table' AND name IN ('outbox', 'vote_outbox');
UPDATE sqlite_schema SET sql = replace(sql,
'CHECK (stage IN (''received'', ''executed'', ''failed'', ''refused''))',
'CHECK (stage = ''received'' OR stage = ''executed'' OR stage = ''failed'' OR stage = ''refused'')')
WHERE type = 'table' AND name = 'receipts';
UPDATE sqlite_schema SET sql = replace(sql,
'CHECK (code IN (''stalled_not_on_bus'', ''stalled_not_received'', ''stalled_not_executed''))',
'CHECK (code = ''stalled_not_on_bus'' OR code = ''stalled_not_received'' OR
    code = ''stalled_not_executed'')')
WHERE type = 'table' AND name = 'stalls';
PRAGMA writable_schema = RESET;
-- Made anew, which also tells every connection that the schema is another one.
DROP INDEX audit_by_subject;
CREATE INDEX audit_by_subject ON audit(subject, seq)
  WHERE action <> 'request' AND action <> 'decide' AND action <> 'decision';
