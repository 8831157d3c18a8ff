-- +goose Up
CREATE TABLE auth_server (
    id   integer PRIMARY KEY CHECK (id = 1), -- one row: who this installation is
    uuid @uuid NOT NULL
);

CREATE TABLE auth_tenant (
    uuid                          @uuid NOT NULL PRIMARY KEY,
    parent_uuid                   @uuid NOT NULL REFERENCES auth_tenant (uuid), -- the master tenant is its own parent
    name                          @text,
    slug                          @text NOT NULL UNIQUE,
    phone                         @text,
    contact_uuid                  @uuid,
    line_1                        @text,
    line_2                        @text,
    city                          @text,
    state                         @text,
    country                       @text,
    zip_code                      @text,
    default_authentication_method @text NOT NULL DEFAULT 'native',
    remote                        boolean NOT NULL DEFAULT false -- of another auth server, which its tokens brought here: it lies where that server has it
);
CREATE INDEX auth_tenant_parent ON auth_tenant (parent_uuid);
CREATE UNIQUE INDEX auth_tenant_one_master ON auth_tenant ((uuid = parent_uuid)) WHERE uuid = parent_uuid;

CREATE TABLE auth_tenant_domain (
    uuid        @uuid NOT NULL PRIMARY KEY,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    name        @text NOT NULL,
    CONSTRAINT auth_tenant_domain_name UNIQUE (name)
);
CREATE INDEX auth_tenant_domain_tenant ON auth_tenant_domain (tenant_uuid);

CREATE TABLE auth_user (
    uuid                  @uuid NOT NULL PRIMARY KEY,
    tenant_uuid           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    username              @text,
    firstname             @text,
    lastname              @text,
    purpose               @text NOT NULL,
    enabled               boolean NOT NULL,
    authentication_method @text NOT NULL,
    password_hash         @text,
    created_at            @time NOT NULL
);
CREATE INDEX auth_user_tenant ON auth_user (tenant_uuid);

CREATE TABLE auth_email (
    uuid      @uuid NOT NULL PRIMARY KEY,
    user_uuid @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    address   @text NOT NULL,
    main      boolean NOT NULL,
    confirmed boolean NOT NULL,
    login     @text -- the canonical form of the address. Once it is confirmed, auth_login has it too, and the user can log in with it
);
CREATE INDEX auth_email_user ON auth_email (user_uuid);
CREATE INDEX auth_email_login ON auth_email (login);

-- A username or an email address by which a user logs in, in its canonical form. It belongs to one user.
CREATE TABLE auth_login (
    login      @text NOT NULL PRIMARY KEY,
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    email_uuid @uuid REFERENCES auth_email (uuid) ON DELETE CASCADE -- null: a username
);
CREATE INDEX auth_login_user ON auth_login (user_uuid);
CREATE INDEX auth_login_email ON auth_login (email_uuid);

CREATE TABLE auth_policy (
    uuid           @uuid NOT NULL PRIMARY KEY,
    tenant_uuid    @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name           @text NOT NULL,
    name_key       @text NOT NULL, -- the canonical form of the name, which must be unique
    slug           @text NOT NULL,
    slug_key       @text NOT NULL,
    description    @text,
    shared         boolean NOT NULL,
    config_managed boolean NOT NULL,
    CONSTRAINT auth_policy_name_key UNIQUE (tenant_uuid, name_key),
    CONSTRAINT auth_policy_slug_key UNIQUE (tenant_uuid, slug_key)
);

CREATE TABLE auth_policy_access (
    policy_uuid @uuid NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    access      @text NOT NULL,
    place       integer NOT NULL DEFAULT 0, -- a policy returns its accesses in the order in which they were sent
    PRIMARY KEY (policy_uuid, access)
);
-- Finds the few policies that allow everything: somebody must remain an administrator.
CREATE INDEX auth_policy_access_everything ON auth_policy_access (policy_uuid) WHERE access = '#';

CREATE TABLE auth_user_policy (
    user_uuid   @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    policy_uuid @uuid NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    PRIMARY KEY (user_uuid, policy_uuid)
);
CREATE INDEX auth_user_policy_policy ON auth_user_policy (policy_uuid);

-- Refresh tokens. A user has one for each client. It is found by the digest of its value. The value is kept, sealed, because a
-- client that logs in again gets the same one.
CREATE TABLE auth_refresh_token (
    uuid        @uuid NOT NULL PRIMARY KEY,
    digest      @bytes NOT NULL UNIQUE,
    sealed      @bytes NOT NULL,
    client_id   @text NOT NULL,
    user_uuid   @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    mobile      boolean NOT NULL,
    user_agent  @text NOT NULL,
    remote_addr @text NOT NULL,
    created_at  @time NOT NULL,
    backend     @text NOT NULL DEFAULT '', -- that checked the password
    CONSTRAINT auth_refresh_token_client UNIQUE (user_uuid, client_id)
);

-- A token and its session are one row, and end together.
CREATE TABLE auth_token (
    digest       @bytes NOT NULL PRIMARY KEY, -- SHA-256 of the token, which is not stored
    session_uuid @uuid NOT NULL UNIQUE,
    user_uuid    @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    issued_at    @time NOT NULL,
    expires_at   @time NOT NULL,
    mobile       boolean NOT NULL,
    user_agent   @text NOT NULL,
    remote_addr  @text NOT NULL,
    refresh_uuid @uuid REFERENCES auth_refresh_token (uuid) ON DELETE SET NULL,
    backend      @text NOT NULL DEFAULT '' -- that checked the password
);
CREATE INDEX auth_token_user ON auth_token (user_uuid);
CREATE INDEX auth_token_expires ON auth_token (expires_at);
CREATE INDEX auth_token_refresh ON auth_token (refresh_uuid);
