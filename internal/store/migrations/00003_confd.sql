-- +goose Up
CREATE TABLE confd_user (
    id                                    @key,
    uuid                                  @uuid NOT NULL,
    tenant_uuid                           @uuid NOT NULL REFERENCES auth_tenant (uuid),
    firstname                             @text NOT NULL,
    lastname                              @text,
    email                                 @text,
    timezone                              @text,
    language                              @text,
    description                           @text,
    caller_id                             @text,
    outgoing_caller_id                    @text,
    mobile_phone_number                   @text,
    mobile_fallback_enabled               boolean NOT NULL,
    username                              @text,
    password                              @text,
    music_on_hold                         @text,
    preprocess_subroutine                 @text,
    userfield                             @text,
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
    call_permission_password              @text,
    subscription_type                     bigint NOT NULL,
    enabled                               boolean,
    forward_busy_enabled                  boolean NOT NULL DEFAULT false,
    forward_busy_destination              @text,
    forward_noanswer_enabled              boolean NOT NULL DEFAULT false,
    forward_noanswer_destination          @text,
    forward_unconditional_enabled         boolean NOT NULL DEFAULT false,
    forward_unconditional_destination     @text,
    service_dnd_enabled                   boolean NOT NULL DEFAULT false,
    service_incallfilter_enabled          boolean NOT NULL DEFAULT false,
    max_calls                             bigint,
    max_calls_per_minute                  bigint,
    max_minutes_per_day                   bigint,
    created_at                            @time NOT NULL DEFAULT (now_utc()),
    search_text                           @search(firstname lastname, caller_id, description, userfield, email, mobile_phone_number,
        preprocess_subroutine, outgoing_caller_id, username, subscription_type)
);
CREATE UNIQUE INDEX confd_user_uuid ON confd_user (uuid);
CREATE UNIQUE INDEX confd_user_email ON confd_user (lower(email)); -- unique in all tenants
CREATE INDEX confd_user_address ON confd_user (email);
CREATE UNIQUE INDEX confd_user_username ON confd_user (username);
CREATE INDEX confd_user_lastname ON confd_user (tenant_uuid, fold(lastname), id);
CREATE INDEX confd_user_firstname ON confd_user (tenant_uuid, fold(firstname), id);
@search_index(confd_user);

CREATE TABLE confd_voicemail (
    id              @key,
    tenant_uuid     @uuid NOT NULL REFERENCES auth_tenant (uuid),
    name            @text NOT NULL,
    number          @text NOT NULL,
    context         @text NOT NULL,
    password        @text,
    email           @text,
    language        @text,
    timezone        @text,
    pager           @text,
    max_messages    bigint,
    attach_audio    boolean,
    delete_messages boolean NOT NULL,
    ask_password    boolean NOT NULL,
    enabled         boolean NOT NULL,
    options         @text NOT NULL, -- a JSON list of pairs
    accesstype      @text NOT NULL,
    search_text     @search(name, number, email, pager)
);
-- A context belongs to one tenant, so these are unique in the context.
CREATE UNIQUE INDEX confd_voicemail_number ON confd_voicemail (tenant_uuid, context, number);
CREATE UNIQUE INDEX confd_voicemail_global ON confd_voicemail (tenant_uuid, context) WHERE accesstype = 'global';
@search_index(confd_voicemail);

CREATE TABLE confd_user_voicemail (
    user_id      bigint NOT NULL UNIQUE REFERENCES confd_user (id),
    voicemail_id bigint NOT NULL REFERENCES confd_voicemail (id),
    PRIMARY KEY (user_id, voicemail_id)
);
CREATE INDEX confd_user_voicemail_voicemail ON confd_user_voicemail (voicemail_id);
