-- +goose Up
-- Who changed what. Rows are added and never changed; nothing refers to what they name, which may be gone.
CREATE TABLE audit (
    id           integer PRIMARY KEY AUTOINCREMENT,
    at           timestamp NOT NULL,
    tenant_uuid  text NOT NULL, -- the one that was acted in
    actor_uuid   text,          -- null: nobody was logged in
    session_uuid text,
    request_id   text NOT NULL,
    service      text NOT NULL,
    action       text NOT NULL, -- the operation's id
    resource     text NOT NULL,
    object       text NOT NULL, -- its key
    before       text,          -- JSON, without secrets
    after        text
);
CREATE INDEX audit_tenant ON audit (tenant_uuid, id);
CREATE INDEX audit_object ON audit (resource, object, id);
CREATE INDEX audit_actor ON audit (actor_uuid, id);

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

-- +goose Down
DROP TABLE audit;
