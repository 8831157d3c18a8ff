-- +goose Up
-- count_change writes a row that a statement inserted or deleted to row_count.
CREATE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO row_count (table_name, tenant_uuid, n) VALUES (TG_TABLE_NAME, NEW.tenant_uuid, 1);
    ELSE
        INSERT INTO row_count (table_name, tenant_uuid, n) VALUES (TG_TABLE_NAME, OLD.tenant_uuid, -1);
    END IF;
    RETURN NULL;
END
$$;
