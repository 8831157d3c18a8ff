-- +goose Up
CREATE FUNCTION audit_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only';
END
$$;
CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keep();
