-- +goose Up
-- AUTOINCREMENT keeps the id of what was deleted from being given again. search_text is what a search looks in:
-- the folded columns, with a character between them that no value can hold.
CREATE TABLE confd_user (
    id                                    integer PRIMARY KEY AUTOINCREMENT,
    uuid                                  text NOT NULL,
    tenant_uuid                           text NOT NULL REFERENCES auth_tenant (uuid),
    firstname                             text NOT NULL,
    lastname                              text,
    email                                 text,
    timezone                              text,
    language                              text,
    description                           text,
    caller_id                             text,
    outgoing_caller_id                    text,
    mobile_phone_number                   text,
    mobile_fallback_enabled               boolean NOT NULL,
    username                              text,
    password                              text,
    music_on_hold                         text,
    preprocess_subroutine                 text,
    userfield                             text,
    call_transfer_enabled                 boolean,
    dtmf_hangup_enabled                   boolean,
    call_record_outgoing_external_enabled boolean NOT NULL,
    call_record_outgoing_internal_enabled boolean NOT NULL,
    call_record_incoming_internal_enabled boolean NOT NULL,
    call_record_incoming_external_enabled boolean NOT NULL,
    online_call_record_enabled            boolean,
    supervision_enabled                   boolean,
    ring_seconds                          integer,
    simultaneous_calls                    integer,
    call_permission_password              text,
    subscription_type                     integer NOT NULL,
    enabled                               boolean,
    created_at                            timestamp NOT NULL DEFAULT (now_utc()),
    search_text                           text GENERATED ALWAYS AS (fold(
        firstname || ' ' || coalesce(lastname, '')
        || char(1) || coalesce(caller_id, '') || char(1) || coalesce(description, '') || char(1) || coalesce(userfield, '')
        || char(1) || coalesce(email, '') || char(1) || coalesce(mobile_phone_number, '')
        || char(1) || coalesce(preprocess_subroutine, '') || char(1) || coalesce(outgoing_caller_id, '')
        || char(1) || coalesce(username, '') || char(1) || subscription_type)) STORED
);
CREATE UNIQUE INDEX confd_user_uuid ON confd_user (uuid);
CREATE UNIQUE INDEX confd_user_email ON confd_user (lower(email)); -- in all tenants: an address leads to one user
CREATE INDEX confd_user_address ON confd_user (email);
CREATE UNIQUE INDEX confd_user_username ON confd_user (username);
CREATE INDEX confd_user_lastname ON confd_user (tenant_uuid, fold(lastname), id);
CREATE INDEX confd_user_firstname ON confd_user (tenant_uuid, fold(firstname), id);

CREATE TABLE confd_voicemail (
    id              integer PRIMARY KEY AUTOINCREMENT,
    tenant_uuid     text NOT NULL REFERENCES auth_tenant (uuid),
    name            text NOT NULL,
    number          text NOT NULL,
    context         text NOT NULL,
    password        text,
    email           text,
    language        text,
    timezone        text,
    pager           text,
    max_messages    integer,
    attach_audio    boolean,
    delete_messages boolean NOT NULL,
    ask_password    boolean NOT NULL,
    enabled         boolean NOT NULL,
    options         text NOT NULL, -- a JSON list of pairs
    accesstype      text NOT NULL,
    search_text     text GENERATED ALWAYS AS (fold(
        name || char(1) || number || char(1) || coalesce(email, '') || char(1) || coalesce(pager, ''))) STORED
);
-- A context belongs to one tenant, so what is unique in both is unique.
CREATE UNIQUE INDEX confd_voicemail_number ON confd_voicemail (tenant_uuid, context, number);
CREATE UNIQUE INDEX confd_voicemail_global ON confd_voicemail (tenant_uuid, context) WHERE accesstype = 'global';

CREATE TABLE confd_user_voicemail (
    user_id      integer NOT NULL UNIQUE REFERENCES confd_user (id),
    voicemail_id integer NOT NULL REFERENCES confd_voicemail (id),
    PRIMARY KEY (user_id, voicemail_id)
);
CREATE INDEX confd_user_voicemail_voicemail ON confd_user_voicemail (voicemail_id);

-- +goose Down
DROP TABLE confd_user_voicemail;
DROP TABLE confd_voicemail;
DROP TABLE confd_user;
