-- +goose Up
-- asterisk_lease says which node configures an Asterisk: the one that renewed the lease before it expired.
CREATE TABLE asterisk_lease (
    asterisk   @text NOT NULL PRIMARY KEY, -- the nodes' name for it
    holder     @text NOT NULL,
    expires_at @time NOT NULL
);
-- asterisk_job is what is asked of the node with the lease, and what became of it. Nothing in it is secret.
CREATE TABLE asterisk_job (
    id       @key,
    uuid     @uuid NOT NULL UNIQUE,
    asterisk @text NOT NULL,
    kind     @text NOT NULL, -- generate or apply
    state    @text NOT NULL,
    job      @text NOT NULL -- as clients read it
);
-- Of the jobs that wait, there is one of each kind: who asks for the same gets that one.
CREATE UNIQUE INDEX asterisk_job_waiting ON asterisk_job (asterisk, kind) WHERE state = 'waiting';
CREATE INDEX asterisk_job_state ON asterisk_job (asterisk, state, id);
-- asterisk_state are the users' states (do-not-disturb, forwards) on which the database and an Asterisk agreed last: those that are on.
CREATE TABLE asterisk_state (
    asterisk @text NOT NULL,
    at       @text NOT NULL, -- family and key in Asterisk's own database
    value    @text NOT NULL,
    PRIMARY KEY (asterisk, at)
);
