-- +goose Up
-- The SIP transports of a new installation.
INSERT INTO confd_sip_transport (uuid, name, options) VALUES
    ('4f8ee1d1-1d0f-4a7b-9f3e-6a1d6b0c8f11', 'transport-udp', '[["protocol","udp"],["bind","0.0.0.0:5060"]]'),
    ('b9a4f5a2-52a4-4c7e-8d61-0f7c2ce59d3a', 'transport-wss', '[["protocol","wss"],["bind","0.0.0.0:5060"]]');
INSERT INTO confd_sip_name (name, transport_uuid) SELECT name, uuid FROM confd_sip_transport;

-- The tenants that have got their default objects.
CREATE TABLE confd_tenant (
    uuid                                 @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    global_sip_template_uuid             @uuid REFERENCES confd_endpoint_sip_template (uuid) ON DELETE SET NULL,
    webrtc_sip_template_uuid             @uuid REFERENCES confd_endpoint_sip_template (uuid) ON DELETE SET NULL,
    registration_trunk_sip_template_uuid @uuid REFERENCES confd_endpoint_sip_template (uuid) ON DELETE SET NULL,
    meeting_guest_sip_template_uuid      @uuid REFERENCES confd_endpoint_sip_template (uuid) ON DELETE SET NULL,
    max_calls                            bigint,
    max_calls_per_minute                 bigint,
    max_minutes_per_day                  bigint
);
CREATE INDEX confd_tenant_global ON confd_tenant (global_sip_template_uuid);
CREATE INDEX confd_tenant_webrtc ON confd_tenant (webrtc_sip_template_uuid);
CREATE INDEX confd_tenant_registration_trunk ON confd_tenant (registration_trunk_sip_template_uuid);
CREATE INDEX confd_tenant_meeting_guest ON confd_tenant (meeting_guest_sip_template_uuid);
