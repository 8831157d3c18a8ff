-- +goose Up
-- A template with a user_id holds that user's own keys. Any number of users can have one of the others.
CREATE TABLE confd_func_key_template (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    user_id     bigint UNIQUE REFERENCES confd_user (id) ON DELETE CASCADE,
    name        @text,
    search_text @search(name)
);
@search_index(confd_func_key_template);
CREATE INDEX confd_func_key_template_name ON confd_func_key_template (tenant_uuid, fold(name), id);

-- A key is deleted with its template, and with its destination's target.
CREATE TABLE confd_func_key (
    id          @key,
    template_id bigint NOT NULL REFERENCES confd_func_key_template (id) ON DELETE CASCADE,
    place       bigint NOT NULL CHECK (place >= 1), -- its position on the telephone
    blf         boolean NOT NULL,
    label       @text,
    type        @text NOT NULL,
    keys        @text NOT NULL, -- a JSON object
    user_id     bigint REFERENCES confd_user (id) ON DELETE CASCADE,
    group_id    bigint REFERENCES confd_group (id) ON DELETE CASCADE,
    UNIQUE (template_id, place)
);
CREATE INDEX confd_func_key_user ON confd_func_key (user_id);
CREATE INDEX confd_func_key_group ON confd_func_key (group_id);

ALTER TABLE confd_user ADD COLUMN func_key_template_id bigint REFERENCES confd_func_key_template (id) ON DELETE SET NULL;
CREATE INDEX confd_user_func_key_template ON confd_user (func_key_template_id);
