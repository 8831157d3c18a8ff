-- +goose Up
-- The caller ID of a line is the option callerid of its SIP endpoint, whose parts the endpoint's columns repeat. What a line had of its own
-- becomes that option, unless the endpoint has one: "Alice \"Al\" Martin" <1000>, as JSON.
DROP VIEW confd_line_protocol;

ALTER TABLE confd_endpoint_sip ADD COLUMN caller_id_name @text;
ALTER TABLE confd_endpoint_sip ADD COLUMN caller_id_num @text;

UPDATE confd_endpoint_sip SET
    caller_id_name = (SELECT l.caller_id_name FROM confd_line l JOIN confd_line_endpoint le ON le.line_id = l.id WHERE le.sip_uuid = confd_endpoint_sip.uuid),
    caller_id_num = (SELECT l.caller_id_num FROM confd_line l JOIN confd_line_endpoint le ON le.line_id = l.id WHERE le.sip_uuid = confd_endpoint_sip.uuid)
WHERE endpoint_section_options NOT LIKE '%"callerid"%';

UPDATE confd_endpoint_sip SET endpoint_section_options =
    substr(endpoint_section_options, 1, length(endpoint_section_options) - 1) || CASE WHEN endpoint_section_options = '[]' THEN '' ELSE ',' END ||
    '["callerid","\"' || replace(replace(replace(replace(coalesce(caller_id_name, ''), '\', '\\'), '"', '\"'), '\', '\\'), '"', '\"') || '\"' ||
    coalesce(' <' || caller_id_num || '>', '') || '"]]'
WHERE caller_id_name IS NOT NULL OR caller_id_num IS NOT NULL;

ALTER TABLE confd_line DROP COLUMN caller_id_name;
ALTER TABLE confd_line DROP COLUMN caller_id_num;

-- The protocol, the name and the caller ID of each line, from its endpoint.
CREATE VIEW confd_line_protocol AS
    SELECT le.line_id, 'custom' AS protocol, e.interface AS name, NULL AS caller_id_name, NULL AS caller_id_num
    FROM confd_line_endpoint le JOIN confd_endpoint_custom e ON e.id = le.custom_id
    UNION ALL
    SELECT le.line_id, 'sip', e.name, e.caller_id_name, e.caller_id_num FROM confd_line_endpoint le JOIN confd_endpoint_sip e ON e.uuid = le.sip_uuid;
