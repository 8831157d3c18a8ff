-- Where calls are sent.

CREATE TEMP TABLE w_object AS
SELECT 'user_id' AS target, CAST(id AS text) AS key, tenant_uuid FROM confd_user
UNION ALL SELECT 'group_id', CAST(id AS text), tenant_uuid FROM confd_group
UNION ALL SELECT 'voicemail_id', CAST(id AS text), tenant_uuid FROM confd_voicemail
UNION ALL SELECT 'conference_id', CAST(id AS text), tenant_uuid FROM confd_conference
UNION ALL SELECT 'ivr_id', CAST(id AS text), tenant_uuid FROM confd_ivr
UNION ALL SELECT 'queue_id', CAST(id AS text), tenant_uuid FROM confd_queue
UNION ALL SELECT 'agent_id', CAST(id AS text), tenant_uuid FROM confd_agent
UNION ALL SELECT 'outcall_id', CAST(id AS text), tenant_uuid FROM confd_outcall
UNION ALL SELECT 'paging_id', CAST(id AS text), tenant_uuid FROM confd_paging
UNION ALL SELECT 'parking_lot_id', CAST(id AS text), tenant_uuid FROM confd_parkinglot
UNION ALL SELECT 'application_uuid', uuid, tenant_uuid FROM confd_application
UNION ALL SELECT 'switchboard_uuid', uuid, tenant_uuid FROM confd_switchboard
UNION ALL SELECT 'filter_member_id', CAST(s.member_id AS text), f.tenant_uuid FROM confd_callfilter_surrogate s JOIN confd_callfilter f ON f.id = s.callfilter_id;

CREATE UNIQUE INDEX w_object_key ON w_object (target, key);

-- All that send calls somewhere: by which row of which table, whose they are, and in which slot.
CREATE TEMP TABLE w_sends (source text, of integer, tenant_uuid text, slot text, user_id integer, incall_id integer, group_uuid text, schedule_id integer,
    ivr_id integer, "type" text, sub text, keys text, target text, target_key text, reason text);

INSERT INTO w_sends
SELECT 'dialaction', d.rowid, u.tenant_uuid, CASE d.event WHEN 'chanunavail' THEN 'fail' ELSE d.event END, u.id, NULL, NULL, NULL, NULL,
    d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_user u ON u.id = CAST(d.categoryval AS integer) WHERE d.category = 'user' AND d.event IN ('noanswer', 'busy', 'congestion', 'chanunavail');

INSERT INTO w_sends
SELECT 'dialaction', d.rowid, i.tenant_uuid, 'destination', NULL, i.id, NULL, NULL, NULL, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_incall i ON i.id = CAST(d.categoryval AS integer) WHERE d.category = 'incall' AND d.event = 'answer';

INSERT INTO w_sends
SELECT 'dialaction', d.rowid, g.tenant_uuid, d.event, NULL, NULL, g.uuid, NULL, NULL, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_group g ON g.id = CAST(d.categoryval AS integer) WHERE d.category = 'group' AND d.event IN ('noanswer', 'congestion');

INSERT INTO w_sends
SELECT 'dialaction', d.rowid, i.tenant_uuid, d.event, NULL, NULL, NULL, NULL, i.id, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_ivr i ON i.id = CAST(d.categoryval AS integer) WHERE d.category = 'ivr' AND d.event IN ('invalid', 'timeout', 'abort');

INSERT INTO w_sends
SELECT 'dialaction', d.rowid, i.tenant_uuid, 'choices[' || c.place || '].destination', NULL, NULL, NULL, NULL, i.id, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN w_choice c ON c.id = d.categoryval JOIN confd_ivr i ON i.id = CAST(c.ivr_id AS integer) WHERE d.category = 'ivr_choice';

INSERT INTO w_sends
SELECT 'schedule', s.rowid, o.tenant_uuid, 'closed', NULL, NULL, NULL, o.id, NULL, s."type", s.sub, s.keys, s.target, s.target_key, s.reason
FROM w_schedule s JOIN confd_schedule o ON o.id = CAST(s.id AS integer) WHERE s."type" IS NOT NULL;

INSERT INTO w_sends
SELECT 'schedule_time', NULL, o.tenant_uuid, 'exceptional_periods[' || p.place || '].destination', NULL, NULL, NULL, o.id, NULL,
    p."type", p.sub, p.keys, p.target, p.target_key, p.reason
FROM w_period p JOIN confd_schedule o ON o.id = CAST(p.schedule_id AS integer) WHERE p.mode = 'closed' AND p."type" IS NOT NULL;

ALTER TABLE w_sends ADD COLUMN callfilter_id integer;

ALTER TABLE w_sends ADD COLUMN switchboard_uuid text;

INSERT INTO w_sends (source, of, tenant_uuid, slot, callfilter_id, "type", sub, keys, target, target_key, reason)
SELECT 'dialaction', d.rowid, f.tenant_uuid, 'noanswer', f.id, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_callfilter f ON f.id = CAST(d.categoryval AS integer) WHERE d.category = 'callfilter' AND d.event = 'noanswer';

INSERT INTO w_sends (source, of, tenant_uuid, slot, switchboard_uuid, "type", sub, keys, target, target_key, reason)
SELECT 'dialaction', d.rowid, s.tenant_uuid, 'noanswer', s.uuid, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_switchboard s ON s.uuid = d.categoryval WHERE d.category = 'switchboard' AND d.event = 'noanswer';

ALTER TABLE w_sends ADD COLUMN queue_id integer;

INSERT INTO w_sends (source, of, tenant_uuid, slot, queue_id, "type", sub, keys, target, target_key, reason)
SELECT 'dialaction', d.rowid, q.tenant_uuid, CASE d.event WHEN 'chanunavail' THEN 'fail' WHEN 'qwaittime' THEN 'wait_time' WHEN 'qwaitratio' THEN 'wait_ratio' ELSE d.event END,
    q.id, d."type", d.sub, d.keys, d.target, d.target_key, d.reason
FROM w_dialaction d JOIN confd_queue q ON q.id = CAST(d.categoryval AS integer)
WHERE d.category = 'queue' AND d.event IN ('noanswer', 'busy', 'congestion', 'chanunavail', 'qwaittime', 'qwaitratio');

-- leave dialaction because its owner is not there, or sends no calls at such an event
SELECT rowid, NULL, category || ' ' || categoryval || ': ' || event FROM w_dialaction WHERE rowid NOT IN (SELECT of FROM w_sends WHERE source = 'dialaction');

UPDATE w_sends SET reason = 'leads to what is not there' WHERE reason IS NULL AND target IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM w_object o WHERE o.target = w_sends.target AND o.key = w_sends.target_key);

UPDATE w_sends SET reason = 'leads to what is of another tenant' WHERE reason IS NULL AND target IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM w_object o WHERE o.target = w_sends.target AND o.key = w_sends.target_key AND o.tenant_uuid = w_sends.tenant_uuid);

UPDATE w_sends SET reason = 'leads into a context of another tenant' WHERE reason IS NULL
    AND EXISTS (SELECT 1 FROM confd_context c WHERE c.name = json_extract(w_sends.keys, '$.context') AND c.tenant_uuid <> w_sends.tenant_uuid);

-- decide sends calls nowhere now, since it leads to what is not there, or not here: choose another destination
SELECT tenant_uuid, coalesce('user ' || user_id, 'incall ' || incall_id, 'group ' || group_uuid, 'queue ' || queue_id, 'schedule ' || schedule_id, 'menu ' || ivr_id, 'call filter ' || callfilter_id, 'switchboard ' || switchboard_uuid) || ', ' || slot || ': ' || reason
FROM w_sends WHERE reason IS NOT NULL;

-- decide plays music, or has a rule of skills, that is not there or another tenant's, and goes without
SELECT tenant_uuid, coalesce('user ' || user_id, 'incall ' || incall_id, 'group ' || group_uuid, 'queue ' || queue_id, 'schedule ' || schedule_id, 'menu ' || ivr_id, 'call filter ' || callfilter_id, 'switchboard ' || switchboard_uuid) || ', ' || slot
FROM w_sends s WHERE reason IS NULL AND (
    json_extract(keys, '$.moh_uuid') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM confd_moh m WHERE m.uuid = json_extract(s.keys, '$.moh_uuid') AND m.tenant_uuid = s.tenant_uuid)
    OR json_extract(keys, '$.skill_rule_id') IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM confd_skill_rule r WHERE r.id = json_extract(s.keys, '$.skill_rule_id') AND r.tenant_uuid = s.tenant_uuid));

-- leave dialaction
SELECT of, tenant_uuid, coalesce('user ' || user_id, 'incall ' || incall_id, 'group ' || group_uuid, 'queue ' || queue_id, 'menu ' || ivr_id, 'call filter ' || callfilter_id, 'switchboard ' || switchboard_uuid) || ', ' || slot, reason
FROM w_sends WHERE reason IS NOT NULL AND source = 'dialaction';

INSERT INTO confd_destination (of_user_id, of_incall_id, of_group_uuid, of_schedule_id, of_ivr_id, of_callfilter_id, of_switchboard_uuid, of_queue_id, slot, type, sub, keys, user_id, group_id, voicemail_id,
    conference_id, ivr_id, outcall_id, application_uuid, switchboard_uuid, queue_id, skill_rule_id, moh_uuid)
SELECT s.user_id, s.incall_id, s.group_uuid, s.schedule_id, s.ivr_id, s.callfilter_id, s.switchboard_uuid, s.queue_id, s.slot, s."type", s.sub, s.keys, json_extract(s.keys, '$.user_id'),
    json_extract(s.keys, '$.group_id'), json_extract(s.keys, '$.voicemail_id'), json_extract(s.keys, '$.conference_id'), json_extract(s.keys, '$.ivr_id'),
    json_extract(s.keys, '$.outcall_id'), json_extract(s.keys, '$.application_uuid'), json_extract(s.keys, '$.switchboard_uuid'),
    json_extract(s.keys, '$.queue_id'),
    (SELECT r.id FROM confd_skill_rule r WHERE r.id = json_extract(s.keys, '$.skill_rule_id') AND r.tenant_uuid = s.tenant_uuid),
    (SELECT m.uuid FROM confd_moh m WHERE m.uuid = json_extract(s.keys, '$.moh_uuid') AND m.tenant_uuid = s.tenant_uuid)
FROM w_sends s WHERE s.reason IS NULL ORDER BY s.rowid;
