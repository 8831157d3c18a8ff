// Package store is the one seam between Ringfence and its two databases:
// one SQL text, two native drivers, errors by kind.
//
// Open a database with the engines' own packages, store/postgres and
// store/sqlite, or by address with package store/open. The schema is in
// store/migrations, also in one text.
//
// Rules that make one text mean the same on both:
//
//   - Arguments are $1, $2, ...; strings are never in double quotes; columns are
//     named, never *.
//   - PostgreSQL's types have counterparts on SQLite: boolean, bigint and text are
//     the same, uuid is text, bytea is blob, timestamptz is timestamp. SQLite
//     checks none of them, so values are validated first. Times are UTC with
//     microseconds.
//   - Text is compared and sorted by its bytes on SQLite, and by the database's
//     locale on PostgreSQL unless the column is declared COLLATE "C" there, as
//     @text is in migrations.
//   - LIKE is case-sensitive only on PostgreSQL: search with
//     fold(column) LIKE fold($1) ESCAPE '\', and order by fold(column).
//   - count(*) OVER () returns no row on a page past the last: count separately.
//   - InTx is serializable on both, and ends with the first statement that
//     fails: use ON CONFLICT, not an expected error, or [Attempt].
package store
