-- +goose Up
-- json_each returns the items of a JSON list, as SQLite's function does.
CREATE FUNCTION json_each(list text) RETURNS TABLE (value json)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT x.value FROM json_array_elements(CAST(list AS json)) AS x';

CREATE FUNCTION as_uuid(x text) RETURNS uuid
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT CAST(x AS uuid)';
