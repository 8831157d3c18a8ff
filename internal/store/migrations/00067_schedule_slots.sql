-- +goose Up
-- The slots of lists have the names of their attributes.
UPDATE confd_destination SET slot = 'exceptional_periods[' || substr(slot, 11) || '].destination' WHERE slot LIKE 'exception %';
