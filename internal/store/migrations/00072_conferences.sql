-- +goose Up
CREATE TABLE confd_conference (
    id                    @key,
    tenant_uuid           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                  @text,
    preprocess_subroutine @text,
    max_users             bigint NOT NULL,
    record                boolean NOT NULL,
    pin                   @text,
    admin_pin             @text,
    quiet_join_leave      boolean NOT NULL,
    announce_join_leave   boolean NOT NULL,
    announce_user_count   boolean NOT NULL,
    announce_only_user    boolean NOT NULL,
    music_on_hold         @text
);
CREATE INDEX confd_conference_tenant ON confd_conference (tenant_uuid, id);

CREATE TABLE confd_conference_extension (
    conference_id bigint NOT NULL PRIMARY KEY REFERENCES confd_conference (id) ON DELETE CASCADE,
    extension_id  bigint NOT NULL UNIQUE REFERENCES confd_extension (id) ON DELETE CASCADE
);

ALTER TABLE confd_destination ADD COLUMN conference_id bigint REFERENCES confd_conference (id) ON DELETE CASCADE;
CREATE INDEX confd_destination_conference ON confd_destination (conference_id);

ALTER TABLE confd_func_key ADD COLUMN conference_id bigint REFERENCES confd_conference (id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_conference ON confd_func_key (conference_id);
