-- +goose Up
-- +goose StatementBegin
CREATE TRIGGER audit_keep_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_keep_delete BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd
