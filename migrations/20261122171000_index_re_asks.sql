-- What this call itself told of its tool; null when it told no more than the name.
ALTER TABLE requests ADD COLUMN tool_digest TEXT;

-- The same call asked again. Eight digits of the digest keep the index small; the whole digest is compared.
CREATE INDEX requests_by_call ON requests(ws, agent, tool, substr(args_digest, 8, 8))
  WHERE state = 'decided' AND args_digest IS NOT NULL;

-- What a decision said of itself.
ALTER TABLE decisions ADD COLUMN scope TEXT;
