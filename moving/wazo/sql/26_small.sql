-- In which country a tenant is, what is heard of recordings, whom users block, and what programs elsewhere keep.

INSERT INTO confd_localization (tenant_uuid, country) SELECT uuid, country FROM w_tenant WHERE country <> '';

INSERT INTO confd_recording_announcements (tenant_uuid, recording_start, recording_stop)
SELECT uuid, nullif(record_start_announcement, ''), nullif(record_stop_announcement, '') FROM w_tenant
WHERE record_start_announcement <> '' OR record_stop_announcement <> '';

INSERT INTO confd_access_feature (id, host, feature, enabled)
SELECT id, host, feature, commented = '0' FROM w_accessfeatures WHERE true ON CONFLICT DO NOTHING;

-- leave blocklist_number because its user is not there
SELECT b.rowid, NULL, b.number FROM w_blocklist_number b
WHERE NOT EXISTS (SELECT 1 FROM w_blocklist_user l JOIN confd_user u ON u.uuid = l.user_uuid WHERE l.blocklist_uuid = b.blocklist_uuid);

INSERT INTO confd_blocklist_number (uuid, tenant_uuid, user_id, number, label)
SELECT b.uuid, u.tenant_uuid, u.id, b.number, nullif(b.label, '')
FROM w_blocklist_number b JOIN w_blocklist_user l ON l.blocklist_uuid = b.blocklist_uuid JOIN confd_user u ON u.uuid = l.user_uuid
WHERE true ON CONFLICT DO NOTHING;

-- leave external_app because its tenant is not there
SELECT rowid, tenant_uuid, name FROM w_external_app WHERE tenant_uuid NOT IN (SELECT uuid FROM auth_tenant);

INSERT INTO confd_external_app (uuid, tenant_uuid, name, label, configuration)
SELECT uuid, tenant_uuid, name, label, coalesce(configuration, 'null')
FROM w_external_app;

-- leave user_external_app because its user is not there
SELECT rowid, NULL, name FROM w_user_external_app WHERE user_uuid NOT IN (SELECT uuid FROM confd_user);

INSERT INTO confd_user_external_app (uuid, tenant_uuid, user_id, name, label, configuration)
SELECT a.uuid, u.tenant_uuid, u.id, a.name, a.label, coalesce(a.configuration, 'null')
FROM w_user_external_app a JOIN confd_user u ON u.uuid = a.user_uuid;
