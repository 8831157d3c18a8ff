-- Queues, their agents, and what these can.

-- leave agentfeatures because its tenant is not there
SELECT rowid, tenant_uuid, number FROM w_agentfeatures WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_agent (id, tenant_uuid, number, firstname, lastname, password, language, preprocess_subroutine, description)
SELECT id, tenant_uuid, number, nullif(firstname, ''), nullif(lastname, ''), nullif(passwd, ''), nullif(language, ''), nullif(preprocess_subroutine, ''), description
FROM w_agentfeatures;

-- decide is an agent who is not there, or another tenant's, and goes without
SELECT u.tenant_uuid, u.uuid FROM w_userfeatures u LEFT JOIN confd_agent a ON a.id = u.agentid
WHERE u.agentid IS NOT NULL AND a.tenant_uuid IS NOT u.tenant_uuid;

INSERT INTO confd_user_agent (user_id, agent_id)
SELECT u.id, a.id FROM w_userfeatures u JOIN confd_agent a ON a.id = u.agentid AND a.tenant_uuid = u.tenant_uuid;

-- leave queueskill because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_queueskill WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_skill (id, tenant_uuid, name, description) SELECT id, tenant_uuid, name, description FROM w_queueskill;

-- leave agentqueueskill because the agent or the skill is not there, or they are of different tenants
SELECT l.rowid, a.tenant_uuid, 'agent ' || l.agentid || ', skill ' || l.skillid FROM w_agentqueueskill l LEFT JOIN confd_agent a ON a.id = l.agentid
LEFT JOIN confd_skill s ON s.id = l.skillid WHERE a.id IS NULL OR s.tenant_uuid IS NOT a.tenant_uuid;

INSERT INTO confd_agent_skill (agent_id, skill_id, skill_weight) SELECT agentid, skillid, weight FROM w_agentqueueskill;

-- leave queuefeatures because its tenant is not there, or its other row (of queue)
SELECT f.rowid, f.tenant_uuid, f.name FROM w_queuefeatures f
WHERE f.tenant_uuid NOT IN (SELECT uuid FROM auth_tenant) OR f.name NOT IN (SELECT name FROM w_queue WHERE category = 'queue');

INSERT INTO confd_queue (id, tenant_uuid, name, label, data_quality, dtmf_hangup_callee_enabled, dtmf_hangup_caller_enabled, dtmf_transfer_callee_enabled,
    dtmf_transfer_caller_enabled, dtmf_record_callee_enabled, dtmf_record_caller_enabled, dtmf_record_toggle, retry_on_timeout, ring_on_hold, timeout,
    announce_hold_time_on_entry, ignore_forward, preprocess_subroutine, music_on_hold, wait_time_threshold, wait_ratio_threshold, caller_id_mode, caller_id_name,
    mark_answered_elsewhere, enabled, options)
SELECT f.id, f.tenant_uuid, f.name, nullif(f.displayname, ''), f.data_quality = '1', f.hitting_callee = '1', f.hitting_caller = '1', f.transfer_user = '1',
    f.transfer_call = '1', f.write_caller = '1', f.write_calling = '1', f.dtmf_record_toggle = 't', f.retries = '0', f.ring = '1', f.timeout,
    f.announce_holdtime = '1', f.ignore_forward = '1', nullif(f.preprocess_subroutine, ''), nullif(q.musicclass, ''), f.waittime, f.waitratio,
    nullif(c.mode, ''), nullif(c.callerdisplay, ''), f.mark_answered_elsewhere = '1', q.commented = '0', q.options
FROM w_queuefeatures f JOIN w_queue q ON q.name = f.name AND q.category = 'queue' LEFT JOIN w_callerid c ON c.type = 'queue' AND c.typeval = f.id;

-- leave queuemember because the queue, or the agent or user, is not there, or they are of different tenants
SELECT m.rowid, q.tenant_uuid, m.queue_name || ': ' || m.interface FROM w_queuemember m LEFT JOIN confd_queue q ON q.name = m.queue_name
LEFT JOIN confd_agent a ON m.usertype = 'agent' AND a.id = m.userid LEFT JOIN confd_user u ON m.usertype = 'user' AND u.id = m.userid
WHERE m.category = 'queue' AND (q.id IS NULL OR coalesce(a.tenant_uuid, u.tenant_uuid) IS NOT q.tenant_uuid);

INSERT INTO confd_queue_agent (queue_id, agent_id, penalty, priority)
SELECT q.id, m.userid, min(CAST(m.penalty AS integer)), min(CAST(m.position AS integer)) FROM w_queuemember m JOIN confd_queue q ON q.name = m.queue_name
WHERE m.category = 'queue' AND m.usertype = 'agent' GROUP BY q.id, m.userid;

INSERT INTO confd_queue_user (queue_id, user_id, priority)
SELECT q.id, m.userid, min(CAST(m.position AS integer)) FROM w_queuemember m JOIN confd_queue q ON q.name = m.queue_name
WHERE m.category = 'queue' AND m.usertype = 'user' GROUP BY q.id, m.userid;
