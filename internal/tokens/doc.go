// Package tokens turns the text of a token into its principal, quickly and without ever trusting a revoked token
// (docs/design.md, Tokens and revocation).
//
// # Why a cache that is allowed to forget
//
// [Cache] keeps known tokens in ristretto, whose writes are asynchronous, may be dropped and may land after a deletion. So
// ristretto's results are only hints: correctness depends on sequence numbers that are kept beside it.
//
// One counter numbers all events. Each look-up takes a number before it asks the source, and stores it with the result. Each
// Forget takes a number after the change was committed, and records it in a fixed table, under the token or under the user, or
// as the floor below which nothing counts. A result is used only if its number is above all those recorded for it. So a look-up
// that read the database before a revocation loses, however late its result arrives in ristretto. So does a look-up that a
// request joined after the revocation: its result is checked again when it returns, and the source is asked anew. The tables are
// indexed by hash. Two tokens that share a slot sometimes cost each other a query and nothing else, so no cleanup is needed and
// a Forget never waits.
//
// # How long a result is used
//
// Until the token expires, and never longer than [Options].Staleness, counted from before the source was asked. A hot token is
// refreshed in the background before the last third of that time begins, so its requests do not stall. While the source is unreachable,
// known tokens are used up to the same limit; then the error is the source's, never [ErrUnknown], so clients do not log out.
// While the node cannot hear of revocations ([Cache.Distrust], which [Follow] calls), no known token is used.
//
// In front of ristretto is a lock-free table of fixed size, in which a newer token replaces an older one. It exists only for
// speed: its entries are checked in the same way, and ristretto still sees one use in eight, so it knows which tokens are worth
// keeping.
//
// ristretto gets no TTL. Age is checked when an entry is read, and an entry that is too old still proves that the token was once
// good, which counts when look-ups are scarce.
//
// # Unknown tokens
//
// They never enter the cache of known tokens: a flood of them would evict the others. They have a small table of their own, for
// at most 2 seconds, and their look-ups are rationed by rate and by number in flight, first for each network and then for all
// ([Ration]). A token that this node has seen to be good, or has just issued, is not rationed.
package tokens
