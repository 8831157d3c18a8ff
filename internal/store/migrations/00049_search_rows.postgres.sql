-- +goose Up
SELECT 'PostgreSQL has had these indexes since the tables were made';
