-- +goose Up
CREATE TABLE confd_skill (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL,
    description @text,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_skill_tenant ON confd_skill (tenant_uuid, id);

CREATE TABLE confd_agent_skill (
    agent_id     bigint NOT NULL REFERENCES confd_agent (id) ON DELETE CASCADE,
    skill_id     bigint NOT NULL REFERENCES confd_skill (id) ON DELETE CASCADE,
    skill_weight bigint NOT NULL,
    PRIMARY KEY (agent_id, skill_id)
);
CREATE INDEX confd_agent_skill_skill ON confd_agent_skill (skill_id);
