-- +goose Up
-- A tenant's directory.
CREATE TABLE auth_ldap_config (
    tenant_uuid          @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    host                 @text NOT NULL,
    port                 integer NOT NULL,
    protocol_version     integer NOT NULL,
    protocol_security    @text,
    bind_dn              @text,
    bind_password        @bytes, -- sealed
    user_base_dn         @text NOT NULL,
    user_login_attribute @text NOT NULL,
    user_email_attribute @text NOT NULL,
    search_filters       @text
);

-- Who a backend's entry is here. An entry is one user, and a user is one entry of a backend.
CREATE TABLE auth_identity (
    backend     @text NOT NULL,
    realm       @text NOT NULL, -- the tenant whose directory has the entry; empty: the installation's
    external_id @text NOT NULL, -- what the entry is called there for ever
    user_uuid   @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    PRIMARY KEY (backend, realm, external_id),
    CONSTRAINT auth_identity_user UNIQUE (user_uuid, backend)
);
