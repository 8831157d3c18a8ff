-- +goose Up
-- The columns of SIP endpoints that repeat the caller ID, for the endpoints that had the option callerid before there were such columns. The
-- last option counts: "Alice \"Al\" Martin" <1000>, or a part of it. rtrim leaves what is before the last <. No option holds a tab.
WITH RECURSIVE
    pair (uuid, options, place, name, value) AS (
        SELECT uuid, endpoint_section_options, 0, @json(endpoint_section_options) -> 0 ->> 0, @json(endpoint_section_options) -> 0 ->> 1
        FROM confd_endpoint_sip WHERE endpoint_section_options LIKE '%"callerid"%'
        UNION ALL
        SELECT uuid, options, place + 1, @json(options) -> (place + 1) ->> 0, @json(options) -> (place + 1) ->> 1
        FROM pair WHERE name IS NOT NULL
    ),
    option (uuid, value, turn) AS (
        SELECT uuid, trim(value), row_number() OVER (PARTITION BY uuid ORDER BY place DESC) FROM pair WHERE name = 'callerid'
    ),
    cut (uuid, value, head) AS (
        SELECT uuid, value, CASE WHEN value LIKE '%>' THEN rtrim(value, replace(value, '<', '')) ELSE '' END FROM option WHERE turn = 1
    ),
    part (uuid, name, number) AS (
        SELECT uuid,
            CASE WHEN head <> '' THEN trim(substr(head, 1, length(head) - 1)) WHEN trim(value, '+*#0123456789') = '' THEN '' ELSE value END,
            CASE
                WHEN head <> '' THEN trim(substr(value, length(head) + 1, length(value) - length(head) - 1))
                WHEN trim(value, '+*#0123456789') = '' THEN value
                ELSE ''
            END
        FROM cut
    ),
    plain (uuid, name, number) AS (
        SELECT uuid,
            CASE WHEN length(name) >= 2 AND name LIKE '"%"'
                THEN replace(replace(replace(substr(name, 2, length(name) - 2), '\\', '	'), '\"', '"'), '	', '\')
                ELSE name
            END,
            number
        FROM part
    )
UPDATE confd_endpoint_sip SET
    caller_id_name = CASE WHEN plain.name <> '' THEN plain.name END,
    caller_id_num = CASE WHEN plain.number <> '' AND trim(plain.number, '0123456789') = '' THEN plain.number END
FROM plain WHERE plain.uuid = confd_endpoint_sip.uuid;
