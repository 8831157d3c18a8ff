-- +goose Up
-- The LDAP directory of a tenant.
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

-- Which user an entry of a backend is. A user has at most one entry in each backend.
CREATE TABLE auth_identity (
    backend     @text NOT NULL,
    realm       @text NOT NULL, -- the tenant of the directory; empty: a backend of the whole installation
    external_id @text NOT NULL, -- the entry's permanent id in the backend
    user_uuid   @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    PRIMARY KEY (backend, realm, external_id),
    CONSTRAINT auth_identity_user UNIQUE (user_uuid, backend)
);
