-- +goose Up
CREATE TABLE confd_queue (
    id                           @key,
    tenant_uuid                  @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                         @text NOT NULL,
    label                        @text,
    data_quality                 boolean NOT NULL,
    dtmf_hangup_callee_enabled   boolean NOT NULL,
    dtmf_hangup_caller_enabled   boolean NOT NULL,
    dtmf_transfer_callee_enabled boolean NOT NULL,
    dtmf_transfer_caller_enabled boolean NOT NULL,
    dtmf_record_callee_enabled   boolean NOT NULL,
    dtmf_record_caller_enabled   boolean NOT NULL,
    dtmf_record_toggle           boolean NOT NULL,
    retry_on_timeout             boolean NOT NULL,
    ring_on_hold                 boolean NOT NULL,
    timeout                      bigint,
    announce_hold_time_on_entry  boolean NOT NULL,
    ignore_forward               boolean NOT NULL,
    preprocess_subroutine        @text,
    music_on_hold                @text,
    wait_time_threshold          bigint,
    wait_ratio_threshold         double precision,
    caller_id_mode               @text,
    caller_id_name               @text,
    mark_answered_elsewhere      boolean NOT NULL,
    enabled                      boolean NOT NULL,
    options                      @text NOT NULL, -- JSON
    UNIQUE (tenant_uuid, name)
);
CREATE INDEX confd_queue_tenant ON confd_queue (tenant_uuid, id);

CREATE TABLE confd_queue_extension (
    queue_id     bigint NOT NULL PRIMARY KEY REFERENCES confd_queue (id) ON DELETE CASCADE,
    extension_id bigint NOT NULL UNIQUE REFERENCES confd_extension (id) ON DELETE CASCADE
);

CREATE TABLE confd_queue_schedule (
    queue_id    bigint NOT NULL PRIMARY KEY REFERENCES confd_queue (id) ON DELETE CASCADE,
    schedule_id bigint NOT NULL REFERENCES confd_schedule (id) ON DELETE CASCADE
);
CREATE INDEX confd_queue_schedule_schedule ON confd_queue_schedule (schedule_id);

ALTER TABLE confd_destination ADD COLUMN of_queue_id bigint REFERENCES confd_queue (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX confd_destination_of_queue ON confd_destination (of_queue_id, slot);
ALTER TABLE confd_destination ADD COLUMN queue_id bigint REFERENCES confd_queue (id) ON DELETE CASCADE;
CREATE INDEX confd_destination_queue ON confd_destination (queue_id);
-- Without its skill rule a call still waits in the queue.
ALTER TABLE confd_destination ADD COLUMN skill_rule_id bigint REFERENCES confd_skill_rule (id) ON DELETE SET NULL;
CREATE INDEX confd_destination_skill_rule ON confd_destination (skill_rule_id);

ALTER TABLE confd_func_key ADD COLUMN queue_id bigint REFERENCES confd_queue (id) ON DELETE CASCADE;
CREATE INDEX confd_func_key_queue ON confd_func_key (queue_id);
