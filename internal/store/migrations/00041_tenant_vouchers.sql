-- +goose Up
-- Who vouches for what lets the users of a tenant in: its directory, and its default method. Nobody does if the operator set it.
CREATE TABLE auth_tenant_voucher (
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    subject     @text NOT NULL, -- 'directory', 'method'
    by_uuid     @uuid NOT NULL, -- no foreign key: a deleted user still counts (auth_departed)
    PRIMARY KEY (tenant_uuid, subject, by_uuid)
);
CREATE INDEX auth_tenant_voucher_by ON auth_tenant_voucher (by_uuid);
INSERT INTO auth_tenant_voucher (tenant_uuid, subject, by_uuid)
    SELECT tenant_uuid, 'directory', set_by FROM auth_ldap_config WHERE set_by IS NOT NULL
    UNION SELECT uuid, 'method', method_set_by FROM auth_tenant WHERE method_set_by IS NOT NULL;
ALTER TABLE auth_ldap_config DROP COLUMN set_by;
ALTER TABLE auth_tenant DROP COLUMN method_set_by;

-- The identities of directories depend on those who vouched for the directory when it named the user.
INSERT INTO auth_voucher (user_uuid, subject, by_uuid, fresh)
    SELECT DISTINCT i.user_uuid, 'identity ldap', v.by_uuid, false
    FROM auth_identity i JOIN auth_user u ON u.uuid = i.user_uuid JOIN auth_tenant_voucher v ON v.tenant_uuid = u.tenant_uuid
    WHERE i.backend = 'ldap' AND v.subject = 'directory'
    ON CONFLICT DO NOTHING;

-- Where a deleted voucher was; null for those who were deleted before this was recorded.
ALTER TABLE auth_departed ADD COLUMN tenant_uuid @uuid;

-- auth_external_pending.begun_by now has all who vouch, with spaces between them.
