-- +goose Up
-- fold and now_utc are Go functions of the sqlite package here.
SELECT 1;

-- +goose Down
SELECT 1;
