-- +goose Up
CREATE TABLE confd_callfilter (
    id                 @key,
    tenant_uuid        @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name               @text NOT NULL,
    strategy           @text NOT NULL,
    source             @text NOT NULL,
    caller_id_mode     @text,
    caller_id_name     @text,
    surrogates_timeout bigint,
    description        @text,
    enabled            boolean NOT NULL,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_callfilter_tenant ON confd_callfilter (tenant_uuid, id);

CREATE TABLE confd_callfilter_recipient (
    callfilter_id bigint NOT NULL PRIMARY KEY REFERENCES confd_callfilter (id) ON DELETE CASCADE,
    user_id       bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    timeout       bigint
);
CREATE INDEX confd_callfilter_recipient_user ON confd_callfilter_recipient (user_id);

-- A function key switches the filter for one of its surrogates, by the number that the surrogate has in it.
CREATE TABLE confd_callfilter_surrogate (
    member_id     @key,
    callfilter_id bigint NOT NULL REFERENCES confd_callfilter (id) ON DELETE CASCADE,
    user_id       bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    position      bigint NOT NULL,
    UNIQUE (callfilter_id, user_id)
);
CREATE INDEX confd_callfilter_surrogate_user ON confd_callfilter_surrogate (user_id);

ALTER TABLE confd_destination ADD COLUMN of_callfilter_id bigint REFERENCES confd_callfilter (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_of_callfilter ON confd_destination (of_callfilter_id, slot);

ALTER TABLE confd_func_key ADD COLUMN filter_member_id bigint REFERENCES confd_callfilter_surrogate (member_id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_filter_member ON confd_func_key (filter_member_id);
