-- From when to when the spans of 1,024 row numbers were last written, by the server's stamps: what retention
-- goes by. Beside `spans`, because a column and its index would be written with every span.
CREATE TABLE span_times(
  block    INTEGER PRIMARY KEY,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL
) STRICT;
-- Nobody wrote down when the spans of before came: they count from now on, so that none goes too early.
INSERT INTO span_times(block, first_at, last_at)
  SELECT id / 1024, CAST(strftime('%s', 'now') AS INTEGER) * 1000, CAST(strftime('%s', 'now') AS INTEGER) * 1000
  FROM spans GROUP BY 1;
