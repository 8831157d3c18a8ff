-- +goose Up
SELECT 'SQLite has json_each, and the program brings as_uuid';
