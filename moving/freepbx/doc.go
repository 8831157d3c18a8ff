// Package freepbx brings the extensions and the incoming numbers of a FreePBX into a tenant of an installation that is in use. It reads the
// files that FreePBX's bulk handler exports, "extensions" and "dids", and does all by the operations of the API, with their rules and checks.
//
//   - csv.go reads the files, and finds rows that are short or repeated.
//   - extension.go says what a row is here: a user with a line, a telephone, a number and a mailbox.
//   - destination.go says where FreePBX's destinations lead here.
//   - import.go does it: first all extensions, each in one transaction, then what leads from one to another, then the incoming numbers.
package freepbx
