-- Tenants, and who logs in.

INSERT INTO auth_server (id, uuid) SELECT 1, uuid FROM w_infos LIMIT 1;

-- How far below the master tenant each is: those above come first.
CREATE TEMP TABLE w_depth AS
WITH RECURSIVE down (uuid, depth) AS (
    SELECT uuid, 0 FROM w_auth_tenant WHERE uuid = parent_uuid
    UNION SELECT t.uuid, down.depth + 1 FROM w_auth_tenant t JOIN down ON t.parent_uuid = down.uuid WHERE t.uuid <> t.parent_uuid)
SELECT uuid, depth FROM down;

CREATE UNIQUE INDEX w_depth_uuid ON w_depth (uuid);

-- leave auth_tenant because the tenants above it do not lead to the master tenant
SELECT rowid, uuid, name FROM w_auth_tenant WHERE uuid NOT IN (SELECT uuid FROM w_depth);

INSERT INTO auth_tenant (uuid, parent_uuid, name, slug, phone, contact_uuid, line_1, line_2, city, state, country, zip_code, default_authentication_method)
SELECT t.uuid, t.parent_uuid, t.name, coalesce(nullif(t.slug, ''), substr(t.uuid, 1, 8)), nullif(t.phone, ''),
    (SELECT u.uuid FROM w_auth_user u WHERE u.uuid = t.contact_uuid),
    nullif(a.line_1, ''), nullif(a.line_2, ''), nullif(a.city, ''), nullif(a.state, ''), nullif(a.country, ''), nullif(a.zip_code, ''), coalesce(t.default_authentication_method, 'native')
FROM w_auth_tenant t JOIN w_depth d ON d.uuid = t.uuid LEFT JOIN w_auth_address a ON a.tenant_uuid = t.uuid ORDER BY d.depth, t.uuid;

-- decide users of this tenant log in by SAML, which is not here: set its default_authentication_method to native or ldap
SELECT uuid, name FROM w_auth_tenant WHERE default_authentication_method = 'saml';

-- leave auth_tenant_domain because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_auth_tenant_domain WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO auth_tenant_domain (uuid, tenant_uuid, name) SELECT uuid, tenant_uuid, name FROM w_auth_tenant_domain;

-- leave auth_user because its tenant is not there
SELECT rowid, tenant_uuid, coalesce(username, uuid) FROM w_auth_user WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- The platform does not keep when an account was made; its telephone user tells.
INSERT INTO auth_user (uuid, tenant_uuid, username, firstname, lastname, purpose, enabled, authentication_method, password_hash, created_at)
SELECT u.uuid, u.tenant_uuid, u.username, u.firstname, u.lastname, coalesce(u.purpose, 'user'), coalesce(u.enabled, 't') = 't',
    coalesce(u.authentication_method, 'default'),
    '$pbkdf2-sha512$i=250000$' || substr(u.password_salt, 3) || '$' || u.password_hash,
    coalesce((SELECT f.at FROM w_userfeatures f WHERE f.uuid = u.uuid), (SELECT min(at) FROM w_userfeatures), '2000-01-01 00:00:00+00:00')
FROM w_auth_user u;

-- decide logs in by SAML, which is not here: set another authentication_method
SELECT tenant_uuid, coalesce(username, uuid) FROM w_auth_user WHERE authentication_method = 'saml';

-- decide nobody can log in by this name, which has invisible characters: set another username
SELECT tenant_uuid, uuid FROM w_auth_user WHERE username IS NOT NULL AND login IS NULL;

-- leave auth_email because its user is not there
SELECT rowid, NULL, address FROM w_auth_email WHERE user_uuid NOT IN (SELECT uuid FROM auth_user);

INSERT INTO auth_email (uuid, user_uuid, address, main, confirmed, login)
SELECT uuid, user_uuid, address, main = 't', confirmed = 't', login FROM w_auth_email;

-- Who has a password comes first, of those whose names are one in the form in which we compare them.
INSERT INTO auth_login (login, user_uuid)
SELECT login, uuid FROM w_auth_user WHERE login IS NOT NULL ORDER BY enabled = 'f', password_hash IS NULL, username, uuid
ON CONFLICT DO NOTHING;

INSERT INTO auth_login (login, user_uuid, email_uuid)
SELECT login, user_uuid, uuid FROM w_auth_email WHERE login IS NOT NULL AND confirmed = 't' ORDER BY address, uuid
ON CONFLICT DO NOTHING;

-- decide cannot log in by this name, which is another user's: names that differ in case, width or accents' encoding alone are one. Set another username
SELECT u.tenant_uuid, u.username FROM w_auth_user u JOIN auth_login l ON l.login = u.login WHERE l.user_uuid <> u.uuid;

-- decide cannot log in by this address, which is another user's login. Change one of the two
SELECT u.tenant_uuid, e.address FROM w_auth_email e JOIN w_auth_user u ON u.uuid = e.user_uuid JOIN auth_login l ON l.login = e.login
WHERE l.user_uuid <> e.user_uuid AND e.confirmed = 't';

-- Directories and external services. What is secret is sealed afterwards (seal.go).

-- leave auth_ldap_config because its tenant is not there
SELECT rowid, tenant_uuid, host FROM w_auth_ldap_config WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave auth_ldap_config because it lacks what every directory needs: a host, a port, a base and two attributes
SELECT rowid, tenant_uuid, host FROM w_auth_ldap_config
WHERE host IS NULL OR port IS NULL OR user_base_dn IS NULL OR user_login_attribute IS NULL OR user_email_attribute IS NULL;

INSERT INTO auth_ldap_config (tenant_uuid, host, port, protocol_version, protocol_security, bind_dn, user_base_dn, user_login_attribute, user_email_attribute,
    search_filters)
SELECT tenant_uuid, host, port, coalesce(protocol_version, 3), nullif(protocol_security, ''), nullif(bind_dn, ''), user_base_dn, user_login_attribute,
    user_email_attribute, nullif(search_filters, '')
FROM w_auth_ldap_config;

-- leave auth_external_auth_config because its tenant or its kind is not there
SELECT c.rowid, c.tenant_uuid, c.type_uuid FROM w_auth_external_auth_config c
WHERE c.tenant_uuid NOT IN (SELECT uuid FROM auth_tenant)
   OR c.type_uuid NOT IN (SELECT uuid FROM w_auth_external_auth_type WHERE name IN ('google', 'microsoft', 'mobile'))
   OR NOT json_valid(c.data);

INSERT INTO auth_external_config (tenant_uuid, auth_type, sealed)
SELECT c.tenant_uuid, t.name, x'' FROM w_auth_external_auth_config c JOIN w_auth_external_auth_type t ON t.uuid = c.type_uuid;

-- leave auth_user_external_auth because its user or its kind is not there
SELECT c.rowid, NULL, c.user_uuid FROM w_auth_user_external_auth c
WHERE c.user_uuid NOT IN (SELECT uuid FROM auth_user)
   OR c.external_auth_type_uuid NOT IN (SELECT uuid FROM w_auth_external_auth_type WHERE name IN ('google', 'microsoft', 'mobile'))
   OR NOT json_valid(c.data);

INSERT INTO auth_external (user_uuid, auth_type, sealed)
SELECT c.user_uuid, t.name, x'' FROM w_auth_user_external_auth c JOIN w_auth_external_auth_type t ON t.uuid = c.external_auth_type_uuid;

-- decide was kept in clear there, and is sealed here: whoever has seen the dump knows it
SELECT tenant_uuid, 'the password of the directory ' || host FROM w_auth_ldap_config WHERE bind_password <> ''
UNION ALL SELECT c.tenant_uuid, 'the credentials of ' || t.name FROM w_auth_external_auth_config c JOIN w_auth_external_auth_type t ON t.uuid = c.type_uuid;

-- leave auth_refresh_token because its user is not there
SELECT rowid, NULL, client_id FROM w_auth_refresh_token WHERE user_uuid NOT IN (SELECT uuid FROM auth_user);

-- leave auth_refresh_token because it began by another way than a password, which cannot be asked whether it is still valid: its user logs in once more
SELECT r.rowid, u.tenant_uuid, r.client_id FROM w_auth_refresh_token r JOIN auth_user u ON u.uuid = r.user_uuid WHERE r.backend <> 'wazo_user';

INSERT INTO auth_refresh_token (uuid, digest, sealed, client_id, user_uuid, mobile, user_agent, remote_addr, created_at)
SELECT id, unhex(digest), x'', client_id, user_uuid, mobile = 't', coalesce(user_agent, ''), coalesce(remote_addr, ''),
    coalesce(at, '2000-01-01 00:00:00+00:00')
FROM w_auth_refresh_token;
