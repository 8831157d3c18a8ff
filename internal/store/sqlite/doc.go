// Package sqlite implements store.DB on one SQLite file, with modernc.org/sqlite. It is the only package that imports SQLite.
//
// One connection writes and several read. Exec, InTx, and Query of a statement
// that writes (INSERT ... RETURNING) use the writer; every other Query and
// InReadTx use a reader, which sees all that was committed before it began and
// is not held up by the writer.
//
// A commit is on disk when it is answered (WAL with synchronous=FULL). The file
// belongs to one process: a second one is refused by a lock file.
//
// Times are kept as text in UTC with microseconds, which sorts as the times do.
// They scan into time.Time from columns declared timestamp and from
// expressions; booleans are 0 and 1 and scan into bool from both.
package sqlite
