// Package store is the one seam between Ringfence and its two databases
// (DESIGN section 5): one SQL text, two native drivers, errors by kind.
//
// Open a database with the engines' own packages, store/postgres and
// store/sqlite, or by address with package store/open. The schema is in
// store/migrations, one folder an engine, with the same numbers in both.
package store
