-- +goose Up
CREATE TABLE confd_callpermission (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL,
    password    @text,
    mode        @text NOT NULL,
    extensions  @text NOT NULL, -- JSON
    enabled     boolean NOT NULL,
    description @text,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_callpermission_tenant ON confd_callpermission (tenant_uuid, id);

CREATE TABLE confd_user_callpermission (
    user_id           bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    callpermission_id bigint NOT NULL REFERENCES confd_callpermission (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, callpermission_id)
);
CREATE INDEX confd_user_callpermission_callpermission ON confd_user_callpermission (callpermission_id);

CREATE TABLE confd_group_callpermission (
    group_uuid        @uuid NOT NULL REFERENCES confd_group (uuid) ON DELETE CASCADE,
    callpermission_id bigint NOT NULL REFERENCES confd_callpermission (id) ON DELETE CASCADE,
    PRIMARY KEY (group_uuid, callpermission_id)
);
CREATE INDEX confd_group_callpermission_callpermission ON confd_group_callpermission (callpermission_id);
