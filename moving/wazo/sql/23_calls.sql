-- Groups, menus, trunks: all that calls come from and go to, without where they are sent, which is in 24_destinations.sql.

-- leave groupfeatures because its tenant is not there, or its other row (of queue)
SELECT g.rowid, g.tenant_uuid, g.label FROM w_groupfeatures g
WHERE g.tenant_uuid NOT IN (SELECT uuid FROM auth_tenant) OR g.name NOT IN (SELECT name FROM w_queue WHERE category = 'group');

INSERT INTO confd_group (id, uuid, tenant_uuid, name, label, preprocess_subroutine, ring_strategy, caller_id_mode, caller_id_name, dtmf_record_toggle, timeout,
    user_timeout, retry_delay, music_on_hold, ring_in_use, mark_answered_elsewhere, enabled, ignore_forward, max_calls)
SELECT g.id, g.uuid, g.tenant_uuid, g.name, coalesce(nullif(g.label, ''), g.name), g.preprocess_subroutine,
    CASE q.strategy WHEN 'ringall' THEN 'all' WHEN 'leastrecent' THEN 'least_recent' WHEN 'rrmemory' THEN 'memorized_round_robin'
        WHEN 'fewestcalls' THEN 'fewest_calls' WHEN 'wrandom' THEN 'weight_random' ELSE q.strategy END,
    nullif(c.mode, ''), nullif(c.callerdisplay, ''), g.dtmf_record_toggle = 't', g.timeout, q.timeout, q.retry, nullif(q.musicclass, ''), q.ringinuse = '1',
    g.mark_answered_elsewhere = '1', q.commented = '0', g.ignore_forward = '1', q.maxlen
FROM w_groupfeatures g JOIN w_queue q ON q.name = g.name AND q.category = 'group' LEFT JOIN w_callerid c ON c.type = 'group' AND c.typeval = g.id;

-- leave queuemember because the group or the user is not there, or they are of different tenants
SELECT m.rowid, g.tenant_uuid, coalesce(g.label, m.queue_name) || ': ' || m.interface FROM w_queuemember m LEFT JOIN confd_group g ON g.name = m.queue_name
LEFT JOIN confd_user u ON u.id = m.userid
WHERE m.category = 'group' AND (g.id IS NULL OR m.exten IS NULL AND u.tenant_uuid IS NOT g.tenant_uuid);

-- leave queuemember because the context of the number is another tenant's
SELECT m.rowid, g.tenant_uuid, m.interface FROM w_queuemember m JOIN confd_group g ON g.name = m.queue_name JOIN confd_context c ON c.name = m.context
WHERE m.userid = '0' AND c.tenant_uuid <> g.tenant_uuid;

INSERT INTO confd_group_user (group_uuid, user_id, priority)
SELECT g.uuid, m.userid, min(CAST(m.position AS integer)) FROM w_queuemember m JOIN confd_group g ON g.name = m.queue_name WHERE m.category = 'group' AND m.userid <> '0'
GROUP BY g.uuid, m.userid;

INSERT INTO confd_group_number (group_uuid, exten, context, priority)
SELECT g.uuid, m.exten, m.context, min(CAST(m.position AS integer)) FROM w_queuemember m JOIN confd_group g ON g.name = m.queue_name WHERE m.category = 'group' AND m.userid = '0'
GROUP BY g.uuid, m.exten, m.context;

-- leave incall because its tenant is not there
SELECT rowid, tenant_uuid, id FROM w_incall WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_incall (id, tenant_uuid, preprocess_subroutine, greeting_sound, caller_id_mode, caller_id_name, description)
SELECT i.id, i.tenant_uuid, i.preprocess_subroutine, nullif(i.greeting_sound, ''), nullif(c.mode, ''), nullif(c.callerdisplay, ''), i.description
FROM w_incall i LEFT JOIN w_callerid c ON c.type = 'incall' AND c.typeval = i.id;

-- leave callfilter because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_callfilter WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_callfilter (id, tenant_uuid, name, strategy, source, caller_id_mode, caller_id_name, surrogates_timeout, description, enabled)
SELECT f.id, f.tenant_uuid, f.name, CASE f.bosssecretary WHEN 'bossfirst-serial' THEN 'all-recipients-then-linear-surrogates'
        WHEN 'bossfirst-simult' THEN 'all-recipients-then-all-surrogates' WHEN 'secretary-serial' THEN 'linear-surrogates-then-all-recipients'
        WHEN 'secretary-simult' THEN 'all-surrogates-then-all-recipients' ELSE 'all' END,
    coalesce(nullif(f.callfrom, ''), 'all'), nullif(c.mode, ''), nullif(c.callerdisplay, ''), nullif(CAST(f.ringseconds AS integer), 0), f.description,
    f.commented = '0'
FROM w_callfilter f LEFT JOIN w_callerid c ON c.type = 'callfilter' AND c.typeval = f.id;

-- leave callfiltermember because the call filter or the user is not there, or they are of different tenants
SELECT m.rowid, f.tenant_uuid, 'call filter ' || m.callfilterid || ', user ' || m.typeval FROM w_callfiltermember m
LEFT JOIN confd_callfilter f ON f.id = m.callfilterid LEFT JOIN confd_user u ON u.id = CAST(m.typeval AS integer)
WHERE f.id IS NULL OR u.tenant_uuid IS NOT f.tenant_uuid;

-- leave callfiltermember because the user is in the filter already, or it has another recipient, and one at most here
SELECT rowid, NULL, 'call filter ' || callfilterid || ', user ' || typeval FROM w_callfiltermember m
WHERE EXISTS (SELECT 1 FROM w_callfiltermember o WHERE o.callfilterid = m.callfilterid AND o.rowid < m.rowid
    AND (o.typeval = m.typeval OR o.bstype = 'boss' AND m.bstype = 'boss'));

INSERT INTO confd_callfilter_recipient (callfilter_id, user_id, timeout)
SELECT callfilterid, typeval, nullif(CAST(ringseconds AS integer), 0) FROM w_callfiltermember WHERE bstype = 'boss';

INSERT INTO confd_callfilter_surrogate (member_id, callfilter_id, user_id, position)
SELECT id, callfilterid, typeval, row_number() OVER (PARTITION BY callfilterid ORDER BY CAST(priority AS integer), CAST(id AS integer)) - 1
FROM w_callfiltermember WHERE bstype = 'secretary';

-- decide is switched on for the surrogate there, and off here: dial the code once more
SELECT f.tenant_uuid, 'call filter ' || f.name || ', user ' || m.typeval FROM w_callfiltermember m JOIN confd_callfilter f ON f.id = m.callfilterid
WHERE m.bstype = 'secretary' AND m.active = '1';

-- leave switchboard because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_switchboard WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_switchboard (uuid, tenant_uuid, name, timeout, queue_music_on_hold, waiting_room_music_on_hold)
SELECT s.uuid, s.tenant_uuid, s.name, nullif(CAST(s.timeout AS integer), 0),
    (SELECT m.name FROM confd_moh m WHERE m.uuid = s.queue_moh_uuid AND m.tenant_uuid = s.tenant_uuid),
    (SELECT m.name FROM confd_moh m WHERE m.uuid = s.hold_moh_uuid AND m.tenant_uuid = s.tenant_uuid)
FROM w_switchboard s;

-- decide had music of another tenant, or that is not there, and has none
SELECT s.tenant_uuid, 'switchboard ' || s.name FROM w_switchboard s JOIN confd_switchboard o ON o.uuid = s.uuid
WHERE s.queue_moh_uuid IS NOT NULL AND o.queue_music_on_hold IS NULL OR s.hold_moh_uuid IS NOT NULL AND o.waiting_room_music_on_hold IS NULL;

-- leave switchboard_member_user because the switchboard or the user is not there, or they are of different tenants
SELECT m.rowid, s.tenant_uuid, 'switchboard ' || m.switchboard_uuid || ', user ' || m.user_uuid FROM w_switchboard_member_user m
LEFT JOIN confd_switchboard s ON s.uuid = m.switchboard_uuid LEFT JOIN confd_user u ON u.uuid = m.user_uuid
WHERE s.uuid IS NULL OR u.tenant_uuid IS NOT s.tenant_uuid;

INSERT INTO confd_switchboard_user (switchboard_uuid, user_id)
SELECT DISTINCT m.switchboard_uuid, u.id FROM w_switchboard_member_user m JOIN confd_user u ON u.uuid = m.user_uuid;

-- leave callerid because its owner is not there, or not here yet
SELECT rowid, NULL, type || ' ' || typeval FROM w_callerid WHERE mode <> '' AND NOT (type = 'group' AND typeval IN (SELECT id FROM confd_group)
    OR type = 'queue' AND typeval IN (SELECT id FROM confd_queue)
    OR type = 'incall' AND typeval IN (SELECT id FROM confd_incall)
    OR type = 'callfilter' AND typeval IN (SELECT id FROM confd_callfilter));

-- leave conference because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_conference WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_conference (id, tenant_uuid, name, preprocess_subroutine, max_users, record, pin, admin_pin, quiet_join_leave, announce_join_leave,
    announce_user_count, announce_only_user, music_on_hold)
SELECT id, tenant_uuid, name, preprocess_subroutine, max_users, record = 't', nullif(pin, ''), nullif(admin_pin, ''), quiet_join_leave = 't',
    announce_join_leave = 't', announce_user_count = 't', announce_only_user = 't', nullif(music_on_hold, '')
FROM w_conference;

-- leave parking_lot because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_parking_lot WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_parkinglot (id, tenant_uuid, name, slots_start, slots_end, timeout, music_on_hold)
SELECT id, tenant_uuid, name, slots_start, slots_end, timeout, nullif(music_on_hold, '') FROM w_parking_lot;

-- Numbers of these: each has one.
CREATE TEMP TABLE w_number AS
SELECT x.id, x.type, x.typeval, o.tenant_uuid, row_number() OVER (PARTITION BY x.type, x.typeval ORDER BY x.rowid) AS nth FROM w_extensions x
JOIN confd_extension o ON o.id = x.id WHERE x.type IN ('group', 'queue', 'incall', 'conference', 'parking');

-- decide is a further number of a group, a queue, an incall, a conference or a parking lot, of which each has one here: the number leads nowhere
SELECT n.tenant_uuid, x.exten || '@' || x.context FROM w_number n JOIN confd_extension x ON x.id = n.id WHERE n.nth > 1;

INSERT INTO confd_group_extension (group_uuid, extension_id)
SELECT g.uuid, n.id FROM w_number n JOIN confd_group g ON g.id = n.typeval AND g.tenant_uuid = n.tenant_uuid WHERE n.type = 'group' AND n.nth = 1;

INSERT INTO confd_queue_extension (queue_id, extension_id)
SELECT q.id, n.id FROM w_number n JOIN confd_queue q ON q.id = n.typeval AND q.tenant_uuid = n.tenant_uuid WHERE n.type = 'queue' AND n.nth = 1;

INSERT INTO confd_incall_extension (incall_id, extension_id)
SELECT i.id, n.id FROM w_number n JOIN confd_incall i ON i.id = n.typeval AND i.tenant_uuid = n.tenant_uuid WHERE n.type = 'incall' AND n.nth = 1;

INSERT INTO confd_conference_extension (conference_id, extension_id)
SELECT c.id, n.id FROM w_number n JOIN confd_conference c ON c.id = n.typeval AND c.tenant_uuid = n.tenant_uuid WHERE n.type = 'conference' AND n.nth = 1;

INSERT INTO confd_parkinglot_extension (parkinglot_id, extension_id)
SELECT p.id, n.id FROM w_number n JOIN confd_parkinglot p ON p.id = n.typeval AND p.tenant_uuid = n.tenant_uuid WHERE n.type = 'parking' AND n.nth = 1;

-- decide led to a group, a queue, an incall, a conference or a parking lot of another tenant, and leads nowhere
SELECT n.tenant_uuid, x.exten || '@' || x.context FROM w_number n JOIN confd_extension x ON x.id = n.id
JOIN (SELECT 'group' AS type, id, tenant_uuid FROM confd_group UNION ALL SELECT 'queue', id, tenant_uuid FROM confd_queue
    UNION ALL SELECT 'incall', id, tenant_uuid FROM confd_incall UNION ALL SELECT 'conference', id, tenant_uuid FROM confd_conference
    UNION ALL SELECT 'parking', id, tenant_uuid FROM confd_parkinglot) o ON o.type = n.type AND o.id = CAST(n.typeval AS integer)
WHERE o.tenant_uuid <> n.tenant_uuid;

-- leave paging because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_paging WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_paging (id, tenant_uuid, number, name, duplex, ignore_forward, record, caller_notification, announce_caller, announce_sound, enabled)
SELECT p.id, p.tenant_uuid, p.number, p.name, p.duplex = '1', p."ignore" = '1', p.record = '1', p.quiet = '0', p.announcement_caller = '0',
    nullif(p.announcement_file, ''), p.commented = '0'
FROM w_paging p;

-- leave paginguser because the paging or the user is not there, or they are of different tenants
SELECT m.rowid, p.tenant_uuid, 'paging ' || m.pagingid || ', user ' || m.userfeaturesid FROM w_paginguser m
LEFT JOIN confd_paging p ON p.id = m.pagingid LEFT JOIN confd_user u ON u.id = m.userfeaturesid WHERE p.id IS NULL OR u.tenant_uuid IS NOT p.tenant_uuid;

INSERT INTO confd_paging_caller (paging_id, user_id) SELECT DISTINCT pagingid, userfeaturesid FROM w_paginguser WHERE caller = '1';

INSERT INTO confd_paging_member (paging_id, user_id) SELECT DISTINCT pagingid, userfeaturesid FROM w_paginguser WHERE caller = '0';

-- leave ivr because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_ivr WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave ivr_choice because its menu is not there
SELECT rowid, NULL, exten FROM w_ivr_choice WHERE ivr_id NOT IN (SELECT id FROM w_ivr);

-- leave ivr_choice because the menu has this choice already
SELECT c.rowid, NULL, 'menu ' || c.ivr_id || ', ' || c.exten FROM w_ivr_choice c
WHERE EXISTS (SELECT 1 FROM w_ivr_choice o WHERE o.ivr_id = c.ivr_id AND o.exten = c.exten AND CAST(o.id AS integer) < CAST(c.id AS integer));

-- The places of choices and of periods in their lists, by which destinations find them.
CREATE TEMP TABLE w_choice AS SELECT id, ivr_id, exten, row_number() OVER (PARTITION BY ivr_id ORDER BY CAST(id AS integer)) - 1 AS place FROM w_ivr_choice;

INSERT INTO confd_ivr (id, tenant_uuid, name, description, greeting_sound, menu_sound, invalid_sound, abort_sound, timeout, max_tries, choices)
SELECT i.id, i.tenant_uuid, i.name, i.description, nullif(i.greeting_sound, ''), i.menu_sound, nullif(i.invalid_sound, ''), nullif(i.abort_sound, ''), i.timeout,
    i.max_tries, (SELECT json_group_array(json_object('exten', c.exten, 'destination', json_object('type', 'none')) ORDER BY c.place)
        FROM w_choice c WHERE c.ivr_id = i.id)
FROM w_ivr i;

-- leave schedule because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_schedule WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave schedule_time because its schedule is not there, or it is disabled
SELECT rowid, NULL, schedule_id || ': ' || hours FROM w_schedule_time WHERE schedule_id NOT IN (SELECT id FROM w_schedule) OR commented <> '0';

CREATE TEMP TABLE w_period AS
SELECT id, schedule_id, mode, "type", sub, keys, target, target_key, reason,
    json_object('hours_start', start, 'hours_end', "end", 'week_days', json(days), 'month_days', json(dates), 'months', json(of_months)) AS period,
    row_number() OVER (PARTITION BY schedule_id, mode ORDER BY CAST(id AS integer)) - 1 AS place FROM w_schedule_time;

INSERT INTO confd_schedule (id, tenant_uuid, name, timezone, open_periods, exceptional_periods, enabled)
SELECT s.id, s.tenant_uuid, s.name, s.timezone,
    (SELECT json_group_array(json(p.period) ORDER BY p.place) FROM w_period p WHERE p.schedule_id = s.id AND p.mode = 'opened'),
    (SELECT json_group_array(json_set(p.period, '$.destination', json_object('type', 'none')) ORDER BY p.place)
        FROM w_period p WHERE p.schedule_id = s.id AND p.mode = 'closed'), s.commented = '0'
FROM w_schedule s;

-- leave trunkfeatures because its tenant is not there
SELECT rowid, tenant_uuid, id FROM w_trunkfeatures WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_trunk (id, tenant_uuid, context, twilio_incoming, outgoing_caller_id_format)
SELECT id, tenant_uuid, context, twilio_incoming = 't', coalesce(outgoing_caller_id_format, '+E164') FROM w_trunkfeatures;

INSERT INTO confd_trunk_endpoint (trunk_id, sip_uuid)
SELECT t.id, e.uuid FROM w_trunkfeatures t JOIN confd_endpoint_sip e ON e.uuid = t.endpoint_sip_uuid AND e.tenant_uuid = t.tenant_uuid
WHERE e.uuid NOT IN (SELECT sip_uuid FROM confd_line_endpoint WHERE sip_uuid IS NOT NULL) ORDER BY t.rowid ON CONFLICT DO NOTHING;

INSERT INTO confd_trunk_endpoint (trunk_id, custom_id)
SELECT t.id, e.id FROM w_trunkfeatures t JOIN confd_endpoint_custom e ON e.id = t.endpoint_custom_id AND e.tenant_uuid = t.tenant_uuid
WHERE e.id NOT IN (SELECT custom_id FROM confd_line_endpoint WHERE custom_id IS NOT NULL) ORDER BY t.rowid ON CONFLICT DO NOTHING;

-- leave outcall because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_outcall WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_outcall (id, tenant_uuid, name, internal_caller_id, preprocess_subroutine, ring_time, description, enabled)
SELECT id, tenant_uuid, name, internal = '1', preprocess_subroutine, nullif(CAST(hangupringtime AS integer), 0), description, commented = '0' FROM w_outcall;

-- leave outcalltrunk because the outgoing call or the trunk is not there, or they are of different tenants
SELECT l.rowid, o.tenant_uuid, 'outcall ' || l.outcallid || ', trunk ' || l.trunkfeaturesid FROM w_outcalltrunk l
LEFT JOIN confd_outcall o ON o.id = l.outcallid LEFT JOIN confd_trunk t ON t.id = l.trunkfeaturesid WHERE o.id IS NULL OR t.tenant_uuid IS NOT o.tenant_uuid;

INSERT INTO confd_outcall_trunk (outcall_id, trunk_id, position)
SELECT outcallid, trunkfeaturesid, row_number() OVER (PARTITION BY outcallid ORDER BY CAST(priority AS integer), rowid) - 1 FROM w_outcalltrunk;

INSERT INTO confd_outcall_extension (extension_id, outcall_id, caller_id, external_prefix, prefix, strip_digits)
SELECT x.id, o.id, nullif(d.callerid, ''), nullif(d.externprefix, ''), nullif(d.prefix, ''), coalesce(CAST(d.stripnum AS integer), 0)
FROM w_extensions x JOIN w_dialpattern d ON d.id = x.typeval AND d.type = 'outcall' JOIN confd_outcall o ON o.id = d.typeid
JOIN confd_extension e ON e.id = x.id AND e.tenant_uuid = o.tenant_uuid WHERE x.type = 'outcall';

-- leave dialpattern because no number leads to it
SELECT d.rowid, NULL, d.id FROM w_dialpattern d
WHERE NOT EXISTS (SELECT 1 FROM w_extensions x JOIN confd_outcall_extension e ON e.extension_id = x.id WHERE x.type = 'outcall' AND x.typeval = d.id);

-- leave rightcall because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_rightcall WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_callpermission (id, tenant_uuid, name, password, mode, extensions, enabled, description)
SELECT r.id, r.tenant_uuid, r.name, nullif(r.passwd, ''), CASE r."authorization" WHEN '1' THEN 'allow' ELSE 'deny' END,
    (SELECT json_group_array(exten ORDER BY exten) FROM (SELECT DISTINCT x.exten FROM w_rightcallexten x WHERE x.rightcallid = r.id)), r.commented = '0', r.description
FROM w_rightcall r;

-- leave rightcallmember because the permission or its owner is not there, or they are of different tenants
SELECT m.rowid, p.tenant_uuid, m.type || ' ' || m.typeval FROM w_rightcallmember m LEFT JOIN confd_callpermission p ON p.id = m.rightcallid
LEFT JOIN (SELECT 'user' AS type, id, tenant_uuid FROM confd_user UNION ALL SELECT 'group', id, tenant_uuid FROM confd_group
    UNION ALL SELECT 'outcall', id, tenant_uuid FROM confd_outcall) o ON o.type = m.type AND o.id = CAST(m.typeval AS integer)
WHERE p.id IS NULL OR o.tenant_uuid IS NOT p.tenant_uuid;

INSERT INTO confd_user_callpermission (user_id, callpermission_id) SELECT DISTINCT typeval, rightcallid FROM w_rightcallmember WHERE type = 'user';

INSERT INTO confd_group_callpermission (group_uuid, callpermission_id)
SELECT DISTINCT g.uuid, m.rightcallid FROM w_rightcallmember m JOIN confd_group g ON g.id = m.typeval WHERE m.type = 'group';

INSERT INTO confd_outcall_callpermission (outcall_id, callpermission_id) SELECT DISTINCT typeval, rightcallid FROM w_rightcallmember WHERE type = 'outcall';

-- leave pickup because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_pickup WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_callpickup (id, tenant_uuid, name, description, enabled) SELECT id, tenant_uuid, name, description, commented = '0' FROM w_pickup;

-- leave pickupmember because queues are in no pickup here
SELECT rowid, NULL, 'pickup ' || pickupid || ', queue ' || memberid FROM w_pickupmember WHERE membertype = 'queue';

-- leave pickupmember because the pickup or the member is not there, or they are of different tenants
SELECT m.rowid, p.tenant_uuid, m.membertype || ' ' || m.memberid FROM w_pickupmember m LEFT JOIN confd_callpickup p ON p.id = m.pickupid
LEFT JOIN (SELECT 'user' AS type, id, tenant_uuid FROM confd_user UNION ALL SELECT 'group', id, tenant_uuid FROM confd_group) o
    ON o.type = m.membertype AND o.id = CAST(m.memberid AS integer)
WHERE p.id IS NULL OR o.tenant_uuid IS NOT p.tenant_uuid;

INSERT INTO confd_callpickup_interceptor_user (callpickup_id, user_id)
SELECT DISTINCT pickupid, memberid FROM w_pickupmember WHERE category = 'member' AND membertype = 'user';

INSERT INTO confd_callpickup_target_user (callpickup_id, user_id)
SELECT DISTINCT pickupid, memberid FROM w_pickupmember WHERE category = 'pickup' AND membertype = 'user';

INSERT INTO confd_callpickup_interceptor_group (callpickup_id, group_uuid)
SELECT DISTINCT m.pickupid, g.uuid FROM w_pickupmember m JOIN confd_group g ON g.id = m.memberid WHERE m.category = 'member' AND m.membertype = 'group';

INSERT INTO confd_callpickup_target_group (callpickup_id, group_uuid)
SELECT DISTINCT m.pickupid, g.uuid FROM w_pickupmember m JOIN confd_group g ON g.id = m.memberid WHERE m.category = 'pickup' AND m.membertype = 'group';

-- leave schedule_path because the schedule or its owner is not there, or they are of different tenants
SELECT l.rowid, s.tenant_uuid, l.path || ' ' || l.pathid FROM w_schedule_path l LEFT JOIN confd_schedule s ON s.id = l.schedule_id
LEFT JOIN (SELECT 'user' AS type, id, tenant_uuid FROM confd_user UNION ALL SELECT 'group', id, tenant_uuid FROM confd_group
    UNION ALL SELECT 'queue', id, tenant_uuid FROM confd_queue
    UNION ALL SELECT 'incall', id, tenant_uuid FROM confd_incall UNION ALL SELECT 'outcall', id, tenant_uuid FROM confd_outcall) o
    ON o.type = l.path AND o.id = CAST(l.pathid AS integer)
WHERE s.id IS NULL OR o.tenant_uuid IS NOT s.tenant_uuid;

-- leave schedule_path because its owner has another schedule, and one at most here
SELECT rowid, NULL, path || ' ' || pathid FROM w_schedule_path l
WHERE EXISTS (SELECT 1 FROM w_schedule_path o WHERE o.path = l.path AND o.pathid = l.pathid AND o.rowid < l.rowid);

INSERT INTO confd_user_schedule (user_id, schedule_id) SELECT pathid, schedule_id FROM w_schedule_path WHERE path = 'user';

INSERT INTO confd_group_schedule (group_uuid, schedule_id)
SELECT g.uuid, l.schedule_id FROM w_schedule_path l JOIN confd_group g ON g.id = l.pathid WHERE l.path = 'group';

INSERT INTO confd_queue_schedule (queue_id, schedule_id) SELECT pathid, schedule_id FROM w_schedule_path WHERE path = 'queue';

INSERT INTO confd_incall_schedule (incall_id, schedule_id) SELECT pathid, schedule_id FROM w_schedule_path WHERE path = 'incall';

INSERT INTO confd_outcall_schedule (outcall_id, schedule_id) SELECT pathid, schedule_id FROM w_schedule_path WHERE path = 'outcall';
