-- What telephones and carriers log in with.

DELETE FROM confd_sip_name;

DELETE FROM confd_sip_transport;

CREATE INDEX w_transport_option ON w_pjsip_transport_option (pjsip_transport_uuid);

INSERT INTO confd_sip_transport (uuid, name, options)
SELECT t.uuid, t.name, (SELECT json_group_array(json_array(o.key, o.value) ORDER BY CAST(o.id AS integer)) FROM w_pjsip_transport_option o
    WHERE o.pjsip_transport_uuid = t.uuid)
FROM w_pjsip_transport t;

INSERT INTO confd_sip_name (name, transport_uuid) SELECT name, uuid FROM w_pjsip_transport;

-- leave endpoint_sip because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_endpoint_sip WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave endpoint_sip because it is the guest of a meeting, and meetings are not here yet
SELECT rowid, tenant_uuid, name FROM w_endpoint_sip WHERE name LIKE 'wazo-meeting-%-guest';

-- leave endpoint_sip because a transport has its name
SELECT rowid, tenant_uuid, name FROM w_endpoint_sip WHERE name IN (SELECT name FROM w_pjsip_transport);

-- leave endpoint_sip_section because its endpoint has another section of the kind
SELECT rowid, NULL, endpoint_sip_uuid || ', ' || type FROM w_endpoint_sip_section
WHERE rowid NOT IN (SELECT min(rowid) FROM w_endpoint_sip_section GROUP BY endpoint_sip_uuid, type);

CREATE INDEX w_section_of ON w_endpoint_sip_section (endpoint_sip_uuid, type);

CREATE INDEX w_option_of ON w_endpoint_sip_section_option (endpoint_sip_section_uuid);

-- A section's options are in the order of their rows; of equal ones the last counts.
CREATE TEMP TABLE w_options AS
SELECT s.endpoint_sip_uuid AS endpoint, s.type,
    (SELECT json_group_array(json_array(o.key, o.value) ORDER BY o.rowid) FROM w_endpoint_sip_section_option o
        WHERE o.endpoint_sip_section_uuid = s.uuid AND o.key IS NOT NULL AND o.value IS NOT NULL) AS options,
    (SELECT o.cid_name FROM w_endpoint_sip_section_option o WHERE o.endpoint_sip_section_uuid = s.uuid AND o.key = 'callerid'
        ORDER BY o.rowid DESC LIMIT 1) AS cid_name,
    (SELECT o.cid_num FROM w_endpoint_sip_section_option o WHERE o.endpoint_sip_section_uuid = s.uuid AND o.key = 'callerid'
        ORDER BY o.rowid DESC LIMIT 1) AS cid_num
FROM w_endpoint_sip_section s;

CREATE UNIQUE INDEX w_options_of ON w_options (endpoint, type);

CREATE TEMP TABLE w_sip AS
SELECT e.uuid, e.tenant_uuid, e.name, e.label, e.asterisk_id, e.template = 't' AS template,
    (SELECT t.uuid FROM w_pjsip_transport t WHERE t.uuid = e.transport_uuid) AS transport,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'aor'), '[]') AS aor,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'auth'), '[]') AS auth,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'endpoint'), '[]') AS endpoint,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'identify'), '[]') AS identify,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'registration'), '[]') AS registration,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'registration_outbound_auth'), '[]') AS registration_auth,
    coalesce((SELECT options FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'outbound_auth'), '[]') AS outbound_auth,
    (SELECT cid_name FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'endpoint') AS cid_name,
    (SELECT cid_num FROM w_options o WHERE o.endpoint = e.uuid AND o.type = 'endpoint') AS cid_num
FROM w_endpoint_sip e;

INSERT INTO confd_endpoint_sip_template (uuid, tenant_uuid, name, label, asterisk_id, transport_uuid, aor_section_options, auth_section_options,
    endpoint_section_options, identify_section_options, registration_section_options, registration_outbound_auth_section_options, outbound_auth_section_options)
SELECT uuid, tenant_uuid, name, label, asterisk_id, transport, aor, auth, endpoint, identify, registration, registration_auth, outbound_auth
FROM w_sip WHERE template;

INSERT INTO confd_endpoint_sip (uuid, tenant_uuid, name, label, asterisk_id, transport_uuid, aor_section_options, auth_section_options,
    endpoint_section_options, identify_section_options, registration_section_options, registration_outbound_auth_section_options, outbound_auth_section_options,
    caller_id_name, caller_id_num)
SELECT uuid, tenant_uuid, name, label, asterisk_id, transport, aor, auth, endpoint, identify, registration, registration_auth, outbound_auth, cid_name, cid_num
FROM w_sip WHERE NOT template;

INSERT INTO confd_sip_name (name, template_uuid) SELECT name, uuid FROM confd_endpoint_sip_template;

INSERT INTO confd_sip_name (name, endpoint_uuid) SELECT name, uuid FROM confd_endpoint_sip;

-- leave endpoint_sip_template because the template or what uses it is not there, or they are of different tenants
SELECT l.rowid, c.tenant_uuid, coalesce(c.name, l.child_uuid) FROM w_endpoint_sip_template l
LEFT JOIN w_endpoint_sip c ON c.uuid = l.child_uuid LEFT JOIN confd_endpoint_sip_template p ON p.uuid = l.parent_uuid
WHERE p.uuid IS NULL OR c.uuid IS NULL OR c.tenant_uuid <> p.tenant_uuid;

-- leave endpoint_sip_template because the template takes options from itself, by others
WITH RECURSIVE up (child, above) AS (
    SELECT l.child_uuid, l.parent_uuid FROM w_endpoint_sip_template l JOIN confd_endpoint_sip_template t ON t.uuid = l.child_uuid
    UNION SELECT u.child, l.parent_uuid FROM up u JOIN w_endpoint_sip_template l ON l.child_uuid = u.above)
SELECT l.rowid, c.tenant_uuid, c.name FROM w_endpoint_sip_template l JOIN w_endpoint_sip c ON c.uuid = l.child_uuid
WHERE EXISTS (SELECT 1 FROM up u WHERE u.child = l.child_uuid AND u.above = l.child_uuid);

INSERT INTO confd_endpoint_sip_template_parent (child_uuid, template_uuid, position)
SELECT child_uuid, parent_uuid, row_number() OVER (PARTITION BY child_uuid ORDER BY CAST(priority AS integer), rowid) - 1
FROM w_endpoint_sip_template WHERE child_uuid IN (SELECT uuid FROM confd_endpoint_sip_template) ON CONFLICT DO NOTHING;

INSERT INTO confd_endpoint_sip_parent (endpoint_uuid, template_uuid, position)
SELECT child_uuid, parent_uuid, row_number() OVER (PARTITION BY child_uuid ORDER BY CAST(priority AS integer), rowid) - 1
FROM w_endpoint_sip_template WHERE child_uuid IN (SELECT uuid FROM confd_endpoint_sip) ON CONFLICT DO NOTHING;

INSERT INTO confd_tenant (uuid, global_sip_template_uuid, webrtc_sip_template_uuid, registration_trunk_sip_template_uuid, meeting_guest_sip_template_uuid)
SELECT t.uuid,
    (SELECT uuid FROM confd_endpoint_sip_template e WHERE e.uuid = t.global_sip_template_uuid),
    (SELECT uuid FROM confd_endpoint_sip_template e WHERE e.uuid = t.webrtc_sip_template_uuid),
    (SELECT uuid FROM confd_endpoint_sip_template e WHERE e.uuid = t.registration_trunk_sip_template_uuid),
    (SELECT uuid FROM confd_endpoint_sip_template e WHERE e.uuid = t.meeting_guest_sip_template_uuid)
FROM w_tenant t WHERE t.sip_templates_generated = 't';

INSERT INTO confd_sound (uuid, tenant_uuid, name, files) SELECT sound, uuid, 'system', '[]' FROM w_tenant WHERE sip_templates_generated = 't';

-- leave usercustom because its tenant is not there
SELECT rowid, tenant_uuid, interface FROM w_usercustom WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave usercustom because another endpoint has this interface
SELECT rowid, tenant_uuid, interface FROM w_usercustom u WHERE EXISTS (SELECT 1 FROM w_usercustom o WHERE o.interface = u.interface AND o.rowid < u.rowid);

INSERT INTO confd_endpoint_custom (id, tenant_uuid, interface, interface_suffix, enabled)
SELECT id, tenant_uuid, interface, nullif(intfsuffix, ''), commented = '0' FROM w_usercustom;
