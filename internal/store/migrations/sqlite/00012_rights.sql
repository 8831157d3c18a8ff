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

-- An entry's tenant is the one that has the object, and not the one that was acted in: whoever may read the object may read it. names are all
-- that a path can have in the object's place, with where: " 0:17 0:1b4e28ba-... ", and " 0:17 1:5 " of two that were associated.
ALTER TABLE audit ADD COLUMN names text NOT NULL DEFAULT '';
DROP TRIGGER audit_keep_update;
UPDATE audit SET
    resource = CASE WHEN service = 'auth' AND resource = 'emails' THEN 'users/emails' ELSE resource END,
    names = ' 0:' || replace(object, '/', ' 1:') || ' ' ||
        coalesce('0:' || coalesce(after ->> '$.uuid', before ->> '$.uuid') || ' ', ''),
    tenant_uuid = coalesce(CASE WHEN service = 'auth' AND resource = 'tenants' THEN object
        ELSE coalesce(after ->> '$.tenant_uuid', before ->> '$.tenant_uuid') END, tenant_uuid);
-- +goose StatementBegin
CREATE TRIGGER audit_keep_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- +goose StatementEnd

-- +goose Down
ALTER TABLE audit DROP COLUMN names;
DROP TRIGGER auth_user_uses_uuid;
DROP TRIGGER auth_tenant_uses_uuid;
DROP TABLE auth_used_uuid;
