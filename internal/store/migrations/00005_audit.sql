-- +goose Up
-- Who changed what. Rows are only added. No foreign key refers to the objects that they name, which may be deleted.
CREATE TABLE audit (
    id           @key,
    at           @time NOT NULL,
    tenant_uuid  @uuid NOT NULL, -- the tenant of the object
    actor_uuid   @uuid,          -- null: nobody was logged in
    session_uuid @uuid,
    request_id   @text NOT NULL,
    service      @text NOT NULL,
    action       @text NOT NULL, -- the operation's id
    resource     @text NOT NULL,
    object       @text NOT NULL, -- its key
    names        @text NOT NULL DEFAULT '', -- every key of the object, and of a second one: " 0:17 0:1b4e28ba-... ", " 0:17 1:5 "
    before       @text,          -- JSON, without secrets
    after        @text,
    said         @text NOT NULL DEFAULT '', -- what people call the object, folded
    about        @text NOT NULL DEFAULT ''  -- every object that the change is about, as lines: confd/users/17
);
CREATE INDEX audit_tenant ON audit (tenant_uuid, id);
CREATE INDEX audit_resource ON audit (resource, id);
CREATE INDEX audit_actor ON audit (actor_uuid, id);
CREATE INDEX audit_object ON audit (object, id);
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_request ON audit (request_id, id);
CREATE INDEX audit_session ON audit (session_uuid, id);
