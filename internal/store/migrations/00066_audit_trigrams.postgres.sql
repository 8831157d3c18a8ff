-- +goose Up
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN -- see index_search
        CREATE INDEX audit_said ON audit USING gin (said gin_trgm_ops);
    END IF;
END
$$;
-- It has an entry for each object; trigrams of the keys would be dozens, and eight times as much to write.
CREATE INDEX audit_about ON audit USING gin (string_to_array(about, E'\n'));
