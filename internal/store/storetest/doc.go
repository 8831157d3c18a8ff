// Package storetest holds the conformance suite of store.DB, [Run], and makes databases for other packages' tests: [Each] runs a
// test on both engines.
//
// PostgreSQL needs a server, at the address in TEST_POSTGRES_DSN, on which databases may be created; without it those tests are
// skipped. The command storetest/withpostgres starts one. Databases are copied from a template, which is migrated once for each
// state of the schema and left on the server as ringfence_test_template_<hash>.
package storetest
