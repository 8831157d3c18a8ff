-- +goose Up
-- From a hundred samples, each worth a hundredth of the table, the planner often expects ten times as many numbers with a part as there
-- are, and then reads all lines instead of looking a few up. The samples of other searched texts are too long to have a thousand of them
-- in each plan.
ALTER TABLE confd_extension ALTER COLUMN search_text SET STATISTICS 1000;
ALTER TABLE confd_line ALTER COLUMN search_text SET STATISTICS 1000;
