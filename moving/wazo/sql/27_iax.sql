-- Trunks by IAX. A registration belongs to the tenant of its trunk; one without a trunk is the master tenant's. Its line is user:password@host:port/extension?context.

-- leave useriax because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_useriax WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_endpoint_iax (id, tenant_uuid, name, type, host, options)
SELECT u.id, u.tenant_uuid, u.name, coalesce(nullif(u.type, ''), 'friend'), coalesce(nullif(u.host, ''), 'dynamic'),
    (SELECT coalesce(json_group_array(json_array(key, value)), '[]') FROM (
        SELECT 'username' AS key, u.username AS value
        UNION ALL SELECT 'secret' AS key, u.secret AS value
        UNION ALL SELECT 'dbsecret' AS key, u.dbsecret AS value
        UNION ALL SELECT 'language' AS key, u.language AS value
        UNION ALL SELECT 'amaflags' AS key, u.amaflags AS value
        UNION ALL SELECT 'mailbox' AS key, u.mailbox AS value
        UNION ALL SELECT 'callerid' AS key, u.callerid AS value
        UNION ALL SELECT 'fullname' AS key, u.fullname AS value
        UNION ALL SELECT 'cid_number' AS key, u.cid_number AS value
        UNION ALL SELECT 'auth' AS key, u.auth AS value
        UNION ALL SELECT 'encryption' AS key, u.encryption AS value
        UNION ALL SELECT 'maxauthreq' AS key, u.maxauthreq AS value
        UNION ALL SELECT 'inkeys' AS key, u.inkeys AS value
        UNION ALL SELECT 'outkey' AS key, u.outkey AS value
        UNION ALL SELECT 'adsi' AS key, u.adsi AS value
        UNION ALL SELECT 'transfer' AS key, u.transfer AS value
        UNION ALL SELECT 'codecpriority' AS key, u.codecpriority AS value
        UNION ALL SELECT 'jitterbuffer' AS key, u.jitterbuffer AS value
        UNION ALL SELECT 'forcejitterbuffer' AS key, u.forcejitterbuffer AS value
        UNION ALL SELECT 'qualify' AS key, u.qualify AS value
        UNION ALL SELECT 'qualifyfreqok' AS key, u.qualifyfreqok AS value
        UNION ALL SELECT 'qualifyfreqnotok' AS key, u.qualifyfreqnotok AS value
        UNION ALL SELECT 'timezone' AS key, u.timezone AS value
        UNION ALL SELECT 'disallow' AS key, u.disallow AS value
        UNION ALL SELECT 'allow' AS key, u.allow AS value
        UNION ALL SELECT 'mohinterpret' AS key, u.mohinterpret AS value
        UNION ALL SELECT 'mohsuggest' AS key, u.mohsuggest AS value
        UNION ALL SELECT 'deny' AS key, u.deny AS value
        UNION ALL SELECT 'permit' AS key, u.permit AS value
        UNION ALL SELECT 'defaultip' AS key, u.defaultip AS value
        UNION ALL SELECT 'sourceaddress' AS key, u.sourceaddress AS value
        UNION ALL SELECT 'port' AS key, u.port AS value
        UNION ALL SELECT 'mask' AS key, u.mask AS value
        UNION ALL SELECT 'regexten' AS key, u.regexten AS value
        UNION ALL SELECT 'peercontext' AS key, u.peercontext AS value
        UNION ALL SELECT 'requirecalltoken' AS key, u.requirecalltoken AS value
        UNION ALL SELECT 'trunk', CASE u.trunk WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.trunk END
        UNION ALL SELECT 'forceencryption', CASE u.forceencryption WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.forceencryption END
        UNION ALL SELECT 'sendani', CASE u.sendani WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.sendani END
        UNION ALL SELECT 'qualifysmoothing', CASE u.qualifysmoothing WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.qualifysmoothing END
        UNION ALL SELECT 'immediate', CASE u.immediate WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.immediate END
        UNION ALL SELECT 'keyrotate', CASE u.keyrotate WHEN '1' THEN 'yes' WHEN '0' THEN 'no' ELSE u.keyrotate END)
    WHERE value <> '')
FROM w_useriax u;

INSERT INTO confd_trunk_endpoint (trunk_id, iax_id)
SELECT t.id, x.id FROM w_trunkfeatures t JOIN confd_endpoint_iax x ON x.id = t.endpoint_iax_id AND x.tenant_uuid = t.tenant_uuid
WHERE true ORDER BY t.rowid ON CONFLICT DO NOTHING;

CREATE TEMP TABLE w_register AS
SELECT s.id, s.commented, coalesce((SELECT t.tenant_uuid FROM w_trunkfeatures t WHERE t.register_iax_id = s.id), (SELECT uuid FROM w_master)) AS tenant_uuid,
    CASE WHEN instr(s.var_val, '@') > 0 THEN substr(s.var_val, 1, instr(s.var_val, '@') - 1) END AS login,
    substr(s.var_val, instr(s.var_val, '@') + 1) AS place
FROM w_staticiax s WHERE s.var_name = 'register' AND s.var_val <> '';

CREATE TEMP TABLE w_registered AS
SELECT id, commented, tenant_uuid, login, substr(place || '?', instr(place || '?', '?') + 1) AS context,
    substr(place, 1, instr(place || '?', '?') - 1) AS place FROM w_register;

INSERT INTO confd_register_iax (id, tenant_uuid, auth_username, auth_password, remote_host, remote_port, callback_extension, callback_context, enabled)
SELECT id, tenant_uuid, nullif(substr(login || ':', 1, instr(login || ':', ':') - 1), ''), nullif(substr(login, instr(login || ':', ':') + 1), ''),
    substr(at, 1, instr(at || ':', ':') - 1), CAST(nullif(substr(at, instr(at || ':', ':') + 1), '') AS integer), nullif(extension, ''),
    nullif(rtrim(context, '?'), ''), commented = '0'
FROM (SELECT *, substr(place, 1, instr(place || '/', '/') - 1) AS at, substr(place, instr(place || '/', '/') + 1) AS extension FROM w_registered);

INSERT INTO confd_trunk_register_iax (trunk_id, register_id)
SELECT t.id, r.id FROM w_trunkfeatures t JOIN confd_register_iax r ON r.id = t.register_iax_id AND r.tenant_uuid = t.tenant_uuid
WHERE t.endpoint_sip_uuid IS NULL AND t.endpoint_custom_id IS NULL ORDER BY t.rowid ON CONFLICT DO NOTHING;

-- decide has an endpoint or a registration of another tenant, or one that a line or another trunk has, or that was left out, and goes without
SELECT o.tenant_uuid, 'trunk ' || o.id FROM confd_trunk o JOIN w_trunkfeatures t ON t.id = o.id
WHERE coalesce(t.endpoint_sip_uuid, t.endpoint_iax_id, t.endpoint_custom_id) IS NOT NULL AND o.id NOT IN (SELECT trunk_id FROM confd_trunk_endpoint)
   OR t.register_iax_id IS NOT NULL AND o.id NOT IN (SELECT trunk_id FROM confd_trunk_register_iax);

INSERT INTO confd_asterisk_iax_general (tenant_uuid, options, ordered_options)
SELECT m.uuid, (SELECT json_group_object(s.key, s.value) FROM w_section s WHERE s.path = 'iax/general'),
    (SELECT coalesce(json_group_array(json_array(var_name, var_val) ORDER BY CAST(var_metric AS integer)), '[]') FROM w_staticiax
        WHERE var_name IN ('allow', 'disallow') AND var_metric <> '0' AND commented = '0' AND var_val <> '')
FROM w_master m WHERE EXISTS (SELECT 1 FROM w_section WHERE path = 'iax/general');

INSERT INTO confd_iax_callnumberlimits (tenant_uuid, items)
SELECT m.uuid, json_group_array(json_object('ip_address', l.destination, 'netmask', l.netmask, 'limit', CAST(l.calllimits AS integer)) ORDER BY CAST(l.id AS integer))
FROM w_master m JOIN w_iaxcallnumberlimits l GROUP BY m.uuid;
