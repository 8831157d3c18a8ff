-- +goose Up
-- What lists of the audit filter by, and a search for what was done.
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_request ON audit (request_id, id);
CREATE INDEX audit_session ON audit (session_uuid, id);
