-- +goose Up
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN -- see index_search
        CREATE INDEX audit_said ON audit USING gin (said gin_trgm_ops);
        CREATE INDEX audit_about ON audit USING gin (about gin_trgm_ops);
    END IF;
END
$$;
