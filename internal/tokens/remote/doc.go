// Package remote takes tokens from an auth server elsewhere that speaks
// `GET /0.1/token/{token}`, so that the gate can stand in front of a platform
// that exists.
//
// The record's accesses are matched here, by package acl. Nobody tells this node when that
// server revokes a token: what it answered is trusted for [Config].Staleness, 10
// seconds by default, and that is how late a revocation may take effect.
//
// Only an answer that is plainly one of that server's is believed. 200 with a
// whole record is a principal; 404 with the server's own refusal is
// tokens.ErrUnknown; everything else, a redirect or a proxy's page included, is
// store.ErrUnavailable, so that a fault there never logs clients out.
package remote
