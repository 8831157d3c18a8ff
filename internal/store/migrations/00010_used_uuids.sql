-- +goose Up
-- Every UUID that a user or a tenant has, or ever had: none is used twice, whoever makes it and however the first one went.
CREATE TABLE auth_used_uuid (
    uuid @uuid NOT NULL PRIMARY KEY
);
