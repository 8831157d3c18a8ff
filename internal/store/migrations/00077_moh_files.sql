-- +goose Up
ALTER TABLE confd_moh ADD COLUMN files @text NOT NULL DEFAULT '[]'; -- a JSON list
