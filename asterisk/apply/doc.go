// Package apply makes the stored configuration that of a telephone system: it generates files, checks them, makes them live, reloads
// Asterisk over its manager interface, and takes back what Asterisk does not accept.
//
// # Jobs
//
// Whatever is asked for is a job in the database. Of several nodes on one database, the one with the lease of the Asterisk does the
// jobs, one at a time. When it dies, another one gets the lease after it has expired. Each node has its own folder of generations,
// unless the operator shares one; a lock in the folder keeps two nodes from writing there at once.
//
// # What is interrupted
//
//   - a job that waits: the node that has the lease, or gets it, does it.
//   - a job that runs: the node that gets the lease next, also the same one after a restart, sets it to failed. The files are as the
//     package generation says: those of before, whole.
//   - a change that was committed and of which no job tells yet: each node asks for a job when it starts, if changes are to reach the
//     telephone system at once.
//
// The name under which a node holds the lease is kept in its folder, so that a process that follows a killed one has its lease at once
// (identity.go).
//
// A node whose lease has expired without its notice (it was suspended, or cut off from the database) renews it, or stops, before it
// swaps the files, and stops its reloads as soon as it notices.
package apply
