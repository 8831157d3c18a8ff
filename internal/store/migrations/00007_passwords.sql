-- +goose Up
-- Failed attempts, counted for all nodes. Only digests are stored, so that nothing shows what was typed.
CREATE TABLE auth_limit (
    subject    @bytes NOT NULL, -- SHA-256 of what is limited: a login, a network, an email address
    place      @bytes NOT NULL, -- SHA-256 of the network for which attempts are counted, or of a word for all networks
    failures   bigint NOT NULL,
    open_at    bigint NOT NULL, -- microseconds since 1970; so is expires_at
    expires_at bigint NOT NULL,
    PRIMARY KEY (subject, place)
);
CREATE INDEX auth_limit_expires ON auth_limit (expires_at);

-- Tokens in mails, which can be used once.
CREATE TABLE auth_single_use (
    digest     @bytes NOT NULL PRIMARY KEY, -- SHA-256 of the token, which is not stored
    kind       @text NOT NULL,
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    email_uuid @uuid NOT NULL REFERENCES auth_email (uuid) ON DELETE CASCADE, -- the address to which it was sent
    expires_at @time NOT NULL
);
CREATE INDEX auth_single_use_user ON auth_single_use (user_uuid);
CREATE INDEX auth_single_use_email ON auth_single_use (email_uuid);
CREATE INDEX auth_single_use_expires ON auth_single_use (expires_at);
