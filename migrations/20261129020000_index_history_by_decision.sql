-- The history is sorted by when it was decided, page by page.
CREATE INDEX requests_by_decided ON requests(decided_at, id) WHERE decided_at IS NOT NULL;
