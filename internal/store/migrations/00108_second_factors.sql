-- +goose Up
-- The second factors of users: codes that change with the time (RFC 6238). Who has one that is confirmed logs in by a password only with a code.
CREATE TABLE auth_second_factor (
    user_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_user (uuid) ON DELETE CASCADE,
    sealed    @bytes NOT NULL, -- the secret
    confirmed boolean NOT NULL,
    used_step bigint NOT NULL -- of the last code that was used, in steps of 30 seconds since 1970; neither it nor an earlier one counts again
);

-- What a user may send once in place of a code.
CREATE TABLE auth_recovery_code (
    user_uuid @uuid NOT NULL REFERENCES auth_second_factor (user_uuid) ON DELETE CASCADE,
    digest    @bytes NOT NULL, -- SHA-256 of the code, which is not stored
    PRIMARY KEY (user_uuid, digest)
);
