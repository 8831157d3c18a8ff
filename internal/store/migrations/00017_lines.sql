-- +goose Up
CREATE TABLE confd_context (
    id                     @key,
    uuid                   @uuid NOT NULL UNIQUE,
    tenant_uuid            @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name                   @text NOT NULL UNIQUE,
    label                  @text NOT NULL,
    type                   @text NOT NULL,
    user_ranges            @text NOT NULL, -- a JSON list, like the next four columns
    group_ranges           @text NOT NULL,
    queue_ranges           @text NOT NULL,
    conference_room_ranges @text NOT NULL,
    incall_ranges          @text NOT NULL,
    description            @text,
    enabled                boolean NOT NULL,
    search_text            @search(id, description, name, label, type)
);
@search_index(confd_context);
CREATE INDEX confd_context_tenant ON confd_context (tenant_uuid, id);

CREATE TABLE confd_context_include (
    context_id  bigint NOT NULL REFERENCES confd_context (id) ON DELETE CASCADE,
    included_id bigint NOT NULL REFERENCES confd_context (id) ON DELETE CASCADE,
    position    bigint NOT NULL,
    PRIMARY KEY (context_id, included_id)
);
CREATE INDEX confd_context_include_included ON confd_context_include (included_id);

CREATE TABLE confd_extension (
    id          @key,
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
    exten       @text NOT NULL,
    context     @text NOT NULL REFERENCES confd_context (name),
    enabled     boolean NOT NULL,
    search_text @search(exten),
    UNIQUE (exten, context)
);
@search_index(confd_extension);
CREATE INDEX confd_extension_context ON confd_extension (context);
CREATE INDEX confd_extension_exten ON confd_extension (tenant_uuid, fold(exten), id);

CREATE TABLE confd_line (
    id                @key,
    tenant_uuid       @uuid NOT NULL REFERENCES auth_tenant (uuid),
    context           @text NOT NULL,
    provisioning_code @text NOT NULL UNIQUE,
    position          bigint NOT NULL,
    registrar         @text NOT NULL,
    search_text       @search(provisioning_code)
);
@search_index(confd_line);
CREATE INDEX confd_line_tenant ON confd_line (tenant_uuid, id);

CREATE TABLE confd_endpoint_custom (
    id               @key,
    tenant_uuid      @uuid NOT NULL REFERENCES auth_tenant (uuid),
    interface        @text NOT NULL UNIQUE,
    interface_suffix @text,
    enabled          boolean NOT NULL
);
CREATE INDEX confd_endpoint_custom_tenant ON confd_endpoint_custom (tenant_uuid, id);

CREATE TABLE confd_line_extension (
    line_id      bigint NOT NULL PRIMARY KEY REFERENCES confd_line (id) ON DELETE CASCADE,
    extension_id bigint NOT NULL REFERENCES confd_extension (id) ON DELETE CASCADE,
    UNIQUE (line_id, extension_id)
);
CREATE INDEX confd_line_extension_extension ON confd_line_extension (extension_id);

-- The first row of a line has its main user. The lowest position of a user has the main line.
CREATE TABLE confd_user_line (
    id       @key,
    user_id  bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
    line_id  bigint NOT NULL REFERENCES confd_line (id) ON DELETE CASCADE,
    position bigint NOT NULL,
    UNIQUE (user_id, line_id)
);
CREATE INDEX confd_user_line_line ON confd_user_line (line_id);

-- The lines of users, with the extensions of the lines.
CREATE VIEW confd_user_number AS
    SELECT ul.user_id, ul.position, l.provisioning_code, l.context, x.exten
    FROM confd_user_line ul JOIN confd_line l ON l.id = ul.line_id
        LEFT JOIN confd_line_extension lx ON lx.line_id = l.id LEFT JOIN confd_extension x ON x.id = lx.extension_id;

-- Destinations of calls: a row for each slot of each owner. Each kind of owner and each kind of target has a column. In a row one
-- owner is set, and one target or none.
CREATE TABLE confd_destination (
    id           @key,
    of_user_id   bigint REFERENCES confd_user (id) ON DELETE CASCADE,
    slot         @text NOT NULL,
    type         @text NOT NULL,
    sub          @text NOT NULL,
    keys         @text NOT NULL, -- a JSON object
    user_id      bigint REFERENCES confd_user (id) ON DELETE CASCADE,
    voicemail_id bigint REFERENCES confd_voicemail (id) ON DELETE CASCADE,
    UNIQUE (of_user_id, slot)
);
CREATE INDEX confd_destination_user ON confd_destination (user_id);
CREATE INDEX confd_destination_voicemail ON confd_destination (voicemail_id);
