// Package transaction is what the changes of one transaction have in common, whichever objects they are of: what is done after the commit, the
// events, the audit, what the transaction knows without asking the database, requests that share one, and replies that are kept.
package transaction
