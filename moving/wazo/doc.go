// Package wazo makes an installation of ours of a dump of the existing platform's database: of what its own backup writes.
//
// # How
//
//   - dump.go opens the file and has its rows as text, and copytext.go reads that, table by table, as a stream.
//   - tables.txt says of every table which columns are kept, or why none are. spool.go puts what is kept into a temporary SQLite database, in
//     tables named w_ and the table's name, all values as text; derive.go adds what SQL cannot say: translated accesses, destinations, lists.
//   - compile.go makes the same database one of ours, and runs sql/*.sql in the order of their names: each is INSERT ... SELECT from w_ tables
//     into ours. A further kind is a line in tables.txt and a statement.
//   - That database becomes a backup ([backup.Create]), and the backup is restored, as any other: all or nothing, into either database.
//
// # Directives
//
// A statement of sql/*.sql that begins with a directive is a query, whose rows are (rowid, tenant, object) or (tenant, object):
//
//	-- leave TABLE because REASON    the rows of w_TABLE are left out, and told
//	-- decide REASON                 is told first: somebody must decide
//
// A column named reason replaces the directive's.
package wazo
