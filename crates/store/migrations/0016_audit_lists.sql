-- What one actor did, and what was done to one thing, without reading the whole trail.
CREATE INDEX audit_by_actor ON audit (actor, id);
CREATE INDEX audit_by_subject ON audit (subject, id);
