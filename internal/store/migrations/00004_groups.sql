-- +goose Up
CREATE TABLE auth_group (
    uuid           @uuid NOT NULL PRIMARY KEY,
    tenant_uuid    @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name           @text NOT NULL,
    name_key       @text NOT NULL, -- the canonical form of the name, which must be unique
    slug           @text NOT NULL,
    slug_key       @text NOT NULL,
    system_managed boolean NOT NULL,
    config_managed boolean NOT NULL DEFAULT false, -- made by the operator's configuration
    CONSTRAINT auth_group_name_key UNIQUE (tenant_uuid, name_key),
    CONSTRAINT auth_group_slug_key UNIQUE (tenant_uuid, slug_key)
);

CREATE TABLE auth_group_user (
    group_uuid @uuid NOT NULL REFERENCES auth_group (uuid) ON DELETE CASCADE,
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    PRIMARY KEY (group_uuid, user_uuid)
);
CREATE INDEX auth_group_user_user ON auth_group_user (user_uuid);

CREATE TABLE auth_group_policy (
    group_uuid     @uuid NOT NULL REFERENCES auth_group (uuid) ON DELETE CASCADE,
    policy_uuid    @uuid NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    config_managed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (group_uuid, policy_uuid)
);
CREATE INDEX auth_group_policy_policy ON auth_group_policy (policy_uuid);
