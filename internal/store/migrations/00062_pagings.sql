-- +goose Up
CREATE TABLE confd_paging (
    id                  @key,
    tenant_uuid         @uuid NOT NULL REFERENCES auth_tenant (uuid),
    number              @text NOT NULL,
    name                @text,
    duplex              boolean NOT NULL,
    ignore_forward      boolean NOT NULL,
    record              boolean NOT NULL,
    caller_notification boolean NOT NULL,
    announce_caller     boolean NOT NULL,
    announce_sound      @text,
    enabled             boolean NOT NULL,
    UNIQUE (tenant_uuid, number)
);
CREATE INDEX confd_paging_tenant ON confd_paging (tenant_uuid, id);

CREATE TABLE confd_paging_caller (
    paging_id bigint NOT NULL REFERENCES confd_paging (id) ON DELETE CASCADE,
    user_id   bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (paging_id, user_id)
);
CREATE INDEX confd_paging_caller_user ON confd_paging_caller (user_id);

CREATE TABLE confd_paging_member (
    paging_id bigint NOT NULL REFERENCES confd_paging (id) ON DELETE CASCADE,
    user_id   bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (paging_id, user_id)
);
CREATE INDEX confd_paging_member_user ON confd_paging_member (user_id);

ALTER TABLE confd_func_key ADD COLUMN paging_id bigint REFERENCES confd_paging (id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_paging ON confd_func_key (paging_id);
