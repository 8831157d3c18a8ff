-- +goose Up
CREATE TABLE confd_incall (
    id                    @key,
    tenant_uuid           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    preprocess_subroutine @text,
    greeting_sound        @text,
    caller_id_mode        @text,
    caller_id_name        @text,
    description           @text,
    search_text           @search(preprocess_subroutine, greeting_sound, description)
);
@search_index(confd_incall);
CREATE INDEX confd_incall_tenant ON confd_incall (tenant_uuid, id);

CREATE TABLE confd_incall_extension (
    incall_id    bigint NOT NULL PRIMARY KEY REFERENCES confd_incall (id) ON DELETE CASCADE,
    extension_id bigint NOT NULL UNIQUE REFERENCES confd_extension (id) ON DELETE CASCADE
);

ALTER TABLE confd_destination ADD COLUMN of_incall_id bigint REFERENCES confd_incall (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_incall ON confd_destination (of_incall_id, slot);
