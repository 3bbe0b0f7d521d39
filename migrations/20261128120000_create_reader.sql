-- What a second reader made of a call: one row for a call that was sent or skipped. It decides nothing.
CREATE TABLE reader(
  request  INTEGER PRIMARY KEY REFERENCES requests(id),
  state    TEXT NOT NULL CHECK (state IN ('asked', 'answered', 'failed', 'skipped', 'late')),
  -- When it was sent, by the server's time; null for what was skipped.
  asked_at INTEGER,
  -- Marks that did not fit.
  dropped  INTEGER NOT NULL,
  -- JSON [{at, code, message}]; null where there is none.
  marks    TEXT
) STRICT;

CREATE INDEX reader_by_asked ON reader(asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX reader_under_way ON reader(request) WHERE state = 'asked';
CREATE INDEX reader_marked ON reader(request) WHERE marks IS NOT NULL;
