-- +goose Up
-- Tenants of another auth server, which its tokens brought here: they lie where that server has them.
ALTER TABLE auth_tenant ADD COLUMN remote boolean NOT NULL DEFAULT false;
