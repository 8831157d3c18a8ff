-- +goose Up
CREATE TABLE confd_localization (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    country     @text
);
CREATE TABLE confd_recording_announcements (
    tenant_uuid     @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    recording_start @text,
    recording_stop  @text
);
CREATE TABLE confd_access_feature (
    id      @key,
    host    @text NOT NULL,
    feature @text NOT NULL,
    enabled boolean NOT NULL,
    UNIQUE (host, feature)
);

-- Sections of Asterisk's own files: see those before.
CREATE TABLE confd_asterisk_hep_general (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_rtp_ice_host_candidates (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
