-- +goose Up
-- Who called whom, as Asterisk's records of calls tell. No foreign key refers to tenants and users, which may be deleted: records of a tenant
-- that is gone are removed in short transactions.
CREATE TABLE call_record (
    id                    @key,
    tenant_uuid           @uuid NOT NULL,
    asterisk              @text NOT NULL, -- the nodes' name for it
    unique_id             @text NOT NULL,
    sequence              bigint NOT NULL,
    conversation_id       @text NOT NULL,
    start_at              @time NOT NULL,
    answer_at             @time,          -- null: nobody answered
    end_at                @time NOT NULL,
    duration              bigint NOT NULL, -- how long they talked, in seconds
    direction             @text NOT NULL,
    status                @text NOT NULL,
    source_name           @text NOT NULL,
    source_extension      @text NOT NULL,
    source_user_uuid      @uuid,
    destination_name      @text NOT NULL,
    destination_extension @text NOT NULL,
    destination_user_uuid @uuid,
    requested_extension   @text NOT NULL,
    search_text           @search(source_name, source_extension, destination_name, destination_extension, requested_extension),
    UNIQUE (asterisk, unique_id, sequence)
);
-- The ways to calls in the order of their time, each with what else lists are filtered by or sorted: no row is read that is not shown.
CREATE INDEX call_record_start ON call_record (tenant_uuid, start_at, id, duration);
CREATE INDEX call_record_direction ON call_record (tenant_uuid, direction, start_at, id, status, duration);
CREATE INDEX call_record_status ON call_record (tenant_uuid, status, start_at, id, direction, duration);
CREATE INDEX call_record_duration ON call_record (tenant_uuid, duration, id);
CREATE INDEX call_record_all ON call_record (start_at, id, tenant_uuid, direction, status, duration);
CREATE INDEX call_record_source ON call_record (source_user_uuid, start_at, id, tenant_uuid, direction, status, duration)
    WHERE source_user_uuid IS NOT NULL;
CREATE INDEX call_record_destination ON call_record (destination_user_uuid, start_at, id, tenant_uuid, direction, status, duration)
    WHERE destination_user_uuid IS NOT NULL;
@search_index(call_record, id);
@counted(call_record);

-- What a tenant says of its records. Without a row, the defaults.
CREATE TABLE call_record_setting (
    tenant_uuid   @uuid NOT NULL PRIMARY KEY REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    days          bigint,         -- null: the default
    hidden_digits bigint NOT NULL
);

-- How far the file of an Asterisk was read. Its first line tells whether it is still the same file.
CREATE TABLE call_record_file (
    asterisk @text NOT NULL PRIMARY KEY,
    first    @text NOT NULL, -- SHA-256
    position bigint NOT NULL
);
