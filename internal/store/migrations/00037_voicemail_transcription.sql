-- +goose Up
-- Whether the messages of a tenant's voicemails are to be written down.
CREATE TABLE confd_voicemail_transcription (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    enabled     boolean NOT NULL
);
