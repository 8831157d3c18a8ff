-- +goose Up
CREATE TABLE confd_sound (
    uuid        @uuid NOT NULL PRIMARY KEY,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    name        @text NOT NULL,
    files       @text NOT NULL, -- a JSON list
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_sound_name ON confd_sound (tenant_uuid, fold(name), uuid);

-- Each tenant has the category of Asterisk's own sounds. A new one gets it with its other default objects.
-- It has a UUID made of the tenant's.
INSERT INTO confd_sound (uuid, tenant_uuid, name, files)
    SELECT CAST(substr(CAST(uuid AS text), 29) || substr(CAST(uuid AS text), 9, 20) || substr(CAST(uuid AS text), 1, 8) AS @uuid), uuid, 'system', '[]'
    FROM confd_tenant;
