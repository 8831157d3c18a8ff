-- +goose Up
CREATE TABLE confd_trunk (
    id                        @key,
    tenant_uuid               @uuid NOT NULL REFERENCES auth_tenant (uuid),
    context                   @text,
    twilio_incoming           boolean NOT NULL,
    outgoing_caller_id_format @text NOT NULL,
    max_calls                 bigint,
    max_calls_per_minute      bigint,
    max_minutes_per_day       bigint
);
CREATE INDEX confd_trunk_tenant ON confd_trunk (tenant_uuid, id);
CREATE INDEX confd_trunk_context ON confd_trunk (context);

-- The endpoint of a trunk. Each kind of endpoint has a column, and one of them is set.
CREATE TABLE confd_trunk_endpoint (
    trunk_id  bigint NOT NULL PRIMARY KEY REFERENCES confd_trunk (id) ON DELETE CASCADE,
    sip_uuid  @uuid UNIQUE REFERENCES confd_endpoint_sip (uuid) ON DELETE CASCADE,
    custom_id bigint UNIQUE REFERENCES confd_endpoint_custom (id) ON DELETE CASCADE
);
