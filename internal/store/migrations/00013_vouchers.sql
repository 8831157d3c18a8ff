-- +goose Up
-- Who vouches for what lets somebody in as a user, beside the user. Nobody here: the user, or the operator.
CREATE TABLE auth_voucher (
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    subject    @text NOT NULL, -- 'password', 'username', 'method', 'email ' and its UUID, 'identity ' and the backend
    by_uuid    @uuid NOT NULL, -- refers to nothing: who is gone still counts, by auth_departed
    fresh      boolean NOT NULL, -- by_uuid made the user: what the user holds over the user alone is not asked about
    PRIMARY KEY (user_uuid, subject, by_uuid)
);
CREATE INDEX auth_voucher_by ON auth_voucher (by_uuid);

-- What users held when they were deleted, of those who vouch for others.
CREATE TABLE auth_departed (
    user_uuid @uuid NOT NULL,
    access    @text NOT NULL,
    PRIMARY KEY (user_uuid, access)
);
CREATE INDEX auth_departed_access ON auth_departed (access, user_uuid);

ALTER TABLE auth_ldap_config ADD COLUMN set_by @uuid; -- null: the operator
ALTER TABLE auth_tenant ADD COLUMN method_set_by @uuid; -- who chose default_authentication_method
ALTER TABLE auth_token ADD COLUMN backend @text NOT NULL DEFAULT ''; -- which knew the password
ALTER TABLE auth_refresh_token ADD COLUMN backend @text NOT NULL DEFAULT '';

-- Who began a link, where the external service is, and which browser has agreed: SHA-256 of its cookie, null before.
ALTER TABLE auth_external_pending ADD COLUMN begun_by @text;
ALTER TABLE auth_external_pending ADD COLUMN destination @bytes; -- sealed
ALTER TABLE auth_external_pending ADD COLUMN browser @bytes;
