-- +goose Up
CREATE TABLE confd_agent (
    id                    @key,
    tenant_uuid           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    number                @text NOT NULL,
    firstname             @text,
    lastname              @text,
    password              @text,
    language              @text,
    preprocess_subroutine @text,
    description           @text,
    UNIQUE (tenant_uuid, number)
);
CREATE INDEX confd_agent_tenant ON confd_agent (tenant_uuid, id);

CREATE TABLE confd_user_agent (
    user_id  bigint NOT NULL PRIMARY KEY REFERENCES confd_user (id) ON DELETE CASCADE,
    agent_id bigint NOT NULL REFERENCES confd_agent (id) ON DELETE CASCADE
);
CREATE INDEX confd_user_agent_agent ON confd_user_agent (agent_id);

ALTER TABLE confd_func_key ADD COLUMN agent_id bigint REFERENCES confd_agent (id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_agent ON confd_func_key (agent_id);
