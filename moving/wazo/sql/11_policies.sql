-- Policies, groups, and what they give.

-- leave auth_policy because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_auth_policy WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- decide has a name that another policy of the tenant has in the form in which we compare names: it got its UUID behind it
SELECT tenant_uuid, name FROM (SELECT tenant_uuid, name, row_number() OVER (PARTITION BY tenant_uuid, name_key ORDER BY name, uuid) AS nth FROM w_auth_policy)
WHERE nth > 1;

-- A name or a slug with a UUID has 80 signs at most.
CREATE TEMP TABLE w_slug AS
SELECT source, uuid, CASE row_number() OVER (PARTITION BY source, tenant_uuid, lower(slug) ORDER BY own IS NULL, slug, uuid) WHEN 1 THEN slug
    ELSE substr(slug, 1, 43) || '_' || uuid END AS slug
FROM (SELECT 'policy' AS source, uuid, tenant_uuid, own, CASE WHEN lower(slug) IN ('me', 'my_session') THEN slug || '_' ELSE slug END AS slug FROM w_auth_policy
    UNION ALL SELECT 'group', uuid, tenant_uuid, own, CASE WHEN lower(slug) IN ('me', 'my_session') THEN slug || '_' ELSE slug END FROM w_auth_group);

CREATE INDEX w_slug_uuid ON w_slug (uuid, source);

-- decide has a slug that another has, with other signs than letters, digits, - and _: it got its UUID behind it
SELECT p.tenant_uuid, p.name FROM (SELECT uuid, tenant_uuid, name FROM w_auth_policy UNION ALL SELECT uuid, tenant_uuid, name FROM w_auth_group) p
JOIN w_slug s ON s.uuid = p.uuid AND s.slug LIKE '%\_' || p.uuid ESCAPE '\';

INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, description, shared, config_managed)
SELECT uuid, tenant_uuid, CASE nth WHEN 1 THEN name ELSE substr(name, 1, 43) || ' ' || uuid END,
    CASE nth WHEN 1 THEN coalesce(name_key, uuid) ELSE substr(name_key, 1, 43) || ' ' || uuid END,
    slug, lower(slug), description, coalesce(shared, 'f') = 't', coalesce(config_managed, 'f') = 't'
FROM (SELECT p.*, s.slug AS slug, row_number() OVER (PARTITION BY p.tenant_uuid, coalesce(p.name_key, p.uuid) ORDER BY p.name, p.uuid) AS nth
    FROM (SELECT uuid, tenant_uuid, name, name_key, description, shared, config_managed FROM w_auth_policy) p JOIN w_slug s ON s.uuid = p.uuid AND s.source = 'policy');

-- decide is not said exactly here
SELECT p.tenant_uuid, p.name || ': ' || a.access || ': ' || a.reason
FROM w_auth_policy_access pa JOIN w_auth_access a ON a.id = pa.access_id JOIN w_auth_policy p ON p.uuid = pa.policy_uuid
WHERE a.reason IS NOT NULL;

-- leave auth_policy_access
SELECT pa.rowid, p.tenant_uuid, p.name || ': ' || a.access, a.reason
FROM w_auth_policy_access pa JOIN w_auth_access a ON a.id = pa.access_id JOIN w_auth_policy p ON p.uuid = pa.policy_uuid
WHERE json_array_length(a.patterns) = 0 AND a.reason IS NOT NULL;

-- leave auth_policy_access because its policy or its access is not there
SELECT pa.rowid, NULL, pa.policy_uuid FROM w_auth_policy_access pa
WHERE pa.policy_uuid NOT IN (SELECT uuid FROM auth_policy) OR pa.access_id NOT IN (SELECT id FROM w_auth_access);

INSERT INTO auth_policy_access (policy_uuid, access, place)
SELECT policy_uuid, pattern, row_number() OVER (PARTITION BY policy_uuid ORDER BY place) - 1
FROM (SELECT pa.policy_uuid, e.value AS pattern, min(pa.rowid * 10000 + e.key) AS place
    FROM w_auth_policy_access pa JOIN w_auth_access a ON a.id = pa.access_id JOIN json_each(a.patterns) e GROUP BY pa.policy_uuid, e.value);

-- decide has more than 1000 accesses: it stays as it is, and cannot be changed until it has fewer
SELECT p.tenant_uuid, p.name FROM auth_policy p WHERE (SELECT count(*) FROM auth_policy_access a WHERE a.policy_uuid = p.uuid) > 1000;

-- The group of all users of a tenant has the tenant's UUID here.
INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed)
SELECT uuid, uuid, 'wazo-all-users-tenant-' || uuid, 'wazo-all-users-tenant-' || uuid, 'wazo-all-users-tenant-' || uuid, 'wazo-all-users-tenant-' || uuid, true
FROM auth_tenant;

-- leave auth_group because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_auth_group WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

CREATE TEMP TABLE w_group AS
SELECT uuid AS old, CASE WHEN lower(slug) = 'wazo-all-users-tenant-' || tenant_uuid THEN tenant_uuid ELSE uuid END AS uuid, tenant_uuid FROM w_auth_group;

CREATE UNIQUE INDEX w_group_old ON w_group (old);

-- decide has a name that another group of the tenant has in the form in which we compare names: it got its UUID behind it
SELECT tenant_uuid, name FROM (SELECT tenant_uuid, name, row_number() OVER (PARTITION BY tenant_uuid, name_key ORDER BY name, uuid) AS nth FROM w_auth_group)
WHERE nth > 1;

-- The administrators' group of each tenant is of the configuration there too.
INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed, config_managed)
SELECT uuid, tenant_uuid, CASE nth WHEN 1 THEN name ELSE substr(name, 1, 43) || ' ' || uuid END,
    CASE nth WHEN 1 THEN coalesce(name_key, uuid) ELSE substr(name_key, 1, 43) || ' ' || uuid END,
    slug, lower(slug), false, lower(slug) = 'wazo_default_admin_group'
FROM (SELECT g.uuid, g.tenant_uuid, g.name, g.name_key, s.slug,
        row_number() OVER (PARTITION BY g.tenant_uuid, coalesce(g.name_key, g.uuid) ORDER BY g.name, g.uuid) AS nth
    FROM w_auth_group g JOIN w_group o ON o.old = g.uuid AND o.old = o.uuid JOIN w_slug s ON s.uuid = g.uuid AND s.source = 'group');

-- leave auth_user_group because the user or the group is not there
SELECT rowid, NULL, user_uuid FROM w_auth_user_group
WHERE group_uuid NOT IN (SELECT old FROM w_group) OR user_uuid NOT IN (SELECT uuid FROM auth_user);

-- leave auth_user_group because the user is of another tenant than the group
SELECT l.rowid, u.tenant_uuid, coalesce(u.username, u.uuid) FROM w_auth_user_group l JOIN w_group g ON g.old = l.group_uuid JOIN auth_user u ON u.uuid = l.user_uuid
WHERE u.tenant_uuid <> g.tenant_uuid;

INSERT INTO auth_group_user (group_uuid, user_uuid)
SELECT g.uuid, l.user_uuid FROM w_auth_user_group l JOIN w_group g ON g.old = l.group_uuid WHERE true
ON CONFLICT DO NOTHING;

-- decide was not in the group of all users of the tenant, and is not here either, so that it may do no more than it could: make the account anew, if it should be
SELECT tenant_uuid, coalesce(username, uuid) FROM auth_user u
WHERE NOT EXISTS (SELECT 1 FROM auth_group_user m WHERE m.group_uuid = u.tenant_uuid AND m.user_uuid = u.uuid);

-- A policy may be given where it is seen: in its tenant and, if it is shared, below; one of the configuration everywhere. One that denies stays where it
-- was given, since more would be allowed without it.
CREATE TEMP TABLE w_seen AS
WITH RECURSIVE above (tenant, above) AS (
    SELECT uuid, uuid FROM auth_tenant
    UNION SELECT a.tenant, t.parent_uuid FROM above a JOIN auth_tenant t ON t.uuid = a.above)
SELECT p.uuid AS policy, a.tenant, false AS denies FROM auth_policy p JOIN above a ON a.above = p.tenant_uuid
WHERE p.shared OR p.config_managed OR a.tenant = a.above;

CREATE UNIQUE INDEX w_seen_policy ON w_seen (policy, tenant);

INSERT INTO w_seen SELECT p.uuid, t.uuid, true FROM auth_policy p, auth_tenant t
WHERE EXISTS (SELECT 1 FROM auth_policy_access a WHERE a.policy_uuid = p.uuid AND a.access LIKE '!%') ON CONFLICT DO NOTHING;

-- decide has a policy that its tenant does not see, which stays, since it denies: share it, or give another one
SELECT u.tenant_uuid, coalesce(u.username, u.uuid) || ': ' || p.name FROM w_auth_user_policy l JOIN auth_user u ON u.uuid = l.user_uuid
JOIN w_seen s ON s.policy = l.policy_uuid AND s.tenant = u.tenant_uuid AND s.denies JOIN auth_policy p ON p.uuid = l.policy_uuid
UNION ALL SELECT g.tenant_uuid, o.name || ': ' || p.name FROM w_auth_group_policy l JOIN w_group g ON g.old = l.group_uuid JOIN auth_group o ON o.uuid = g.uuid
JOIN w_seen s ON s.policy = l.policy_uuid AND s.tenant = g.tenant_uuid AND s.denies JOIN auth_policy p ON p.uuid = l.policy_uuid;

-- leave auth_group_policy because the group does not see the policy, or one of the two is not there
SELECT l.rowid, g.tenant_uuid, l.group_uuid FROM w_auth_group_policy l LEFT JOIN w_group g ON g.old = l.group_uuid
LEFT JOIN w_seen s ON s.policy = l.policy_uuid AND s.tenant = g.tenant_uuid WHERE s.policy IS NULL;

INSERT INTO auth_group_policy (group_uuid, policy_uuid)
SELECT g.uuid, l.policy_uuid FROM w_auth_group_policy l JOIN w_group g ON g.old = l.group_uuid;

-- leave auth_user_policy because the user does not see the policy, or one of the two is not there
SELECT l.rowid, u.tenant_uuid, l.user_uuid FROM w_auth_user_policy l LEFT JOIN auth_user u ON u.uuid = l.user_uuid
LEFT JOIN w_seen s ON s.policy = l.policy_uuid AND s.tenant = u.tenant_uuid WHERE s.policy IS NULL;

INSERT INTO auth_user_policy (user_uuid, policy_uuid) SELECT user_uuid, policy_uuid FROM w_auth_user_policy;

-- decide nobody in the master tenant may do everything (#) and can log in: after the import, `ringfence admin reset-password NAME --administrator` makes somebody so
SELECT uuid, 'the master tenant' FROM auth_tenant WHERE uuid = parent_uuid AND NOT EXISTS (
    SELECT 1 FROM auth_user u JOIN auth_login l ON l.user_uuid = u.uuid
    JOIN (SELECT user_uuid, policy_uuid FROM auth_user_policy
        UNION ALL SELECT m.user_uuid, g.policy_uuid FROM auth_group_user m JOIN auth_group_policy g ON g.group_uuid = m.group_uuid) h ON h.user_uuid = u.uuid
    JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
    WHERE u.tenant_uuid = auth_tenant.uuid AND u.enabled AND u.password_hash IS NOT NULL AND a.access = '#');
