-- +goose Up
CREATE TABLE confd_schedule (
    id                  @key,
    tenant_uuid         @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                @text,
    timezone            @text,
    open_periods        @text NOT NULL, -- JSON
    exceptional_periods @text NOT NULL, -- JSON
    enabled             boolean NOT NULL
);
CREATE INDEX confd_schedule_tenant ON confd_schedule (tenant_uuid, id);

ALTER TABLE confd_destination ADD COLUMN of_schedule_id bigint REFERENCES confd_schedule (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_schedule ON confd_destination (of_schedule_id, slot);

CREATE TABLE confd_user_schedule (
    user_id     bigint NOT NULL PRIMARY KEY REFERENCES confd_user (id) ON DELETE CASCADE,
    schedule_id bigint NOT NULL REFERENCES confd_schedule (id) ON DELETE CASCADE
);
CREATE INDEX confd_user_schedule_schedule ON confd_user_schedule (schedule_id);

CREATE TABLE confd_group_schedule (
    group_uuid  @uuid NOT NULL PRIMARY KEY REFERENCES confd_group (uuid) ON DELETE CASCADE,
    schedule_id bigint NOT NULL REFERENCES confd_schedule (id) ON DELETE CASCADE
);
CREATE INDEX confd_group_schedule_schedule ON confd_group_schedule (schedule_id);

CREATE TABLE confd_incall_schedule (
    incall_id   bigint NOT NULL PRIMARY KEY REFERENCES confd_incall (id) ON DELETE CASCADE,
    schedule_id bigint NOT NULL REFERENCES confd_schedule (id) ON DELETE CASCADE
);
CREATE INDEX confd_incall_schedule_schedule ON confd_incall_schedule (schedule_id);
