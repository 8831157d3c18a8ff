-- +goose Up
-- The canonical form of an address. auth_login has it too once the address is confirmed: before that it is nobody's login.
ALTER TABLE auth_email ADD COLUMN login @text;
CREATE INDEX auth_email_login ON auth_email (login);

-- What the operator's configuration gives: groups of every tenant, and policies of groups.
ALTER TABLE auth_group ADD COLUMN config_managed boolean NOT NULL DEFAULT false;
ALTER TABLE auth_group_policy ADD COLUMN config_managed boolean NOT NULL DEFAULT false;

-- A policy's accesses are answered in the order in which they were sent.
ALTER TABLE auth_policy_access ADD COLUMN place integer NOT NULL DEFAULT 0;
