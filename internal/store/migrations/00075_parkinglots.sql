-- +goose Up
CREATE TABLE confd_parkinglot (
    id            @key,
    tenant_uuid   @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name          @text,
    slots_start   @text NOT NULL,
    slots_end     @text NOT NULL,
    timeout       bigint,
    music_on_hold @text
);
CREATE INDEX confd_parkinglot_tenant ON confd_parkinglot (tenant_uuid, id);

CREATE TABLE confd_parkinglot_extension (
    parkinglot_id bigint NOT NULL PRIMARY KEY REFERENCES confd_parkinglot (id) ON DELETE CASCADE,
    extension_id  bigint NOT NULL UNIQUE REFERENCES confd_extension (id) ON DELETE CASCADE
);

ALTER TABLE confd_func_key ADD COLUMN parking_lot_id bigint REFERENCES confd_parkinglot (id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_parkinglot ON confd_func_key (parking_lot_id);
