// Package remote takes tokens from another auth server that offers `GET /0.1/token/{token}`, so that the gate can protect an
// existing platform.
//
// The record's accesses are matched here, by package acl. Nobody tells this node when that server revokes a token: its response
// is trusted for [Config].Staleness, 10 seconds by default, so a revocation may take effect that late.
//
// Only a response that is clearly that server's is believed. 200 with a whole record is a principal; 404 with the server's own
// refusal is tokens.ErrUnknown; everything else, a redirect or a proxy's page included, is store.ErrUnavailable, so that a fault
// there never logs clients out.
//
// That server's tree of tenants counts for its tokens. It is asked with `?tenant=`, which takes no right of the token's: 200 lets
// the token into the tenant, 403 with the server's own refusal does not, and everything else is as above.
package remote
