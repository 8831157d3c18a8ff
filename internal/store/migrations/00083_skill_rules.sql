-- +goose Up
CREATE TABLE confd_skill_rule (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL,
    rules       @text NOT NULL
);
CREATE INDEX confd_skill_rule_tenant ON confd_skill_rule (tenant_uuid, id);
