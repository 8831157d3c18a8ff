-- +goose Up
-- Every UUID that a user or a tenant has or had. No UUID is used twice.
CREATE TABLE auth_used_uuid (
    uuid @uuid NOT NULL PRIMARY KEY
);
