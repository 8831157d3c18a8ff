// Package tokens turns the text of a token into the principal that it speaks
// for, quickly and without ever trusting what was revoked (docs/design.md,
// Tokens and revocation).
//
// # Why a cache that is allowed to forget
//
// [Cache] keeps known tokens in ristretto, whose writes are asynchronous, may be
// dropped and may land after a deletion. So ristretto only
// ever answers "perhaps": correctness rests on numbers that sit beside it.
//
// One counter numbers everything that happens: each look-up takes a number
// before it asks the source, and keeps it with what it learnt; each Forget takes
// a number after the change was committed, and writes it down in a fixed table,
// under the token or under the user, or as the floor below which nothing counts.
// What was learnt is used only if its number is above all that was written down
// for it. A look-up that read the database before a revocation therefore loses, however late
// its result arrives in ristretto, and so does one that a request joined
// after the revocation: it is checked again when it returns, and asked anew. The
// tables are indexed by hash. Two tokens that share a slot cost each other a
// query now and then and nothing else, so nothing has to be cleaned up and a
// Forget never waits.
//
// # How long an answer is used
//
// Until the token expires, and never longer than [Options].Staleness, counted
// from before the source was asked. A hot token is asked for again in the background in the last third of
// that time, so that it does not stall. While the source cannot answer, what is
// known is used up to the same limit; then the error is the source's, never
// [ErrUnknown], so that clients do not log out. While the node cannot hear of
// revocations ([Cache.Distrust], which [Follow] calls) nothing known is used.
//
// In front of ristretto is a table of fixed size, without locks, in which a newer token takes the place of an
// older one. It is there for speed alone: what is in it is judged in the same way, and ristretto still hears of one
// use in eight, so that it knows which tokens are worth keeping.
//
// ristretto gets no TTL: age is judged when an entry is read, and an entry that is too old still
// tells that the token was once good, which counts when look-ups are short.
//
// # Tokens that nobody knows
//
// They never enter the cache of those that are known: a flood of them would
// push out the others. They have a small table of their own with a
// life of 2 seconds at most, and their look-ups are rationed by rate and by
// number in flight, for each network first and then for all ([Ration]). A token that this node has seen to be good, or has just
// issued, is not rationed.
package tokens
