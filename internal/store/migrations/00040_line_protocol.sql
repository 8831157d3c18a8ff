-- +goose Up
-- The same view with one look-up for each line instead of one for each kind of endpoint: a line has one endpoint at most.
DROP VIEW confd_line_protocol;
CREATE VIEW confd_line_protocol AS
    SELECT le.line_id, CASE WHEN le.sip_uuid IS NULL THEN 'custom' ELSE 'sip' END AS protocol, coalesce(s.name, o.interface) AS name,
        s.caller_id_name, s.caller_id_num
    FROM confd_line_endpoint le LEFT JOIN confd_endpoint_sip s ON s.uuid = le.sip_uuid LEFT JOIN confd_endpoint_custom o ON o.id = le.custom_id
    WHERE le.sip_uuid IS NOT NULL OR le.custom_id IS NOT NULL;
