-- +goose Up
-- Who changed what. Rows are added and never changed; nothing refers to what they name, which may be gone.
CREATE TABLE audit (
    id           @key,
    at           @time NOT NULL,
    tenant_uuid  @uuid NOT NULL, -- the one that has the object: whoever may read the object may read the entry
    actor_uuid   @uuid,          -- null: nobody was logged in
    session_uuid @uuid,
    request_id   @text NOT NULL,
    service      @text NOT NULL,
    action       @text NOT NULL, -- the operation's id
    resource     @text NOT NULL,
    object       @text NOT NULL, -- its key
    names        @text NOT NULL DEFAULT '', -- all that a path can have in its place, with where: " 0:17 0:1b4e28ba-... ", and " 0:17 1:5 " of two
    before       @text,          -- JSON, without secrets
    after        @text
);
CREATE INDEX audit_tenant ON audit (tenant_uuid, id);
CREATE INDEX audit_object ON audit (resource, object, id);
CREATE INDEX audit_actor ON audit (actor_uuid, id);
