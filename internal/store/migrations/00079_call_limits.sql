-- +goose Up
ALTER TABLE confd_trunk ADD COLUMN max_calls bigint;
ALTER TABLE confd_trunk ADD COLUMN max_calls_per_minute bigint;
ALTER TABLE confd_trunk ADD COLUMN max_minutes_per_day bigint;
ALTER TABLE confd_outcall ADD COLUMN max_calls bigint;
ALTER TABLE confd_outcall ADD COLUMN max_calls_per_minute bigint;
ALTER TABLE confd_outcall ADD COLUMN max_minutes_per_day bigint;
ALTER TABLE confd_user ADD COLUMN max_calls bigint;
ALTER TABLE confd_user ADD COLUMN max_calls_per_minute bigint;
ALTER TABLE confd_user ADD COLUMN max_minutes_per_day bigint;
ALTER TABLE confd_tenant ADD COLUMN max_calls bigint;
ALTER TABLE confd_tenant ADD COLUMN max_calls_per_minute bigint;
ALTER TABLE confd_tenant ADD COLUMN max_minutes_per_day bigint;
