// Package callrecords keeps who called whom: from Asterisk's records of calls (package asterisk/cdr) into the database, and from there to clients,
// in the form that clients of a call log know.
//
//   - service.go describes the service, call.go a call as clients read it
//   - keep.go stores records, once each; file.go reads those that nobody heard of from Asterisk's own file
//   - list.go finds calls, each list by an index, however many there are; csv.go writes them as a file
//   - retention.go is what a tenant says of its records, and removes old ones
package callrecords
