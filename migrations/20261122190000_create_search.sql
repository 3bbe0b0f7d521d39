-- The words of a request, secrets left out: what a text search looks through. Beside `requests`, because
-- a change of state rewrites a request's whole row. Filled a little behind the intake; `meta` says how far.
CREATE TABLE request_text(
  request INTEGER PRIMARY KEY REFERENCES requests(id),
  hay     TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE requests_fts USING fts5(hay, content='request_text', content_rowid='request',
  prefix='2 3', tokenize="unicode61 remove_diacritics 2 tokenchars '_-.'");
-- What retention removes leaves the index at once and not with a later merge. From the beginning: an
-- index that was deleted from in the other way keeps what it hid.
INSERT INTO requests_fts(requests_fts, rank) VALUES ('secure-delete', 1);
-- Messages of the decisions that stand already are read with their requests.
INSERT INTO meta(key, value) SELECT 'searched_decisions', CAST(max(id) AS TEXT) FROM decisions
  HAVING max(id) IS NOT NULL;
