-- +goose Up
CREATE TABLE confd_ivr (
    id             @key,
    tenant_uuid    @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name           @text NOT NULL,
    description    @text,
    greeting_sound @text,
    menu_sound     @text NOT NULL,
    invalid_sound  @text,
    abort_sound    @text,
    timeout        bigint NOT NULL,
    max_tries      bigint NOT NULL,
    choices        @text NOT NULL -- JSON
);
CREATE INDEX confd_ivr_tenant ON confd_ivr (tenant_uuid, id);

ALTER TABLE confd_destination ADD COLUMN of_ivr_id bigint REFERENCES confd_ivr (id) ON DELETE CASCADE;
ALTER TABLE confd_destination ADD COLUMN ivr_id bigint REFERENCES confd_ivr (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_of_ivr ON confd_destination (of_ivr_id, slot);
CREATE INDEX confd_destination_ivr ON confd_destination (ivr_id);
