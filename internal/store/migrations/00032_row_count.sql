-- +goose Up
-- row_count tells how many rows of a large table a tenant has: the sum of n. Triggers add to it, in the transaction that changes the
-- table. They only insert, so that transactions do not wait for one another; now and then the service adds the rows up.
CREATE TABLE row_count (
    id          @key,
    table_name  @text NOT NULL,
    tenant_uuid @uuid NOT NULL,
    n           bigint NOT NULL
);
CREATE INDEX row_count_sum ON row_count (tenant_uuid, table_name, n);
@counted(confd_user);
@counted(confd_line);
@counted(confd_extension);
@counted(confd_voicemail);
@counted(confd_incall);
