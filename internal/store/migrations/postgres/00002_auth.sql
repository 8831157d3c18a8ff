-- +goose Up
-- Text is COLLATE "C": it sorts by its bytes, as it does in SQLite, whatever the server's locale is.
CREATE TABLE auth_server (
    id   integer PRIMARY KEY CHECK (id = 1), -- one row: who this installation is
    uuid uuid NOT NULL
);

CREATE TABLE auth_tenant (
    uuid        uuid PRIMARY KEY,
    parent_uuid uuid NOT NULL REFERENCES auth_tenant (uuid), -- the master tenant is its own parent
    name        text COLLATE "C",
    slug        text COLLATE "C" NOT NULL UNIQUE
);
CREATE INDEX auth_tenant_parent ON auth_tenant (parent_uuid);
CREATE UNIQUE INDEX auth_tenant_one_master ON auth_tenant ((uuid = parent_uuid)) WHERE uuid = parent_uuid;

CREATE TABLE auth_user (
    uuid                  uuid PRIMARY KEY,
    tenant_uuid           uuid NOT NULL REFERENCES auth_tenant (uuid),
    username              text COLLATE "C",
    firstname             text COLLATE "C",
    lastname              text COLLATE "C",
    purpose               text COLLATE "C" NOT NULL,
    enabled               boolean NOT NULL,
    authentication_method text COLLATE "C" NOT NULL,
    password_hash         text COLLATE "C",
    created_at            timestamptz NOT NULL
);
CREATE INDEX auth_user_tenant ON auth_user (tenant_uuid);

CREATE TABLE auth_email (
    uuid      uuid PRIMARY KEY,
    user_uuid uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    address   text COLLATE "C" NOT NULL,
    main      boolean NOT NULL,
    confirmed boolean NOT NULL
);
CREATE INDEX auth_email_user ON auth_email (user_uuid);

-- A login, in its canonical form, belongs to one user, whether it is a username or an address.
CREATE TABLE auth_login (
    login      text COLLATE "C" PRIMARY KEY,
    user_uuid  uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    email_uuid uuid REFERENCES auth_email (uuid) ON DELETE CASCADE -- null: a username
);
CREATE INDEX auth_login_user ON auth_login (user_uuid);
CREATE INDEX auth_login_email ON auth_login (email_uuid);

CREATE TABLE auth_policy (
    uuid           uuid PRIMARY KEY,
    tenant_uuid    uuid NOT NULL REFERENCES auth_tenant (uuid),
    name           text COLLATE "C" NOT NULL,
    name_key       text COLLATE "C" NOT NULL, -- the name's canonical form, which is what must be unique
    slug           text COLLATE "C" NOT NULL,
    slug_key       text COLLATE "C" NOT NULL,
    description    text COLLATE "C",
    shared         boolean NOT NULL,
    config_managed boolean NOT NULL,
    CONSTRAINT auth_policy_name_key UNIQUE (tenant_uuid, name_key),
    CONSTRAINT auth_policy_slug_key UNIQUE (tenant_uuid, slug_key)
);

CREATE TABLE auth_policy_access (
    policy_uuid uuid NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    access      text COLLATE "C" NOT NULL,
    PRIMARY KEY (policy_uuid, access)
);

CREATE TABLE auth_user_policy (
    user_uuid   uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    policy_uuid uuid NOT NULL REFERENCES auth_policy (uuid) ON DELETE CASCADE,
    PRIMARY KEY (user_uuid, policy_uuid)
);
CREATE INDEX auth_user_policy_policy ON auth_user_policy (policy_uuid);

-- A token and its session are one row: neither lives without the other.
CREATE TABLE auth_token (
    digest       bytea PRIMARY KEY, -- SHA-256 of the token, which itself is nowhere
    session_uuid uuid NOT NULL UNIQUE,
    user_uuid    uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    issued_at    timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    mobile       boolean NOT NULL,
    user_agent   text COLLATE "C" NOT NULL,
    remote_addr  text COLLATE "C" NOT NULL
);
CREATE INDEX auth_token_user ON auth_token (user_uuid);
CREATE INDEX auth_token_expires ON auth_token (expires_at);

-- +goose Down
DROP TABLE auth_token, auth_user_policy, auth_policy_access, auth_policy, auth_login, auth_email, auth_user, auth_tenant, auth_server;
