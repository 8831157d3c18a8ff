-- +goose Up
-- The ids of the keys with which values are sealed (package sealed). The keys are not in the database.
CREATE TABLE sealing_key (
    key_id @text NOT NULL PRIMARY KEY
);

-- A tenant's settings for one type of external authentication, such as its client_id.
CREATE TABLE auth_external_config (
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    auth_type   @text NOT NULL,
    sealed      @bytes NOT NULL,
    PRIMARY KEY (tenant_uuid, auth_type)
);

-- A user's credentials at an external service.
CREATE TABLE auth_external (
    user_uuid      @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    auth_type      @text NOT NULL,
    sealed         @bytes NOT NULL, -- never the same twice, so it shows whether the row has changed
    renewing_until @time, -- until then a node renews the credentials, and the others wait
    PRIMARY KEY (user_uuid, auth_type)
);
CREATE INDEX auth_external_type ON auth_external (auth_type, user_uuid);

-- Authorizations for which a user was sent to an external service.
CREATE TABLE auth_external_pending (
    digest      @bytes NOT NULL PRIMARY KEY, -- SHA-256 of the OAuth state, which is not stored
    user_uuid   @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    auth_type   @text NOT NULL,
    sealed      @bytes NOT NULL,
    expires_at  @time NOT NULL,
    begun_by    @text,  -- the users who vouch for it, with spaces between them
    destination @bytes, -- the address of the external service, sealed
    browser     @bytes  -- SHA-256 of the cookie of the browser in which the person agreed; null before that
);
CREATE INDEX auth_external_pending_user ON auth_external_pending (user_uuid, auth_type);
CREATE INDEX auth_external_pending_expires ON auth_external_pending (expires_at);
