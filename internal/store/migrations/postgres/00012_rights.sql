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

-- An entry's tenant is the one that has the object, and not the one that was acted in: whoever may read the object may read it. names are all
-- that a path can have in the object's place, with where: " 0:17 0:1b4e28ba-... ", and " 0:17 1:5 " of two that were associated.
ALTER TABLE audit ADD COLUMN names text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE audit DISABLE TRIGGER audit_keep;
UPDATE audit SET
    resource = CASE WHEN service = 'auth' AND resource = 'emails' THEN 'users/emails' ELSE resource END,
    names = ' 0:' || replace(object, '/', ' 1:') || ' ' ||
        coalesce('0:' || coalesce(CAST(after AS json) ->> 'uuid', CAST(before AS json) ->> 'uuid') || ' ', ''),
    tenant_uuid = coalesce(CAST(CASE WHEN service = 'auth' AND resource = 'tenants' THEN object
        ELSE coalesce(CAST(after AS json) ->> 'tenant_uuid', CAST(before AS json) ->> 'tenant_uuid') END AS uuid), tenant_uuid);
ALTER TABLE audit ENABLE TRIGGER audit_keep;

-- +goose Down
ALTER TABLE audit DROP COLUMN names;
DROP TRIGGER auth_user_uses_uuid ON auth_user;
DROP TRIGGER auth_tenant_uses_uuid ON auth_tenant;
DROP FUNCTION auth_use_uuid();
DROP TABLE auth_used_uuid;
