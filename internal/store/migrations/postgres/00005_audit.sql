-- +goose Up
-- Who changed what. Rows are added and never changed; nothing refers to what they name, which may be gone.
CREATE TABLE audit (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    tenant_uuid  uuid NOT NULL, -- the one that was acted in
    actor_uuid   uuid,          -- null: nobody was logged in
    session_uuid uuid,
    request_id   text COLLATE "C" NOT NULL,
    service      text COLLATE "C" NOT NULL,
    action       text COLLATE "C" NOT NULL, -- the operation's id
    resource     text COLLATE "C" NOT NULL,
    object       text COLLATE "C" NOT NULL, -- its key
    before       text COLLATE "C",          -- JSON, without secrets
    after        text COLLATE "C"
);
CREATE INDEX audit_tenant ON audit (tenant_uuid, id);
CREATE INDEX audit_object ON audit (resource, object, id);
CREATE INDEX audit_actor ON audit (actor_uuid, id);

-- +goose StatementBegin
CREATE FUNCTION audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keep();

-- +goose Down
DROP TABLE audit;
DROP FUNCTION audit_keep();
