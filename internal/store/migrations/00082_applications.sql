-- +goose Up
CREATE TABLE confd_application (
    uuid          @uuid NOT NULL PRIMARY KEY,
    tenant_uuid   @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name          @text,
    destination   @text,
    type          @text,
    music_on_hold @text,
    answer        boolean NOT NULL
);
CREATE INDEX confd_application_tenant ON confd_application (tenant_uuid, uuid);

CREATE TABLE confd_line_application (
    line_id          bigint NOT NULL PRIMARY KEY REFERENCES confd_line (id) ON DELETE CASCADE,
    application_uuid @uuid NOT NULL REFERENCES confd_application (uuid) ON DELETE CASCADE
);
CREATE INDEX confd_line_application_application ON confd_line_application (application_uuid);

ALTER TABLE confd_destination ADD COLUMN application_uuid @uuid REFERENCES confd_application (uuid) ON DELETE CASCADE;
CREATE INDEX confd_destination_application ON confd_destination (application_uuid);
