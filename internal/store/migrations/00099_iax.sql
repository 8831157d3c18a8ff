-- +goose Up
CREATE TABLE confd_endpoint_iax (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL UNIQUE,
    type        @text NOT NULL,
    host        @text NOT NULL,
    options     @text NOT NULL -- a JSON list of pairs
);
CREATE INDEX confd_endpoint_iax_tenant ON confd_endpoint_iax (tenant_uuid, id);

CREATE TABLE confd_register_iax (
    id                 @key,
    tenant_uuid        @uuid NOT NULL REFERENCES auth_tenant (uuid),
    auth_username      @text,
    auth_password      @text,
    remote_host        @text NOT NULL,
    remote_port        bigint,
    callback_extension @text,
    callback_context   @text,
    enabled            boolean NOT NULL
);
CREATE INDEX confd_register_iax_tenant ON confd_register_iax (tenant_uuid, id);

ALTER TABLE confd_trunk_endpoint ADD COLUMN iax_id bigint REFERENCES confd_endpoint_iax (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_trunk_endpoint_iax ON confd_trunk_endpoint (iax_id);

CREATE TABLE confd_trunk_register_iax (
    trunk_id    bigint NOT NULL PRIMARY KEY REFERENCES confd_trunk (id) ON DELETE CASCADE,
    register_id bigint NOT NULL UNIQUE REFERENCES confd_register_iax (id) ON DELETE CASCADE
);

CREATE TABLE confd_asterisk_iax_general (
    tenant_uuid     @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options         @text NOT NULL,
    ordered_options @text NOT NULL
);
CREATE TABLE confd_iax_callnumberlimits (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    items       @text NOT NULL
);
