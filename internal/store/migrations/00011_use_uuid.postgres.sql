-- +goose Up
CREATE FUNCTION auth_use_uuid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
    RETURN NULL;
END
$$;
CREATE TRIGGER auth_user_uses_uuid AFTER INSERT ON auth_user FOR EACH ROW EXECUTE FUNCTION auth_use_uuid();
CREATE TRIGGER auth_tenant_uses_uuid AFTER INSERT ON auth_tenant FOR EACH ROW EXECUTE FUNCTION auth_use_uuid();
