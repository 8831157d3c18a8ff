-- +goose Up
CREATE TABLE confd_phone_number (
    uuid           @uuid NOT NULL PRIMARY KEY,
    tenant_uuid    @uuid NOT NULL REFERENCES auth_tenant (uuid),
    number         @text NOT NULL,
    caller_id_name @text,
    main           boolean NOT NULL,
    shared         boolean NOT NULL,
    search_text    @search(number, caller_id_name),
    UNIQUE (tenant_uuid, number)
);
@search_index(confd_phone_number);
CREATE INDEX confd_phone_number_number ON confd_phone_number (tenant_uuid, fold(number), uuid);
CREATE UNIQUE INDEX confd_phone_number_main ON confd_phone_number (tenant_uuid) WHERE main;

CREATE TABLE confd_moh (
    uuid        @uuid NOT NULL PRIMARY KEY,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL UNIQUE,
    label       @text NOT NULL,
    mode        @text NOT NULL,
    application @text,
    sort        @text,
    files       @text NOT NULL DEFAULT '[]', -- a JSON list
    search_text @search(name, label)
);
@search_index(confd_moh);
CREATE INDEX confd_moh_label ON confd_moh (tenant_uuid, fold(label), uuid);

-- A user or a group loses its music on hold when that is deleted.
CREATE INDEX confd_user_moh ON confd_user (music_on_hold);
CREATE INDEX confd_group_moh ON confd_group (music_on_hold);
ALTER TABLE confd_destination ADD COLUMN moh_uuid @uuid REFERENCES confd_moh (uuid) ON DELETE SET NULL;
CREATE INDEX confd_destination_moh ON confd_destination (moh_uuid);

CREATE TABLE confd_live_reload (
    tenant_uuid @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid),
    enabled     boolean NOT NULL
);
