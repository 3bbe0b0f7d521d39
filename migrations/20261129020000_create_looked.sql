-- How long a card was in front and armed before its operator decided in the window. A row counts once the request's
-- decision is this one: what was taken back, or was not the first, says nothing.
CREATE TABLE looked(
  request     INTEGER PRIMARY KEY REFERENCES requests(id),
  decision_id TEXT NOT NULL,
  front_ms    INTEGER NOT NULL
) STRICT;
