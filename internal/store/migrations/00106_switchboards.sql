-- +goose Up
CREATE TABLE confd_switchboard (
    id                         @key, -- the number behind the service code
    uuid                       @uuid NOT NULL UNIQUE,
    tenant_uuid                @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                       @text NOT NULL,
    timeout                    bigint,
    queue_music_on_hold        @text,
    waiting_room_music_on_hold @text
);
CREATE INDEX confd_switchboard_tenant ON confd_switchboard (tenant_uuid, uuid);

CREATE TABLE confd_switchboard_user (
    switchboard_uuid @uuid NOT NULL REFERENCES confd_switchboard (uuid) ON DELETE CASCADE,
    user_id          bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (switchboard_uuid, user_id)
);
CREATE INDEX confd_switchboard_user_user ON confd_switchboard_user (user_id);

ALTER TABLE confd_destination ADD COLUMN of_switchboard_uuid @uuid REFERENCES confd_switchboard (uuid) ON DELETE CASCADE;
ALTER TABLE confd_destination ADD COLUMN switchboard_uuid @uuid REFERENCES confd_switchboard (uuid) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_of_switchboard ON confd_destination (of_switchboard_uuid, slot);
CREATE INDEX confd_destination_switchboard ON confd_destination (switchboard_uuid);

INSERT INTO confd_extension_feature (uuid, feature, exten, context, enabled)
    SELECT '5d1d1f4e-6f0f-4c0b-9a53-7f0e5d0c2b38', 'switchboard', '_*38.', 'xivo-features', true
    WHERE NOT EXISTS (SELECT 1 FROM confd_extension_feature WHERE exten = '_*38.');
