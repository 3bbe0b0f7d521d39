-- The program folds the words and cuts those of scripts without blanks (`domain/search/words`); here they are only
-- parted at blanks. Filled with the words as they were: what the program folds in another way now, it reads again.
DROP TABLE requests_fts;
CREATE VIRTUAL TABLE requests_fts USING fts5(hay, content='request_text', content_rowid='request',
  prefix='2 3', tokenize="ascii tokenchars '_-.'");
INSERT INTO requests_fts(requests_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO requests_fts(requests_fts) VALUES ('rebuild');
