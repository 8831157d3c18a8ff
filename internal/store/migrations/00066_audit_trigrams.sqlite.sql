-- +goose Up
-- As @search_index makes it, for two columns. Nothing but the restoring of a backup deletes or changes a row.
CREATE VIRTUAL TABLE audit_search USING fts5(said, about, content='audit', content_rowid='id', tokenize='trigram case_sensitive 1', detail='none', columnsize=0);
-- Every change writes a row. With the usual 4, merging takes as long as the rest of a change; with the usual 16, some changes
-- merge much at once, and wait for it longer than anybody may.
INSERT INTO audit_search (audit_search, rank) VALUES ('automerge', 8);
INSERT INTO audit_search (audit_search, rank) VALUES ('crisismerge', 64);
CREATE TRIGGER audit_search_insert AFTER INSERT ON audit BEGIN
    INSERT INTO audit_search (rowid, said, about) VALUES (NEW.id, NEW.said, NEW.about);
END;
CREATE TRIGGER audit_search_delete AFTER DELETE ON audit BEGIN
    INSERT INTO audit_search (audit_search, rowid, said, about) VALUES ('delete', OLD.id, OLD.said, OLD.about);
END;
