-- +goose Up
DROP TRIGGER audit_keep_update;
UPDATE audit SET
    said = fold(trim(coalesce(json_extract(coalesce(after, before), '$.name'), json_extract(coalesce(after, before), '$.label'),
        json_extract(coalesce(after, before), '$.username'), json_extract(coalesce(after, before), '$.firstname'), '') || ' ' || action || ' ' || resource || ' ' || object)),
    about = ' ' || service || '/' || resource || '/' || object || ' ';
CREATE TRIGGER audit_keep_update BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is append-only');
END;
-- All columns but the two pictures, which are most of a row: what a search reads stands close together. PostgreSQL bounds the length of a row of
-- an index, and reads the table faster.
CREATE INDEX audit_found ON audit (at, id, tenant_uuid, actor_uuid, service, action, resource, object, names, said, about);
