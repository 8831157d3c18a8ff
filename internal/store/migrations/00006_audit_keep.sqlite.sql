-- +goose Up
CREATE TRIGGER audit_keep_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_keep_delete BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
