// Package store is the one seam between Ringfence and its two databases:
// one SQL text, two native drivers, errors by kind.
//
// Open a database with the engines' own packages, store/postgres and
// store/sqlite, or by address with package store/open. The schema is in
// store/migrations, in one text too.
//
// What makes one text mean the same on both:
//
//   - Arguments are $1, $2, ...; identifiers are never in double quotes where a
//     string is meant; columns are named, never *.
//   - A type of PostgreSQL has its place on SQLite: boolean, bigint and text
//     alike, uuid as text, bytea as blob, timestamptz as timestamp. SQLite checks
//     none of them, so values are validated before. Times are UTC with
//     microseconds.
//   - Text is compared and sorted by its bytes on SQLite, and by the database's
//     locale on PostgreSQL unless the column is declared COLLATE "C" there, as
//     @text is in migrations.
//   - LIKE is case-sensitive on PostgreSQL only: search with
//     fold(column) LIKE fold($1) ESCAPE '\', and order by fold(column).
//   - count(*) OVER () is 0 on a page past the last: count apart.
//   - InTx is serializable on both, and over with the first statement that
//     fails: use ON CONFLICT rather than an error that is expected.
package store
