-- +goose Up
SELECT 'SQLite reads all texts for a search';
