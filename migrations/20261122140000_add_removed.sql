-- Requests whose payload retention took away: an empty payload is no change by somebody else.
CREATE TABLE removed(
  request INTEGER PRIMARY KEY REFERENCES requests(id),
  at      INTEGER NOT NULL
) STRICT;
