-- +goose Up
-- The settings of the whole installation belong to the master tenant.
CREATE TABLE confd_voicemail_general (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL -- a JSON object
);

CREATE TABLE confd_voicemail_zonemessages (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    items       @text NOT NULL -- a JSON list
);
