-- +goose Up
-- Who vouches for a way to log in as a user. Nobody does if the user or the operator set it up.
CREATE TABLE auth_voucher (
    user_uuid  @uuid NOT NULL REFERENCES auth_user (uuid) ON DELETE CASCADE,
    subject    @text NOT NULL, -- 'password', 'username', 'method', 'email ' and its UUID, 'identity ' and the backend
    by_uuid    @uuid NOT NULL, -- no foreign key: a deleted user still counts (auth_departed)
    fresh      boolean NOT NULL, -- by_uuid created the user, who may hold accesses to their own objects that by_uuid lacks
    PRIMARY KEY (user_uuid, subject, by_uuid)
);
CREATE INDEX auth_voucher_by ON auth_voucher (by_uuid);

-- The accesses of deleted users who vouch for others.
CREATE TABLE auth_departed (
    user_uuid @uuid NOT NULL,
    access    @text NOT NULL,
    PRIMARY KEY (user_uuid, access)
);
CREATE INDEX auth_departed_access ON auth_departed (access, user_uuid);

ALTER TABLE auth_ldap_config ADD COLUMN set_by @uuid; -- the user who set it; null: the operator
ALTER TABLE auth_tenant ADD COLUMN method_set_by @uuid; -- the user who chose default_authentication_method
ALTER TABLE auth_token ADD COLUMN backend @text NOT NULL DEFAULT ''; -- the backend that checked the password
ALTER TABLE auth_refresh_token ADD COLUMN backend @text NOT NULL DEFAULT '';

-- begun_by is the user who began the authorization. browser is SHA-256 of the cookie of the browser in which the person agreed,
-- and null before that.
ALTER TABLE auth_external_pending ADD COLUMN begun_by @text;
ALTER TABLE auth_external_pending ADD COLUMN destination @bytes; -- the address of the external service, sealed
ALTER TABLE auth_external_pending ADD COLUMN browser @bytes;
