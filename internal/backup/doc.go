// Package backup writes everything that an installation is to one file, and makes an installation of such a file: the database, the
// sealing keys, the self-signed certificate and its key. The file is the same whichever database it was made from, and is restored into
// either.
//
// # The file
//
// A backup is a zip archive with these members, in this order:
//
//	tables/<table>.jsonl   each row as a JSON array, in the order of the primary key
//	files/<name>           a file of the data folder
//	manifest.json          a [Manifest]: the format, the schema's version, and the number of each table's rows
//
// A row has the table's columns, in their order: text and uuid as strings, numbers, booleans, times in UTC with microseconds,
// bytes in base64, null. What the database computes is left out. The tables and columns are those of the migrations: they are read from
// an empty database that is migrated to the same version. The archive has a checksum of each member.
//
// # Restoring
//
// [File.Restore] first makes a SQLite database of the file, of the version that the backup has, which checks all of its rows, and migrates
// that to this program's. SQLite then gets this file; PostgreSQL gets its rows, in one transaction. So an older backup fits, and either
// database takes what the other wrote.
package backup
