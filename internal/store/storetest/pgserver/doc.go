// Package pgserver starts private PostgreSQL servers for tests, from the installed programs, in temporary folders: with fsync
// on, on a free port of 127.0.0.1, with a random password. They can be killed, restarted, copied to a standby and promoted, for
// tests of crashes and failovers.
package pgserver
