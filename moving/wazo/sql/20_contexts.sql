-- Contexts, music, feature codes, and settings of the installation.

-- leave tenant because it was deleted
SELECT rowid, uuid, uuid FROM w_tenant WHERE uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave context because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_context WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave contextnumbers because its context is not there
SELECT rowid, NULL, context FROM w_contextnumbers WHERE context NOT IN (SELECT name FROM w_context);

CREATE TEMP TABLE w_ranges AS
SELECT context, type, json_group_array(CASE type
        WHEN 'incall' THEN json_object('start', numberbeg, 'end', coalesce(nullif(numberend, ''), numberbeg), 'did_length', CAST(coalesce(didlength, 0) AS integer))
        ELSE json_object('start', numberbeg, 'end', coalesce(nullif(numberend, ''), numberbeg)) END ORDER BY rowid) AS ranges
FROM w_contextnumbers GROUP BY context, type;

CREATE UNIQUE INDEX w_ranges_of ON w_ranges (context, type);

INSERT INTO confd_context (id, uuid, tenant_uuid, name, label, type, user_ranges, group_ranges, queue_ranges, conference_room_ranges, incall_ranges,
    description, enabled)
SELECT c.id, c.uuid, c.tenant_uuid, c.name, coalesce(nullif(c.displayname, ''), c.name), c.contexttype,
    coalesce((SELECT ranges FROM w_ranges r WHERE r.context = c.name AND r.type = 'user'), '[]'),
    coalesce((SELECT ranges FROM w_ranges r WHERE r.context = c.name AND r.type = 'group'), '[]'),
    coalesce((SELECT ranges FROM w_ranges r WHERE r.context = c.name AND r.type = 'queue'), '[]'),
    coalesce((SELECT ranges FROM w_ranges r WHERE r.context = c.name AND r.type = 'meetme'), '[]'),
    coalesce((SELECT ranges FROM w_ranges r WHERE r.context = c.name AND r.type = 'incall'), '[]'),
    c.description, c.commented = '0'
FROM w_context c;

-- leave contextinclude because one of the contexts is not there, or they are of different tenants
SELECT i.rowid, c.tenant_uuid, i.context || ' includes ' || i.include FROM w_contextinclude i
LEFT JOIN w_context c ON c.name = i.context LEFT JOIN w_context o ON o.name = i.include
WHERE o.name IS NULL OR c.tenant_uuid IS NOT o.tenant_uuid OR i.context = i.include;

INSERT INTO confd_context_include (context_id, included_id, position)
SELECT c.id, o.id, row_number() OVER (PARTITION BY c.id ORDER BY CAST(i.priority AS integer), i.rowid) - 1
FROM w_contextinclude i JOIN w_context c ON c.name = i.context JOIN w_context o ON o.name = i.include WHERE true ON CONFLICT DO NOTHING;

-- leave moh because its tenant is not there
SELECT rowid, tenant_uuid, label FROM w_moh WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_moh (uuid, tenant_uuid, name, label, mode, application, sort)
SELECT uuid, tenant_uuid, name, coalesce(nullif(label, ''), name), mode, application, sort FROM w_moh;

-- decide plays files, which are not in a database: put them into the music once more
SELECT tenant_uuid, label FROM w_moh WHERE mode = 'files';

DELETE FROM confd_extension_feature WHERE feature IN (SELECT feature FROM w_feature_extension);

-- leave feature_extension because another feature has this code
SELECT f.rowid, NULL, f.feature || ' ' || f.exten FROM w_feature_extension f
WHERE f.exten IN (SELECT exten FROM confd_extension_feature)
   OR EXISTS (SELECT 1 FROM w_feature_extension o WHERE o.rowid < f.rowid AND (o.exten = f.exten OR o.feature = f.feature));

INSERT INTO confd_extension_feature (uuid, feature, exten, context, enabled) SELECT uuid, feature, exten, 'xivo-features', enabled = 't' FROM w_feature_extension;

CREATE TEMP TABLE w_master AS SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid;

INSERT INTO confd_live_reload (tenant_uuid, enabled) SELECT m.uuid, i.live_reload_enabled = 't' FROM w_master m, w_infos i;

INSERT INTO confd_voicemail_transcription (tenant_uuid, enabled) SELECT uuid, voicemail_transcription_enabled = 't' FROM w_tenant
WHERE voicemail_transcription_enabled IS NOT NULL;

INSERT INTO confd_voicemail_general (tenant_uuid, options)
SELECT m.uuid, (SELECT json_group_object(var_name, var_val) FROM w_staticvoicemail WHERE category = 'general' AND var_val IS NOT NULL) FROM w_master m;

INSERT INTO confd_voicemail_zonemessages (tenant_uuid, items)
SELECT m.uuid, (SELECT json_group_array(json_object('name', var_name, 'timezone', substr(var_val, 1, instr(var_val || '|', '|') - 1),
        'message', nullif(substr(var_val, instr(var_val || '|', '|') + 1), '')) ORDER BY CAST(id AS integer))
    FROM w_staticvoicemail v WHERE category = 'zonemessages' AND var_val IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM w_staticvoicemail o WHERE o.category = v.category AND o.var_name = v.var_name AND o.rowid < v.rowid)) FROM w_master m;

-- leave phone_number because its tenant is not there
SELECT rowid, tenant_uuid, number FROM w_phone_number WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_phone_number (uuid, tenant_uuid, number, caller_id_name, main, shared)
SELECT uuid, tenant_uuid, number, caller_id_name, main = 't', shared = 't' OR main = 't' FROM w_phone_number;

-- leave queueskillrule because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_queueskillrule WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_skill_rule (id, tenant_uuid, name, rules) SELECT id, tenant_uuid, name, rules FROM w_queueskillrule;

-- Sections of Asterisk's own files (refused.go has taken out what ours refuse). One that the dump does not have keeps our defaults.

INSERT INTO confd_asterisk_queues_general (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'queues/general' GROUP BY m.uuid;

INSERT INTO confd_asterisk_pjsip_global (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'pjsip/global' GROUP BY m.uuid;

INSERT INTO confd_asterisk_pjsip_system (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'pjsip/system' GROUP BY m.uuid;

INSERT INTO confd_asterisk_rtp_general (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'rtp/general' GROUP BY m.uuid;

INSERT INTO confd_asterisk_rtp_ice_host_candidates (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'rtp/ice_host_candidates' GROUP BY m.uuid;

INSERT INTO confd_asterisk_hep_general (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'hep/general' GROUP BY m.uuid;

INSERT INTO confd_asterisk_confbridge_wazo_default_bridge (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'confbridge/wazo_default_bridge' GROUP BY m.uuid;

INSERT INTO confd_asterisk_confbridge_wazo_default_user (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'confbridge/wazo_default_user' GROUP BY m.uuid;

INSERT INTO confd_asterisk_features_general (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'features/general' GROUP BY m.uuid;

INSERT INTO confd_asterisk_features_featuremap (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'features/featuremap' GROUP BY m.uuid;

INSERT INTO confd_asterisk_features_applicationmap (tenant_uuid, options)
SELECT m.uuid, json_group_object(s.key, s.value) FROM w_master m JOIN w_section s ON s.path = 'features/applicationmap' GROUP BY m.uuid;
