-- +goose Up
-- Sections of Asterisk's own files belong to the master tenant, as the settings of the whole installation do. Options are a JSON object.
CREATE TABLE confd_asterisk_pjsip_global (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_pjsip_system (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_features_general (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_features_featuremap (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_features_applicationmap (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_rtp_general (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_confbridge_wazo_default_bridge (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
CREATE TABLE confd_asterisk_confbridge_wazo_default_user (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    options     @text NOT NULL
);
