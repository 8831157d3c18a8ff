-- +goose Up
CREATE TABLE confd_blocklist_number (
    uuid        @uuid NOT NULL PRIMARY KEY,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    user_id     bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    number      @text NOT NULL,
    label       @text,
    UNIQUE (user_id, number)
);
CREATE INDEX confd_blocklist_number_number ON confd_blocklist_number (tenant_uuid, fold(number), uuid);

-- A configuration is a JSON object, or null.
CREATE TABLE confd_external_app (
    uuid          @uuid NOT NULL PRIMARY KEY,
    tenant_uuid   @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name          @text NOT NULL,
    label         @text,
    configuration @text NOT NULL,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_external_app_name ON confd_external_app (tenant_uuid, fold(name), uuid);

CREATE TABLE confd_user_external_app (
    uuid          @uuid NOT NULL PRIMARY KEY,
    tenant_uuid   @uuid NOT NULL REFERENCES auth_tenant (uuid),
    user_id       bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    name          @text NOT NULL,
    label         @text,
    configuration @text NOT NULL,
    UNIQUE (user_id, name)
);
CREATE INDEX confd_user_external_app_tenant ON confd_user_external_app (tenant_uuid, uuid);
