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

-- The accesses of deleted users who vouch for others, and where they were.
CREATE TABLE auth_departed (
    user_uuid   @uuid NOT NULL,
    access      @text NOT NULL,
    tenant_uuid @uuid,
    PRIMARY KEY (user_uuid, access)
);
CREATE INDEX auth_departed_access ON auth_departed (access, user_uuid);

-- Who vouches for what lets the users of a tenant in: its directory, and its default method. Nobody does if the operator set it.
CREATE TABLE auth_tenant_voucher (
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    subject     @text NOT NULL, -- 'directory', 'method'
    by_uuid     @uuid NOT NULL, -- no foreign key: a deleted user still counts (auth_departed)
    PRIMARY KEY (tenant_uuid, subject, by_uuid)
);
CREATE INDEX auth_tenant_voucher_by ON auth_tenant_voucher (by_uuid);
