-- +goose Up
-- What is slowed down, on all nodes together. Only digests, so that nothing tells what was typed.
CREATE TABLE auth_limit (
    subject    @bytes NOT NULL, -- SHA-256 of what is limited: a login, a network, an address
    place      @bytes NOT NULL, -- SHA-256 of the network that a count is for, or of everywhere
    failures   bigint NOT NULL,
    open_at    bigint NOT NULL, -- in microseconds since 1970, as is expires_at
    expires_at bigint NOT NULL,
    PRIMARY KEY (subject, place)
);
CREATE INDEX auth_limit_expires ON auth_limit (expires_at);

-- What a mail lets its reader do, once.
CREATE TABLE auth_single_use (
    digest     @bytes NOT NULL PRIMARY KEY, -- SHA-256 of the token, which itself is nowhere
    kind       @text NOT NULL,
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    email_uuid @uuid NOT NULL REFERENCES auth_email (uuid) ON DELETE CASCADE, -- where it was sent
    expires_at @time NOT NULL
);
CREATE INDEX auth_single_use_user ON auth_single_use (user_uuid);
CREATE INDEX auth_single_use_email ON auth_single_use (email_uuid);
CREATE INDEX auth_single_use_expires ON auth_single_use (expires_at);
