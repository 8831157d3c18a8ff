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
