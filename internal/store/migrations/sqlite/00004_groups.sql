-- +goose Up
CREATE TABLE auth_group (
    uuid           text NOT NULL PRIMARY KEY,
    tenant_uuid    text NOT NULL REFERENCES auth_tenant (uuid),
    name           text NOT NULL,
    name_key       text NOT NULL, -- the name's canonical form, which is what must be unique
    slug           text NOT NULL,
    slug_key       text NOT NULL,
    system_managed boolean NOT NULL,
    CONSTRAINT auth_group_name_key UNIQUE (tenant_uuid, name_key),
    CONSTRAINT auth_group_slug_key UNIQUE (tenant_uuid, slug_key)
);

CREATE TABLE auth_group_user (
    group_uuid text NOT NULL REFERENCES auth_group (uuid) ON DELETE CASCADE,
    user_uuid  text NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    PRIMARY KEY (group_uuid, user_uuid)
);
CREATE INDEX auth_group_user_user ON auth_group_user (user_uuid);

CREATE TABLE auth_group_policy (
    group_uuid  text NOT NULL REFERENCES auth_group (uuid) ON DELETE CASCADE,
    policy_uuid text NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    PRIMARY KEY (group_uuid, policy_uuid)
);
CREATE INDEX auth_group_policy_policy ON auth_group_policy (policy_uuid);

-- Who holds which policy, and through which group: null for a policy that is the user's own.
CREATE VIEW auth_holding AS
    SELECT user_uuid, policy_uuid, NULL AS group_uuid FROM auth_user_policy
    UNION ALL
    SELECT gu.user_uuid, gp.policy_uuid, gu.group_uuid
    FROM auth_group_user gu JOIN auth_group_policy gp ON gp.group_uuid = gu.group_uuid;

ALTER TABLE auth_tenant ADD COLUMN phone text;
ALTER TABLE auth_tenant ADD COLUMN contact_uuid text;
ALTER TABLE auth_tenant ADD COLUMN default_authentication_method text NOT NULL DEFAULT 'native';
ALTER TABLE auth_tenant ADD COLUMN line_1 text;
ALTER TABLE auth_tenant ADD COLUMN line_2 text;
ALTER TABLE auth_tenant ADD COLUMN city text;
ALTER TABLE auth_tenant ADD COLUMN state text;
ALTER TABLE auth_tenant ADD COLUMN country text;
ALTER TABLE auth_tenant ADD COLUMN zip_code text;

CREATE TABLE auth_tenant_domain (
    uuid        text NOT NULL PRIMARY KEY,
    tenant_uuid text NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    name        text NOT NULL,
    CONSTRAINT auth_tenant_domain_name UNIQUE (name)
);
CREATE INDEX auth_tenant_domain_tenant ON auth_tenant_domain (tenant_uuid);

-- Every tenant has a group of all its users, which nobody changes by hand.
INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed)
SELECT uuid, uuid, 'all-users-tenant-' || CAST(uuid AS text), 'all-users-tenant-' || CAST(uuid AS text),
       'all-users-tenant-' || CAST(uuid AS text), 'all-users-tenant-' || CAST(uuid AS text), true
FROM auth_tenant;
INSERT INTO auth_group_user (group_uuid, user_uuid) SELECT tenant_uuid, uuid FROM auth_user;

-- A refresh token, of which a user has one for each client. Its value is sealed, because a client that logs in again is
-- given the same one, and found by its digest.
CREATE TABLE auth_refresh_token (
    uuid        text NOT NULL PRIMARY KEY,
    digest      blob NOT NULL UNIQUE,
    sealed      blob NOT NULL,
    client_id   text NOT NULL,
    user_uuid   text NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    mobile      boolean NOT NULL,
    user_agent  text NOT NULL,
    remote_addr text NOT NULL,
    created_at  timestamp NOT NULL,
    CONSTRAINT auth_refresh_token_client UNIQUE (user_uuid, client_id)
);
ALTER TABLE auth_token ADD COLUMN refresh_uuid text REFERENCES auth_refresh_token (uuid) ON DELETE SET NULL;
CREATE INDEX auth_token_refresh ON auth_token (refresh_uuid);

-- +goose Down
DROP INDEX auth_token_refresh;
ALTER TABLE auth_token DROP COLUMN refresh_uuid;
DROP TABLE auth_refresh_token;
DROP TABLE auth_tenant_domain;
ALTER TABLE auth_tenant DROP COLUMN phone;
ALTER TABLE auth_tenant DROP COLUMN contact_uuid;
ALTER TABLE auth_tenant DROP COLUMN default_authentication_method;
ALTER TABLE auth_tenant DROP COLUMN line_1;
ALTER TABLE auth_tenant DROP COLUMN line_2;
ALTER TABLE auth_tenant DROP COLUMN city;
ALTER TABLE auth_tenant DROP COLUMN state;
ALTER TABLE auth_tenant DROP COLUMN country;
ALTER TABLE auth_tenant DROP COLUMN zip_code;
DROP VIEW auth_holding;
DROP TABLE auth_group_policy;
DROP TABLE auth_group_user;
DROP TABLE auth_group;
