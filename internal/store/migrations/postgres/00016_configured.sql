-- +goose Up
-- The canonical form of an address. auth_login has it too once the address is confirmed: before that it is nobody's login.
ALTER TABLE auth_email ADD COLUMN login text COLLATE "C";
UPDATE auth_email SET login = (SELECT l.login FROM auth_login l WHERE l.email_uuid = auth_email.uuid);
DELETE FROM auth_login WHERE email_uuid IN (SELECT uuid FROM auth_email WHERE NOT confirmed);
CREATE INDEX auth_email_login ON auth_email (login);

-- What the operator's configuration gives: groups of every tenant, and policies of groups.
ALTER TABLE auth_group ADD COLUMN config_managed boolean NOT NULL DEFAULT false;
ALTER TABLE auth_group_policy ADD COLUMN config_managed boolean NOT NULL DEFAULT false;

-- A policy's accesses are answered in the order in which they were sent.
ALTER TABLE auth_policy_access ADD COLUMN place integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE auth_policy_access DROP COLUMN place;
ALTER TABLE auth_group_policy DROP COLUMN config_managed;
ALTER TABLE auth_group DROP COLUMN config_managed;
DROP INDEX auth_email_login;
ALTER TABLE auth_email DROP COLUMN login;
