-- +goose Up
-- Every UUID that a user or a tenant has, or ever had: none is used twice, whoever makes it and however the first one went.
CREATE TABLE auth_used_uuid (
    uuid text NOT NULL PRIMARY KEY
);
INSERT INTO auth_used_uuid (uuid) SELECT uuid FROM auth_user WHERE true ON CONFLICT DO NOTHING;
INSERT INTO auth_used_uuid (uuid) SELECT uuid FROM auth_tenant WHERE true ON CONFLICT DO NOTHING;
INSERT INTO auth_used_uuid (uuid) SELECT DISTINCT object FROM audit
    WHERE service = 'auth' AND resource IN ('users', 'tenants') AND length(object) = 36 ON CONFLICT DO NOTHING;

-- +goose StatementBegin
CREATE TRIGGER auth_user_uses_uuid AFTER INSERT ON auth_user BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER auth_tenant_uses_uuid AFTER INSERT ON auth_tenant BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER auth_user_uses_uuid;
DROP TRIGGER auth_tenant_uses_uuid;
DROP TABLE auth_used_uuid;
