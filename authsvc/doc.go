// Package authsvc is the authentication service: users, policies, tokens, and the
// tenants that hold them (SPEC, "Authentication service endpoints";
// reference, auth-api). It is a plain HTTP handler and knows nothing of Caddy.
//
// Where to look:
//
//	service.go    what the service is made of, and its operations
//	token.go      issuing, reading, checking and revoking tokens
//	source.go     from a token to its principal, as the gate asks it
//	user.go       the users' collection; policy.go the policies'; userpolicy.go who has which
//	delegate.go   who may hand out what
//	password.go   hashing; login.go finding a user by what was typed
//	backend.go    who checks a login: the database, a tenant's directory (ldaplogin.go), others' backends; idp.go who by which
//	bootstrap.go  the master tenant and the first administrator
package authsvc
