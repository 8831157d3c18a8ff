-- +goose Up
-- The nodes that serve from this database: each writes its row once a minute, and deletes it when it is stopped.
CREATE TABLE node (
    host       @text NOT NULL, -- its machine
    data       @text NOT NULL, -- its data folder there
    version    @text NOT NULL,
    started_at @time NOT NULL,
    seen_at    @time NOT NULL,
    holder     @text NOT NULL, -- its name in asterisk_lease; empty: it configures no Asterisk
    PRIMARY KEY (host, data)
);
