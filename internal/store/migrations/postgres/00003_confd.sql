-- +goose Up
-- Text is COLLATE "C", so that it sorts here as it does on SQLite. search_text is what a search looks in:
-- the folded columns, with a character between them that no value can hold.
CREATE TABLE confd_user (
    id                                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid                                  uuid NOT NULL,
    tenant_uuid                           uuid NOT NULL REFERENCES auth_tenant (uuid),
    firstname                             text COLLATE "C" NOT NULL,
    lastname                              text COLLATE "C",
    email                                 text COLLATE "C",
    timezone                              text COLLATE "C",
    language                              text COLLATE "C",
    description                           text COLLATE "C",
    caller_id                             text COLLATE "C",
    outgoing_caller_id                    text COLLATE "C",
    mobile_phone_number                   text COLLATE "C",
    mobile_fallback_enabled               boolean NOT NULL,
    username                              text COLLATE "C",
    password                              text COLLATE "C",
    music_on_hold                         text COLLATE "C",
    preprocess_subroutine                 text COLLATE "C",
    userfield                             text COLLATE "C",
    call_transfer_enabled                 boolean,
    dtmf_hangup_enabled                   boolean,
    call_record_outgoing_external_enabled boolean NOT NULL,
    call_record_outgoing_internal_enabled boolean NOT NULL,
    call_record_incoming_internal_enabled boolean NOT NULL,
    call_record_incoming_external_enabled boolean NOT NULL,
    online_call_record_enabled            boolean,
    supervision_enabled                   boolean,
    ring_seconds                          bigint,
    simultaneous_calls                    bigint,
    call_permission_password              text COLLATE "C",
    subscription_type                     bigint NOT NULL,
    enabled                               boolean,
    created_at                            timestamptz NOT NULL DEFAULT now_utc(),
    search_text                           text COLLATE "C" GENERATED ALWAYS AS (fold(
        firstname || ' ' || coalesce(lastname, '')
        || chr(1) || coalesce(caller_id, '') || chr(1) || coalesce(description, '') || chr(1) || coalesce(userfield, '')
        || chr(1) || coalesce(email, '') || chr(1) || coalesce(mobile_phone_number, '')
        || chr(1) || coalesce(preprocess_subroutine, '') || chr(1) || coalesce(outgoing_caller_id, '')
        || chr(1) || coalesce(username, '') || chr(1) || subscription_type::text)) STORED
);
CREATE UNIQUE INDEX confd_user_uuid ON confd_user (uuid);
CREATE UNIQUE INDEX confd_user_email ON confd_user (lower(email)); -- in all tenants: an address leads to one user
CREATE INDEX confd_user_address ON confd_user (email);
CREATE UNIQUE INDEX confd_user_username ON confd_user (username);
CREATE INDEX confd_user_lastname ON confd_user (tenant_uuid, fold(lastname), id);
CREATE INDEX confd_user_firstname ON confd_user (tenant_uuid, fold(firstname), id);

CREATE TABLE confd_voicemail (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_uuid     uuid NOT NULL REFERENCES auth_tenant (uuid),
    name            text COLLATE "C" NOT NULL,
    number          text COLLATE "C" NOT NULL,
    context         text COLLATE "C" NOT NULL,
    password        text COLLATE "C",
    email           text COLLATE "C",
    language        text COLLATE "C",
    timezone        text COLLATE "C",
    pager           text COLLATE "C",
    max_messages    bigint,
    attach_audio    boolean,
    delete_messages boolean NOT NULL,
    ask_password    boolean NOT NULL,
    enabled         boolean NOT NULL,
    options         text NOT NULL, -- a JSON list of pairs
    accesstype      text COLLATE "C" NOT NULL,
    search_text     text COLLATE "C" GENERATED ALWAYS AS (fold(
        name || chr(1) || number || chr(1) || coalesce(email, '') || chr(1) || coalesce(pager, ''))) STORED
);
-- A context belongs to one tenant, so what is unique in both is unique.
CREATE UNIQUE INDEX confd_voicemail_number ON confd_voicemail (tenant_uuid, context, number);
CREATE UNIQUE INDEX confd_voicemail_global ON confd_voicemail (tenant_uuid, context) WHERE accesstype = 'global';

CREATE TABLE confd_user_voicemail (
    user_id      bigint NOT NULL UNIQUE REFERENCES confd_user (id),
    voicemail_id bigint NOT NULL REFERENCES confd_voicemail (id),
    PRIMARY KEY (user_id, voicemail_id)
);
CREATE INDEX confd_user_voicemail_voicemail ON confd_user_voicemail (voicemail_id);

-- With trigrams a search reads only the rows that it finds. They come with PostgreSQL's contrib package; without
-- it, or without the right to use it, a search reads all rows of the tenant.
-- +goose StatementBegin
DO $do$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX confd_user_search ON confd_user USING gin (search_text gin_trgm_ops);
        CREATE INDEX confd_voicemail_search ON confd_voicemail USING gin (search_text gin_trgm_ops);
    END IF;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR undefined_file THEN
    RAISE NOTICE 'pg_trgm cannot be used: searches will read all rows';
END
$do$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE confd_user_voicemail, confd_voicemail, confd_user;
