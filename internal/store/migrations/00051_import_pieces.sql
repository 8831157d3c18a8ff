-- +goose Up
-- What an import has made that is written in pieces and has not ended.
CREATE TABLE confd_import_piece (
    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid) ON DELETE CASCADE,
    digest      @text NOT NULL,   -- SHA-256 of the file
    done        bigint NOT NULL,  -- how many of its rows are written, with this piece
    of_rows     bigint NOT NULL,
    at          @time NOT NULL DEFAULT (now_utc()),
    made        @text NOT NULL,   -- a JSON list: what the rows of this piece have made
    PRIMARY KEY (tenant_uuid, digest, done)
);
