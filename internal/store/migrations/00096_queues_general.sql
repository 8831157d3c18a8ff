-- +goose Up
CREATE TABLE confd_asterisk_queues_general (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
-- Our own: agents pause by it, and take calls again.
INSERT INTO confd_extension_feature (uuid, feature, exten, context, enabled) VALUES
    ('0b1f8c6e-6a0d-4d4b-8b0e-1d7a3f5c9e21', 'agentpause', '_*33.', 'xivo-features', true);
