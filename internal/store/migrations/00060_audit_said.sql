-- +goose Up
-- What a search of the audit looks in, folded: what people call the object, the operation, the resource and the key.
ALTER TABLE audit ADD COLUMN said @text NOT NULL DEFAULT '';
-- Every object that a change is about: " confd/groups/5 confd/users/17 ".
ALTER TABLE audit ADD COLUMN about @text NOT NULL DEFAULT '';
CREATE INDEX audit_key ON audit (object, id);
CREATE INDEX audit_at ON audit (at, id);
