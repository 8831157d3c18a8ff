// Package acl implements the language in which permissions are written:
// accesses, patterns, and the two questions that callers ask about a list of
// patterns.
//
// An access is one permission that a request needs: words joined by dots, as
// in confd.users.17.lines.read. A pattern grants a family of accesses. Each of
// its words is one of
//
//   - a literal, which stands for itself, case included;
//   - *, exactly one word, whichever it is;
//   - #, one or more words: confd.# grants confd.users and confd.users.read,
//     but not confd;
//   - me, the UUID of the token's user;
//   - my_session, the UUID of the token's session.
//
// A pattern that starts with ! denies what the rest of it stands for. A denial
// always wins, wherever it is in the list.
//
// The words me and my_session mean the same UUID on both sides, so an access
// may contain them too: with a token of user U, auth.users.me.read and
// auth.users.U.read are one access in two spellings. See [Binding].
//
// A [Set] is a compiled list of patterns. [Set.Allows] reports whether the list
// grants one access, [Set.Covers] whether it grants everything that another
// pattern stands for. Both are exact. Neither uses regular expressions or
// backtracking: they read the words once, from left to right, with the set of
// all positions that the patterns may be in. docs/api.md, Accesses, describes
// the language; the package's tests hold the truth table (no word is ever
// empty, # never stands for nothing).
package acl
