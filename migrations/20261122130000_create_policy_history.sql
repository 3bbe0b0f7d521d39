-- Every signed value of the shared policy that this console accepted, so that a decision can be
-- judged later by the list of operators that was in force.
CREATE TABLE policy_history(
  id       INTEGER PRIMARY KEY,
  key      TEXT NOT NULL,
  revision INTEGER NOT NULL,
  payload  BLOB NOT NULL,
  signer   TEXT NOT NULL,
  sig      TEXT NOT NULL,
  UNIQUE(key, revision, sig)
) STRICT;
INSERT INTO policy_history(key, revision, payload, signer, sig)
  SELECT key, revision, payload, signer, sig FROM policy;

-- The stream that holds an anchor: one that was made anew does not hold those of before.
ALTER TABLE anchors ADD COLUMN epoch TEXT;
