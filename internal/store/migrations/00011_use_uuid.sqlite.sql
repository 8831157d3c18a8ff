-- +goose Up
CREATE TRIGGER auth_user_uses_uuid AFTER INSERT ON auth_user BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
END;
CREATE TRIGGER auth_tenant_uses_uuid AFTER INSERT ON auth_tenant BEGIN
    INSERT INTO auth_used_uuid (uuid) VALUES (NEW.uuid);
END;
