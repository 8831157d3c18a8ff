-- +goose Up
-- The canonical form of the address. Once the address is confirmed, auth_login has it too, and the user can log in with it.
ALTER TABLE auth_email ADD COLUMN login @text;
CREATE INDEX auth_email_login ON auth_email (login);

-- Groups and policies of groups that the operator's configuration creates.
ALTER TABLE auth_group ADD COLUMN config_managed boolean NOT NULL DEFAULT false;
ALTER TABLE auth_group_policy ADD COLUMN config_managed boolean NOT NULL DEFAULT false;

-- A policy returns its accesses in the order in which they were sent.
ALTER TABLE auth_policy_access ADD COLUMN place integer NOT NULL DEFAULT 0;
