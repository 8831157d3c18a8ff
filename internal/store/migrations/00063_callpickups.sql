-- +goose Up
CREATE TABLE confd_callpickup (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name        @text NOT NULL,
    description @text,
    enabled     boolean NOT NULL,
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_callpickup_tenant ON confd_callpickup (tenant_uuid, id);

CREATE TABLE confd_callpickup_interceptor_group (
    callpickup_id bigint NOT NULL REFERENCES confd_callpickup (id) ON DELETE CASCADE,
    group_uuid    @uuid NOT NULL REFERENCES confd_group (uuid) ON DELETE CASCADE,
    PRIMARY KEY (callpickup_id, group_uuid)
);
CREATE INDEX confd_callpickup_interceptor_group_group ON confd_callpickup_interceptor_group (group_uuid);

CREATE TABLE confd_callpickup_interceptor_user (
    callpickup_id bigint NOT NULL REFERENCES confd_callpickup (id) ON DELETE CASCADE,
    user_id       bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (callpickup_id, user_id)
);
CREATE INDEX confd_callpickup_interceptor_user_user ON confd_callpickup_interceptor_user (user_id);

CREATE TABLE confd_callpickup_target_group (
    callpickup_id bigint NOT NULL REFERENCES confd_callpickup (id) ON DELETE CASCADE,
    group_uuid    @uuid NOT NULL REFERENCES confd_group (uuid) ON DELETE CASCADE,
    PRIMARY KEY (callpickup_id, group_uuid)
);
CREATE INDEX confd_callpickup_target_group_group ON confd_callpickup_target_group (group_uuid);

CREATE TABLE confd_callpickup_target_user (
    callpickup_id bigint NOT NULL REFERENCES confd_callpickup (id) ON DELETE CASCADE,
    user_id       bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    PRIMARY KEY (callpickup_id, user_id)
);
CREATE INDEX confd_callpickup_target_user_user ON confd_callpickup_target_user (user_id);

-- Whose calls a user may answer, by whichever call pickup, themselves or by a group: a row for each way, so that
-- each part is read by its index.
CREATE VIEW confd_user_callpickup_target AS
    SELECT i.user_id, t.user_id AS target_id
        FROM confd_callpickup_interceptor_user i JOIN confd_callpickup_target_user t ON t.callpickup_id = i.callpickup_id
    UNION ALL SELECT i.user_id, m.user_id
        FROM confd_callpickup_interceptor_user i JOIN confd_callpickup_target_group t ON t.callpickup_id = i.callpickup_id
        JOIN confd_group_user m ON m.group_uuid = t.group_uuid
    UNION ALL SELECT m.user_id, t.user_id
        FROM confd_group_user m JOIN confd_callpickup_interceptor_group i ON i.group_uuid = m.group_uuid
        JOIN confd_callpickup_target_user t ON t.callpickup_id = i.callpickup_id
    UNION ALL SELECT m.user_id, o.user_id
        FROM confd_group_user m JOIN confd_callpickup_interceptor_group i ON i.group_uuid = m.group_uuid
        JOIN confd_callpickup_target_group t ON t.callpickup_id = i.callpickup_id JOIN confd_group_user o ON o.group_uuid = t.group_uuid;
