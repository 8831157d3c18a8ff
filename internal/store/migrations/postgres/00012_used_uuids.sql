-- +goose Up
-- Every UUID that a user or a tenant has, or ever had: none is used twice, whoever makes it and however the first one went.
CREATE TABLE auth_used_uuid (
    uuid uuid PRIMARY KEY
);
INSERT INTO auth_used_uuid (uuid) SELECT uuid FROM auth_user ON CONFLICT DO NOTHING;
INSERT INTO auth_used_uuid (uuid) SELECT uuid FROM auth_tenant ON CONFLICT DO NOTHING;
INSERT INTO auth_used_uuid (uuid) SELECT DISTINCT CAST(object AS uuid) FROM audit
    WHERE service = 'auth' AND resource IN ('users', 'tenants') AND object ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' ON CONFLICT DO NOTHING;

-- +goose StatementBegin
CREATE FUNCTION auth_use_uuid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER auth_user_uses_uuid AFTER INSERT ON auth_user FOR EACH ROW EXECUTE FUNCTION auth_use_uuid();
CREATE TRIGGER auth_tenant_uses_uuid AFTER INSERT ON auth_tenant FOR EACH ROW EXECUTE FUNCTION auth_use_uuid();

-- +goose Down
DROP TRIGGER auth_user_uses_uuid ON auth_user;
DROP TRIGGER auth_tenant_uses_uuid ON auth_tenant;
DROP FUNCTION auth_use_uuid();
DROP TABLE auth_used_uuid;
