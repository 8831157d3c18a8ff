// Command bench measures the budgets of docs/performance.md and prints them as one table:
//
//	go run ./internal/bench            all rows, under 16 minutes
//	go run ./internal/bench -quick     all rows with fewer rounds, about two minutes; for a look, not for the record
//	go run ./internal/bench -only gate rows of one group: gate, process, startup, revocation, steady, search, long, user,
//	                                   asterisk, mount
//	go run ./internal/bench -profile cmd/ringfence/default.pgo
//
// # How it measures
//
// The measure is the CPU time per request of the processes that serve it, which other work on the machine disturbs less than
// elapsed time. Each row is a ratio: both sides are measured in the same run, in alternating rounds, and the median of the
// rounds' ratios is compared with the budget.
//
// The program runs itself again in other roles, each in its own process: the gateway, the load generator, the upstream behind the
// proxies, and the authorization server that nginx asks (`auth_request`). Only the processes that a deployment would
// need for the access check are counted: the gateway, and the authorization server if there is one. The load generator uses
// HTTP/1.1 over kept-alive TLS connections on loopback and sends every token in turn, in an order unrelated to that of the cache.
//
// The gateway in role "gateway" is the release build (same flags, profile and garbage collection target) with one more guest
// module, the token source `bench`. It knows 100,000 tokens and puts all of them into the gate's real cache before the server
// starts. Its clock runs 1000 times slower, so that no entry expires and a round measures cache hits. The cost of looking tokens
// up again while 100,000 are in constant use is a row of its own ("steady state"), measured on the release binary with its rows
// in SQLite.
//
// The groups search and long measure the release binary as `make run` starts it, on SQLite and, but for long, on PostgreSQL.
//
// What the repository has Go benchmarks for is measured with these, and is compared with what they told before: the group user runs that of
// confdsvc, which counts the statements and allocations for one user, and the group mount that of internal/rest.
package main
