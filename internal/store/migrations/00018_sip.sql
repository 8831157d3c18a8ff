-- +goose Up
CREATE TABLE confd_sip_transport (
    uuid    @uuid NOT NULL PRIMARY KEY,
    name    @text NOT NULL,
    options @text NOT NULL -- a JSON list of pairs
);
CREATE INDEX confd_sip_transport_name ON confd_sip_transport (fold(name), uuid);

-- The sections of a template and of an endpoint are JSON lists of pairs.
CREATE TABLE confd_endpoint_sip_template (
    uuid                                       @uuid NOT NULL PRIMARY KEY,
    tenant_uuid                                @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    name                                       @text NOT NULL,
    label                                      @text,
    aor_section_options                        @text NOT NULL,
    auth_section_options                       @text NOT NULL,
    endpoint_section_options                   @text NOT NULL,
    identify_section_options                   @text NOT NULL,
    registration_section_options               @text NOT NULL,
    registration_outbound_auth_section_options @text NOT NULL,
    outbound_auth_section_options              @text NOT NULL,
    transport_uuid                             @uuid REFERENCES confd_sip_transport (uuid) ON DELETE SET NULL, -- a DELETE with a fallback sets another
    asterisk_id                                @text,
    search_text                                @search(name, asterisk_id, label)
);
@search_index(confd_endpoint_sip_template);
CREATE INDEX confd_endpoint_sip_template_label ON confd_endpoint_sip_template (tenant_uuid, fold(label), uuid);
CREATE INDEX confd_endpoint_sip_template_transport ON confd_endpoint_sip_template (transport_uuid);

CREATE TABLE confd_endpoint_sip (
    uuid                                       @uuid NOT NULL PRIMARY KEY,
    tenant_uuid                                @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                                       @text NOT NULL,
    label                                      @text,
    aor_section_options                        @text NOT NULL,
    auth_section_options                       @text NOT NULL,
    endpoint_section_options                   @text NOT NULL,
    identify_section_options                   @text NOT NULL,
    registration_section_options               @text NOT NULL,
    registration_outbound_auth_section_options @text NOT NULL,
    outbound_auth_section_options              @text NOT NULL,
    transport_uuid                             @uuid REFERENCES confd_sip_transport (uuid) ON DELETE SET NULL, -- a DELETE with a fallback sets another
    asterisk_id                                @text,
    caller_id_name                             @text, -- the parts of the option callerid
    caller_id_num                              @text,
    search_text                                @search(name, asterisk_id, label)
);
@search_index(confd_endpoint_sip);
CREATE INDEX confd_endpoint_sip_label ON confd_endpoint_sip (tenant_uuid, fold(label), uuid);
CREATE INDEX confd_endpoint_sip_transport ON confd_endpoint_sip (transport_uuid);

-- Names of sections in the SIP configuration, unique across endpoints, templates and transports. One of the references is set.
CREATE TABLE confd_sip_name (
    name           @text NOT NULL PRIMARY KEY,
    endpoint_uuid  @uuid UNIQUE REFERENCES confd_endpoint_sip (uuid) ON DELETE CASCADE,
    template_uuid  @uuid UNIQUE REFERENCES confd_endpoint_sip_template (uuid) ON DELETE CASCADE,
    transport_uuid @uuid UNIQUE REFERENCES confd_sip_transport (uuid) ON DELETE CASCADE
);

-- The templates from which endpoints, and templates, take options, in order.
CREATE TABLE confd_endpoint_sip_parent (
    endpoint_uuid @uuid NOT NULL REFERENCES confd_endpoint_sip (uuid) ON DELETE CASCADE,
    template_uuid @uuid NOT NULL REFERENCES confd_endpoint_sip_template (uuid) ON DELETE CASCADE,
    position      bigint NOT NULL,
    PRIMARY KEY (endpoint_uuid, template_uuid)
);
CREATE INDEX confd_endpoint_sip_parent_template ON confd_endpoint_sip_parent (template_uuid);

CREATE TABLE confd_endpoint_sip_template_parent (
    child_uuid    @uuid NOT NULL REFERENCES confd_endpoint_sip_template (uuid) ON DELETE CASCADE,
    template_uuid @uuid NOT NULL REFERENCES confd_endpoint_sip_template (uuid) ON DELETE CASCADE,
    position      bigint NOT NULL,
    PRIMARY KEY (child_uuid, template_uuid)
);
CREATE INDEX confd_endpoint_sip_template_parent_template ON confd_endpoint_sip_template_parent (template_uuid);

-- The endpoint of a line. Each kind of endpoint has a column, and one of them is set.
CREATE TABLE confd_line_endpoint (
    line_id   bigint NOT NULL PRIMARY KEY REFERENCES confd_line (id) ON DELETE CASCADE,
    custom_id bigint UNIQUE REFERENCES confd_endpoint_custom (id) ON DELETE CASCADE,
    sip_uuid  @uuid UNIQUE REFERENCES confd_endpoint_sip (uuid) ON DELETE CASCADE
);

-- The protocol, the name and the caller ID of each line, from its endpoint.
CREATE VIEW confd_line_protocol AS
    SELECT le.line_id, CASE WHEN le.sip_uuid IS NULL THEN 'custom' ELSE 'sip' END AS protocol, coalesce(s.name, o.interface) AS name,
        s.caller_id_name, s.caller_id_num
    FROM confd_line_endpoint le LEFT JOIN confd_endpoint_sip s ON s.uuid = le.sip_uuid LEFT JOIN confd_endpoint_custom o ON o.id = le.custom_id
    WHERE le.sip_uuid IS NOT NULL OR le.custom_id IS NOT NULL;
