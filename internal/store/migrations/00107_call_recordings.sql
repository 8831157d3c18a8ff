-- +goose Up
-- What was recorded of a call: a file in the folder of its tenant. A row that is deleted stays as long as its call, so that nobody reads the file again.
CREATE TABLE call_recording (
    uuid        @uuid NOT NULL PRIMARY KEY,
    call_id     bigint NOT NULL REFERENCES call_record (id) ON DELETE CASCADE,
    tenant_uuid @uuid NOT NULL,
    filename    @text NOT NULL,
    deleted     boolean NOT NULL,
    UNIQUE (tenant_uuid, filename)
);
CREATE INDEX call_recording_call ON call_recording (call_id);
