-- How many messages of one sender came on one day that fit nowhere: only the first of them are kept.
-- sender: WS/AGENT, or the stream where the subject names nobody. day: of the server's stamps, since 1970.
CREATE TABLE quarantine_days(
  sender   TEXT NOT NULL,
  day      INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  PRIMARY KEY(sender, day)
) STRICT, WITHOUT ROWID;
