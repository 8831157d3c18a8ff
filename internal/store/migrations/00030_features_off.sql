-- +goose Up
-- An installation begins with these two off: to record a call, and to take the call of any telephone that rings. Nothing has used
-- the features before this release.
UPDATE confd_extension_feature SET enabled = false WHERE feature IN ('callrecord', 'pickup');
