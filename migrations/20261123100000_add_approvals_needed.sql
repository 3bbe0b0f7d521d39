-- How many operators must agree because a rule says so; null where only the request's own number counts.
ALTER TABLE requests ADD COLUMN approvals_needed INTEGER CHECK (approvals_needed BETWEEN 2 AND 5);
