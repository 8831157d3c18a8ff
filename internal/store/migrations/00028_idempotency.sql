-- +goose Up
-- The responses to requests with an Idempotency-Key. Each is sealed with the client's key, which itself is nowhere.
CREATE TABLE confd_idempotency (
    digest      @text NOT NULL PRIMARY KEY, -- of the caller, the tenant, the operation and the key
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    request     @text NOT NULL, -- a digest of its query and body
    sealed      @bytes NOT NULL,
    expires_at  bigint NOT NULL -- in seconds since 1970
);
CREATE INDEX confd_idempotency_tenant ON confd_idempotency (tenant_uuid);
CREATE INDEX confd_idempotency_expires ON confd_idempotency (expires_at);
