-- +goose Up
CREATE TABLE confd_emergency_number (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    number      @text NOT NULL,
    name        @text,
    caller_id   @text,
    context     @text
);
CREATE INDEX confd_emergency_number_tenant ON confd_emergency_number (tenant_uuid, id);
CREATE INDEX confd_emergency_number_number ON confd_emergency_number (number);
CREATE INDEX confd_emergency_number_context ON confd_emergency_number (context);

CREATE TABLE confd_emergency_number_trunk (
    emergency_number_id bigint NOT NULL REFERENCES confd_emergency_number (id) ON DELETE CASCADE,
    trunk_id            bigint NOT NULL REFERENCES confd_trunk (id) ON DELETE CASCADE,
    position            bigint NOT NULL,
    PRIMARY KEY (emergency_number_id, trunk_id)
);
CREATE INDEX confd_emergency_number_trunk_trunk ON confd_emergency_number_trunk (trunk_id);

CREATE TABLE confd_emergency_number_user (
    emergency_number_id bigint NOT NULL REFERENCES confd_emergency_number (id) ON DELETE CASCADE,
    user_id             bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (emergency_number_id, user_id)
);
CREATE INDEX confd_emergency_number_user_user ON confd_emergency_number_user (user_id);
