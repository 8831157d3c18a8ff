-- +goose Up
-- No query asks the view auth_holding any more (authsvc/holding.go); nodes of the release before do.

-- The policies that allow everything, which are few: whoever stops being an administrator asks whether another is left.
CREATE INDEX auth_policy_access_everything ON auth_policy_access (policy_uuid) WHERE access = '#';

-- +goose Down
DROP INDEX auth_policy_access_everything;
