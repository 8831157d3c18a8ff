-- Telephone users, their lines, numbers and voicemails.

-- leave application because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_application WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_application (uuid, tenant_uuid, name, destination, type, music_on_hold, answer)
SELECT a.uuid, a.tenant_uuid, a.name, CASE WHEN n.application_uuid IS NULL THEN NULL ELSE 'node' END, n.type, nullif(n.music_on_hold, ''),
    coalesce(n.answer, 'f') = 't'
FROM w_application a LEFT JOIN w_application_dest_node n ON n.application_uuid = a.uuid;

-- leave voicemail because its context is not there
SELECT rowid, NULL, mailbox FROM w_voicemail WHERE context NOT IN (SELECT name FROM confd_context);

INSERT INTO confd_voicemail (id, tenant_uuid, name, number, context, password, email, language, timezone, pager, max_messages, attach_audio, delete_messages,
    ask_password, enabled, options, accesstype)
SELECT v.uniqueid, c.tenant_uuid, coalesce(v.fullname, ''), v.mailbox, v.context, nullif(v.password, ''), v.email, v.language, v.tz, v.pager, v.maxmsg,
    CASE WHEN v.attach IS NULL THEN NULL ELSE v.attach <> '0' END, coalesce(v.deletevoicemail, '0') <> '0', coalesce(v.skipcheckpass, '0') = '0',
    v.commented = '0', v.pairs, coalesce(v.accesstype, 'personal')
FROM w_voicemail v JOIN confd_context c ON c.name = v.context;

-- leave userfeatures because its tenant is not there
SELECT rowid, tenant_uuid, uuid FROM w_userfeatures WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

-- leave userfeatures because another row has its number
SELECT rowid, tenant_uuid, uuid FROM w_userfeatures WHERE rowid NOT IN (SELECT min(rowid) FROM w_userfeatures GROUP BY id);

CREATE UNIQUE INDEX w_userfeatures_id ON w_userfeatures (id);

CREATE INDEX w_userfeatures_keys ON w_userfeatures (func_key_private_template_id);

CREATE INDEX w_userfeatures_email ON w_userfeatures (lower(email));

CREATE INDEX w_userfeatures_login ON w_userfeatures (loginclient);

-- decide has the e-mail address of another telephone user, but for its case, and goes without; the account keeps its own
SELECT tenant_uuid, trim(firstname || ' ' || coalesce(lastname, '')) FROM w_userfeatures u
WHERE email <> '' AND EXISTS (SELECT 1 FROM w_userfeatures o WHERE lower(o.email) = lower(u.email) AND o.rowid < u.rowid);

UPDATE w_userfeatures AS u SET email = NULL
WHERE email <> '' AND EXISTS (SELECT 1 FROM w_userfeatures o WHERE lower(o.email) = lower(u.email) AND o.rowid < u.rowid);

-- decide has the username of another telephone user, for old clients, and goes without
SELECT tenant_uuid, trim(firstname || ' ' || coalesce(lastname, '')) FROM w_userfeatures u
WHERE loginclient <> '' AND EXISTS (SELECT 1 FROM w_userfeatures o WHERE o.loginclient = u.loginclient AND o.rowid < u.rowid);

UPDATE w_userfeatures AS u SET loginclient = NULL
WHERE loginclient <> '' AND EXISTS (SELECT 1 FROM w_userfeatures o WHERE o.loginclient = u.loginclient AND o.rowid < u.rowid);

INSERT INTO confd_user (id, uuid, tenant_uuid, firstname, lastname, email, timezone, language, description, caller_id, outgoing_caller_id, mobile_phone_number,
    mobile_fallback_enabled, username, password, music_on_hold, preprocess_subroutine, userfield, call_transfer_enabled, dtmf_hangup_enabled,
    call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled, call_record_incoming_external_enabled,
    online_call_record_enabled, supervision_enabled, ring_seconds, simultaneous_calls, call_permission_password, subscription_type, enabled,
    forward_busy_enabled, forward_busy_destination, forward_noanswer_enabled, forward_noanswer_destination, forward_unconditional_enabled,
    forward_unconditional_destination, service_dnd_enabled, service_incallfilter_enabled, created_at)
SELECT id, uuid, tenant_uuid, coalesce(firstname, ''), nullif(lastname, ''), nullif(email, ''), timezone, nullif(language, ''), nullif(description, ''), nullif(callerid, ''), nullif(outcallerid, ''),
    nullif(mobilephonenumber, ''), mobile_fallback_enabled = 't', nullif(loginclient, ''), nullif(passwdclient, ''), nullif(musiconhold, ''),
    preprocess_subroutine, nullif(userfield, ''), enablexfer = '1', dtmf_hangup = '1', call_record_outgoing_external_enabled = 't',
    call_record_outgoing_internal_enabled = 't', call_record_incoming_internal_enabled = 't', call_record_incoming_external_enabled = 't',
    enableonlinerec = '1', enablehint = '1', ringseconds, simultcalls, nullif(rightcallcode, ''), coalesce(subscription_type, 0), commented = '0',
    enablebusy = '1', nullif(destbusy, ''), enablerna = '1', nullif(destrna, ''), enableunc = '1', nullif(destunc, ''), enablednd = '1', incallfilter = '1',
    coalesce(at, '2000-01-01 00:00:00+00:00')
FROM w_userfeatures;

-- decide is disabled as a telephone user, and logs in all the same, as before: disable the account too, if that is meant
SELECT u.tenant_uuid, trim(u.firstname || ' ' || coalesce(u.lastname, '')) FROM confd_user u JOIN auth_user a ON a.uuid = u.uuid WHERE NOT u.enabled AND a.enabled;

-- decide runs a subroutine of its own dialplan before calls: write it for this gateway (docs/asterisk.md, "A subroutine of one's own")
SELECT tenant_uuid, 'user ' || id || ': ' || preprocess_subroutine FROM w_userfeatures WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'group ' || id || ': ' || preprocess_subroutine FROM w_groupfeatures WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'incall ' || id || ': ' || preprocess_subroutine FROM w_incall WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'conference ' || id || ': ' || preprocess_subroutine FROM w_conference WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'queue ' || id || ': ' || preprocess_subroutine FROM w_queuefeatures WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'agent ' || id || ': ' || preprocess_subroutine FROM w_agentfeatures WHERE preprocess_subroutine <> ''
UNION ALL SELECT tenant_uuid, 'outcall ' || id || ': ' || preprocess_subroutine FROM w_outcall WHERE preprocess_subroutine <> '';

-- decide has a voicemail of another tenant, or one that is not there, and goes without
SELECT u.tenant_uuid, u.uuid FROM w_userfeatures u LEFT JOIN confd_voicemail v ON v.id = u.voicemailid
WHERE u.voicemailid IS NOT NULL AND v.tenant_uuid IS NOT u.tenant_uuid;

INSERT INTO confd_user_voicemail (user_id, voicemail_id)
SELECT u.id, v.id FROM w_userfeatures u JOIN confd_voicemail v ON v.id = u.voicemailid AND v.tenant_uuid = u.tenant_uuid;

-- leave linefeatures because its context is not there
SELECT rowid, NULL, id FROM w_linefeatures WHERE context NOT IN (SELECT name FROM confd_context);

-- A code that two lines have, or none, becomes one that is free.
CREATE TEMP TABLE w_code AS
SELECT id, printf('%06d', provisioningid) AS code, row_number() OVER (PARTITION BY CAST(provisioningid AS integer) ORDER BY rowid) > 1
    OR CAST(coalesce(provisioningid, 0) AS integer) NOT BETWEEN 1 AND 999999 AS again FROM w_linefeatures;

CREATE UNIQUE INDEX w_code_id ON w_code (id);

WITH RECURSIVE every (n) AS (SELECT 100000 UNION ALL SELECT n + 1 FROM every WHERE n < 999999),
    free (nth, code) AS (SELECT row_number() OVER (), printf('%06d', n) FROM (SELECT n FROM every WHERE printf('%06d', n) NOT IN (SELECT code FROM w_code)
        LIMIT (SELECT count(*) FROM w_code WHERE again))),
    needs (nth, id) AS (SELECT row_number() OVER (ORDER BY rowid), id FROM w_code WHERE again)
UPDATE w_code SET code = (SELECT f.code FROM free f JOIN needs n ON n.nth = f.nth WHERE n.id = w_code.id) WHERE again;

-- decide had the provisioning code of another line, or none, and got another one
SELECT c.tenant_uuid, 'line ' || l.id FROM w_linefeatures l JOIN w_code k ON k.id = l.id AND k.again JOIN confd_context c ON c.name = l.context;

INSERT INTO confd_line (id, tenant_uuid, context, provisioning_code, position, registrar)
SELECT l.id, c.tenant_uuid, l.context, k.code, coalesce(l.num, 1), CASE WHEN r.id IS NULL THEN 'default' ELSE l.configregistrar END
FROM w_linefeatures l JOIN w_code k ON k.id = l.id JOIN confd_context c ON c.name = l.context LEFT JOIN confd_registrar r ON r.id = l.configregistrar;

-- decide used a registrar of the provisioning, which no dump has: it uses the default one
SELECT c.tenant_uuid, 'line ' || l.id || ': ' || l.configregistrar FROM w_linefeatures l JOIN confd_context c ON c.name = l.context
WHERE l.configregistrar <> '' AND l.configregistrar NOT IN (SELECT id FROM confd_registrar);

-- decide is on a device of the provisioning, which no dump has: the telephone keeps its settings, and nothing here changes them
SELECT c.tenant_uuid, 'line ' || l.id || ': ' || l.device FROM w_linefeatures l JOIN confd_context c ON c.name = l.context WHERE l.device <> '';

-- decide is an SCCP line, and SCCP is not here: it has no endpoint
SELECT c.tenant_uuid, 'line ' || l.id FROM w_linefeatures l JOIN confd_context c ON c.name = l.context WHERE l.endpoint_sccp_id IS NOT NULL;

INSERT INTO confd_line_endpoint (line_id, sip_uuid)
SELECT l.id, e.uuid FROM w_linefeatures l JOIN confd_line o ON o.id = l.id JOIN confd_endpoint_sip e ON e.uuid = l.endpoint_sip_uuid
WHERE e.tenant_uuid = o.tenant_uuid ORDER BY l.rowid ON CONFLICT DO NOTHING;

INSERT INTO confd_line_endpoint (line_id, custom_id)
SELECT l.id, e.id FROM w_linefeatures l JOIN confd_line o ON o.id = l.id JOIN confd_endpoint_custom e ON e.id = l.endpoint_custom_id
WHERE e.tenant_uuid = o.tenant_uuid ORDER BY l.rowid ON CONFLICT DO NOTHING;

-- decide has an endpoint of another tenant, or one that another line has, or that was left out, and goes without
SELECT o.tenant_uuid, 'line ' || o.id FROM confd_line o JOIN w_linefeatures l ON l.id = o.id
WHERE (l.endpoint_sip_uuid IS NOT NULL OR l.endpoint_custom_id IS NOT NULL) AND o.id NOT IN (SELECT line_id FROM confd_line_endpoint);

-- decide is in an application of another tenant, or one that is not there, and goes without
SELECT o.tenant_uuid, 'line ' || o.id FROM confd_line o JOIN w_linefeatures l ON l.id = o.id LEFT JOIN confd_application a ON a.uuid = l.application_uuid
WHERE l.application_uuid IS NOT NULL AND a.tenant_uuid IS NOT o.tenant_uuid;

INSERT INTO confd_line_application (line_id, application_uuid)
SELECT l.id, a.uuid FROM w_linefeatures l JOIN confd_line o ON o.id = l.id JOIN confd_application a ON a.uuid = l.application_uuid WHERE a.tenant_uuid = o.tenant_uuid;

-- leave user_line because the user or the line is not there, or they are of different tenants
SELECT ul.rowid, u.tenant_uuid, 'user ' || ul.user_id || ', line ' || ul.line_id FROM w_user_line ul
LEFT JOIN confd_user u ON u.id = ul.user_id LEFT JOIN confd_line l ON l.id = ul.line_id
WHERE u.id IS NULL OR l.id IS NULL OR u.tenant_uuid <> l.tenant_uuid;

-- The main line of a user comes first, and the main user of a line.
INSERT INTO confd_user_line (user_id, line_id, position)
SELECT user_id, line_id, row_number() OVER (PARTITION BY user_id ORDER BY main_line = 'f', rowid) - 1
FROM w_user_line ORDER BY main_user = 'f', rowid;

-- leave extensions because its context is not there
SELECT rowid, NULL, exten || '@' || context FROM w_extensions WHERE context NOT IN (SELECT name FROM confd_context);

-- leave extensions because it is a code of an old release, which nobody sees
SELECT rowid, NULL, exten FROM w_extensions WHERE type IN ('extenfeatures', 'featuremap', 'generalfeatures', 'voicemenu');

INSERT INTO confd_extension (id, tenant_uuid, exten, context, enabled)
SELECT x.id, c.tenant_uuid, x.exten, x.context, x.commented = '0' FROM w_extensions x JOIN confd_context c ON c.name = x.context;

-- leave line_extension because the line or the number is not there, or they are of different tenants
SELECT lx.rowid, l.tenant_uuid, 'line ' || lx.line_id || ', extension ' || lx.extension_id FROM w_line_extension lx
LEFT JOIN confd_line l ON l.id = lx.line_id LEFT JOIN confd_extension x ON x.id = lx.extension_id
WHERE l.id IS NULL OR x.id IS NULL OR l.tenant_uuid <> x.tenant_uuid;

-- decide is a further number of a line, of which each has one here: the number leads nowhere
SELECT tenant_uuid, object FROM (
    SELECT l.tenant_uuid, x.exten || '@' || x.context || ', line ' || lx.line_id AS object,
        row_number() OVER (PARTITION BY lx.line_id ORDER BY lx.main_extension = 'f', lx.rowid) AS nth, lx.extension_id
    FROM w_line_extension lx JOIN confd_line l ON l.id = lx.line_id JOIN confd_extension x ON x.id = lx.extension_id)
n WHERE nth > 1 AND NOT EXISTS (SELECT 1 FROM w_line_extension o WHERE o.extension_id = n.extension_id AND o.main_extension = 't');

-- leave line_extension because a line has one number here, and another is its main one
SELECT id, tenant_uuid, object FROM (
    SELECT lx.rowid AS id, l.tenant_uuid, 'line ' || lx.line_id || ', ' || x.exten AS object,
        row_number() OVER (PARTITION BY lx.line_id ORDER BY lx.main_extension = 'f', lx.rowid) AS nth
    FROM w_line_extension lx JOIN confd_line l ON l.id = lx.line_id JOIN confd_extension x ON x.id = lx.extension_id) WHERE nth > 1;

INSERT INTO confd_line_extension (line_id, extension_id) SELECT line_id, extension_id FROM w_line_extension;
