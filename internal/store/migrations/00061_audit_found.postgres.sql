-- +goose Up
ALTER TABLE audit DISABLE TRIGGER audit_keep;
UPDATE audit SET
    said = fold(trim(coalesce(CAST(coalesce(after, before) AS json) ->> 'name', CAST(coalesce(after, before) AS json) ->> 'label',
        CAST(coalesce(after, before) AS json) ->> 'username', CAST(coalesce(after, before) AS json) ->> 'firstname', '') || ' ' || action || ' ' || resource || ' ' || object)),
    about = ' ' || service || '/' || resource || '/' || object || ' ';
ALTER TABLE audit ENABLE TRIGGER audit_keep;
