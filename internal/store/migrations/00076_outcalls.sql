-- +goose Up
CREATE TABLE confd_outcall (
    id                    @key,
    tenant_uuid           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                  @text NOT NULL,
    internal_caller_id    boolean NOT NULL,
    preprocess_subroutine @text,
    ring_time             bigint,
    description           @text,
    enabled               boolean NOT NULL,
    max_calls             bigint,
    max_calls_per_minute  bigint,
    max_minutes_per_day   bigint,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_outcall_tenant ON confd_outcall (tenant_uuid, id);

CREATE TABLE confd_outcall_extension (
    extension_id    bigint NOT NULL PRIMARY KEY REFERENCES confd_extension (id) ON DELETE CASCADE,
    outcall_id      bigint NOT NULL REFERENCES confd_outcall (id) ON DELETE CASCADE,
    caller_id       @text,
    external_prefix @text,
    prefix          @text,
    strip_digits    bigint NOT NULL,
    UNIQUE (outcall_id, extension_id)
);

CREATE TABLE confd_outcall_trunk (
    outcall_id bigint NOT NULL REFERENCES confd_outcall (id) ON DELETE CASCADE,
    trunk_id   bigint NOT NULL REFERENCES confd_trunk (id) ON DELETE CASCADE,
    position   bigint NOT NULL,
    PRIMARY KEY (outcall_id, trunk_id)
);
CREATE INDEX confd_outcall_trunk_trunk ON confd_outcall_trunk (trunk_id);

CREATE TABLE confd_outcall_callpermission (
    outcall_id        bigint NOT NULL REFERENCES confd_outcall (id) ON DELETE CASCADE,
    callpermission_id bigint NOT NULL REFERENCES confd_callpermission (id) ON DELETE CASCADE,
    PRIMARY KEY (outcall_id, callpermission_id)
);
CREATE INDEX confd_outcall_callpermission_callpermission ON confd_outcall_callpermission (callpermission_id);

CREATE TABLE confd_outcall_schedule (
    outcall_id  bigint NOT NULL PRIMARY KEY REFERENCES confd_outcall (id) ON DELETE CASCADE,
    schedule_id bigint NOT NULL REFERENCES confd_schedule (id) ON DELETE CASCADE
);
CREATE INDEX confd_outcall_schedule_schedule ON confd_outcall_schedule (schedule_id);

ALTER TABLE confd_destination ADD COLUMN outcall_id bigint REFERENCES confd_outcall (id) ON DELETE CASCADE;
CREATE INDEX confd_destination_outcall ON confd_destination (outcall_id);
