-- +goose Up
CREATE TABLE confd_group (
    id                      @key,
    uuid                    @uuid NOT NULL UNIQUE,
    tenant_uuid             @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                    @text NOT NULL UNIQUE,
    label                   @text NOT NULL,
    preprocess_subroutine   @text,
    ring_strategy           @text NOT NULL,
    caller_id_mode          @text,
    caller_id_name          @text,
    dtmf_record_toggle      boolean NOT NULL,
    timeout                 bigint,
    user_timeout            bigint,
    retry_delay             bigint,
    music_on_hold           @text,
    ring_in_use             boolean NOT NULL,
    mark_answered_elsewhere boolean NOT NULL,
    enabled                 boolean NOT NULL,
    ignore_forward          boolean NOT NULL,
    max_calls               bigint,
    search_text             @search(id, name, label, preprocess_subroutine)
);
@search_index(confd_group);
CREATE INDEX confd_group_label ON confd_group (tenant_uuid, fold(label), uuid);

CREATE TABLE confd_group_extension (
    group_uuid   @uuid NOT NULL PRIMARY KEY REFERENCES confd_group (uuid) ON DELETE CASCADE,
    extension_id bigint NOT NULL UNIQUE REFERENCES confd_extension (id) ON DELETE CASCADE
);

CREATE TABLE confd_group_user (
    group_uuid @uuid NOT NULL REFERENCES confd_group (uuid) ON DELETE CASCADE,
    user_id    bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    priority   bigint NOT NULL,
    PRIMARY KEY (group_uuid, user_id)
);
CREATE INDEX confd_group_user_user ON confd_group_user (user_id);

-- Numbers that a group rings besides its users. They need not exist as extensions.
CREATE TABLE confd_group_number (
    group_uuid @uuid NOT NULL REFERENCES confd_group (uuid) ON DELETE CASCADE,
    exten      @text NOT NULL,
    context    @text NOT NULL,
    priority   bigint NOT NULL,
    PRIMARY KEY (group_uuid, exten, context)
);

ALTER TABLE confd_destination ADD COLUMN of_group_uuid @uuid REFERENCES confd_group (uuid) ON DELETE CASCADE;
ALTER TABLE confd_destination ADD COLUMN group_id bigint REFERENCES confd_group (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_of_group ON confd_destination (of_group_uuid, slot);
CREATE INDEX confd_destination_group ON confd_destination (group_id);

-- The incalls that lead to groups. A destination names its group by the id.
CREATE VIEW confd_group_incall AS
    SELECT g.uuid AS group_uuid, d.of_incall_id FROM confd_destination d JOIN confd_group g ON g.id = d.group_id;
