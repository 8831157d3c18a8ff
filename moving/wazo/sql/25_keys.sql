-- Function keys.

-- leave func_key_template because its tenant is not there, or nobody has these keys
SELECT t.rowid, t.tenant_uuid, coalesce(t.name, t.id) FROM w_func_key_template t
WHERE t.tenant_uuid NOT IN (SELECT uuid FROM auth_tenant)
   OR t.private = 't' AND t.id NOT IN (SELECT func_key_private_template_id FROM w_userfeatures WHERE func_key_private_template_id IS NOT NULL);

INSERT INTO confd_func_key_template (id, tenant_uuid, user_id, name)
SELECT t.id, t.tenant_uuid, CASE t.private WHEN 't' THEN (SELECT u.id FROM w_userfeatures u WHERE u.func_key_private_template_id = t.id) END, t.name
FROM w_func_key_template t;

UPDATE confd_user SET func_key_template_id = t.id FROM w_userfeatures f JOIN confd_func_key_template t ON t.id = f.func_key_template_id
WHERE confd_user.id = f.id AND t.tenant_uuid = confd_user.tenant_uuid AND t.user_id IS NULL;

-- decide has a template of keys of another tenant, or one that is not there, and goes without
SELECT u.tenant_uuid, 'user ' || u.id FROM confd_user u JOIN w_userfeatures f ON f.id = u.id WHERE f.func_key_template_id IS NOT NULL AND u.func_key_template_id IS NULL;

-- Of two destinations of a key the first counts.
CREATE TEMP TABLE w_does (func_key_id text PRIMARY KEY, "type" text, keys text, target text);

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'user', json_object('user_id', CAST(user_id AS integer)), 'user_id' FROM w_func_key_dest_user;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'group', json_object('group_id', CAST(group_id AS integer)), 'group_id' FROM w_func_key_dest_group;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'conference', json_object('conference_id', CAST(conference_id AS integer)), 'conference_id' FROM w_func_key_dest_conference;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'queue', json_object('queue_id', CAST(queue_id AS integer)), 'queue_id' FROM w_func_key_dest_queue;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'paging', json_object('paging_id', CAST(paging_id AS integer)), 'paging_id' FROM w_func_key_dest_paging;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'parking', json_object('parking_lot_id', CAST(parking_lot_id AS integer)), 'parking_lot_id' FROM w_func_key_dest_parking;

INSERT OR IGNORE INTO w_does
SELECT func_key_id, 'park_position', json_object('parking_lot_id', CAST(parking_lot_id AS integer), 'position', CAST(park_position AS integer)), 'parking_lot_id'
FROM w_func_key_dest_park_position;

INSERT OR IGNORE INTO w_does SELECT func_key_id, 'custom', json_object('exten', trim(exten)), NULL FROM w_func_key_dest_custom;

INSERT OR IGNORE INTO w_does
SELECT d.func_key_id, 'service', json_object('service', f.feature), NULL FROM w_func_key_dest_service d JOIN w_feature_extension f ON f.uuid = d.feature_extension_uuid;

INSERT OR IGNORE INTO w_does
SELECT d.func_key_id, 'forward', json_object('forward', CASE f.feature WHEN 'fwdbusy' THEN 'busy' WHEN 'fwdrna' THEN 'noanswer' ELSE 'unconditional' END,
    'exten', nullif(trim(d.number), '')), NULL
FROM w_func_key_dest_forward d JOIN w_feature_extension f ON f.uuid = d.feature_extension_uuid;

INSERT OR IGNORE INTO w_does
SELECT d.func_key_id, 'groupmember', json_object('group_id', CAST(d.group_id AS integer), 'action', replace(f.feature, 'groupmember', '')), 'group_id'
FROM w_func_key_dest_groupmember d JOIN w_feature_extension f ON f.uuid = d.feature_extension_uuid;

INSERT OR IGNORE INTO w_does
SELECT d.func_key_id, CASE f.var_name WHEN 'togglerecord' THEN 'onlinerec' ELSE 'transfer' END,
    CASE f.var_name WHEN 'togglerecord' THEN '{}' WHEN 'atxfer' THEN '{"transfer":"attended"}' ELSE '{"transfer":"blind"}' END, NULL
FROM w_func_key_dest_features d JOIN w_features f ON f.id = d.features_id;

INSERT OR IGNORE INTO w_does
SELECT func_key_id, 'bsfilter', json_object('filter_member_id', CAST(filtermember_id AS integer)), 'filter_member_id' FROM w_func_key_dest_bsfilter;

INSERT OR IGNORE INTO w_does
SELECT d.func_key_id, 'agent', json_object('agent_id', CAST(d.agent_id AS integer), 'action',
    CASE f.feature WHEN 'agentstaticlogin' THEN 'login' WHEN 'agentstaticlogoff' THEN 'logout' ELSE 'toggle' END), 'agent_id'
FROM w_func_key_dest_agent d JOIN w_feature_extension f ON f.uuid = d.feature_extension_uuid;

-- leave func_key_mapping because the template is not there
SELECT rowid, NULL, template_id || ', ' || position FROM w_func_key_mapping WHERE template_id NOT IN (SELECT id FROM confd_func_key_template);

-- decide does what is not there, or not here yet, and is left out
SELECT t.tenant_uuid, coalesce('user ' || t.user_id, t.name) || ', key ' || m.position FROM w_func_key_mapping m JOIN confd_func_key_template t ON t.id = m.template_id
WHERE NOT EXISTS (SELECT 1 FROM w_does d LEFT JOIN w_object o ON o.target = d.target AND o.key = CAST(json_extract(d.keys, '$.' || d.target) AS text)
    WHERE d.func_key_id = m.func_key_id AND (d.target IS NULL OR o.tenant_uuid = t.tenant_uuid));

-- leave func_key_mapping because what the key does is not there, or not here yet
SELECT m.rowid, t.tenant_uuid, coalesce('user ' || t.user_id, t.name) || ', key ' || m.position FROM w_func_key_mapping m JOIN confd_func_key_template t ON t.id = m.template_id
WHERE NOT EXISTS (SELECT 1 FROM w_does d LEFT JOIN w_object o ON o.target = d.target AND o.key = CAST(json_extract(d.keys, '$.' || d.target) AS text)
    WHERE d.func_key_id = m.func_key_id AND (d.target IS NULL OR o.tenant_uuid = t.tenant_uuid));

INSERT INTO confd_func_key (template_id, place, blf, label, type, keys, user_id, group_id, paging_id, conference_id, filter_member_id, parking_lot_id, queue_id, agent_id)
SELECT m.template_id, m.position, m.blf = 't', m.label, d."type", d.keys, json_extract(d.keys, '$.user_id'), json_extract(d.keys, '$.group_id'),
    json_extract(d.keys, '$.paging_id'), json_extract(d.keys, '$.conference_id'), json_extract(d.keys, '$.filter_member_id'), json_extract(d.keys, '$.parking_lot_id'),
    json_extract(d.keys, '$.queue_id'), json_extract(d.keys, '$.agent_id')
FROM w_func_key_mapping m JOIN w_does d ON d.func_key_id = m.func_key_id ORDER BY CAST(m.template_id AS integer), CAST(m.position AS integer);
