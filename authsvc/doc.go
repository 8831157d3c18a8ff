// Package authsvc is the authentication service: users, groups, policies, tokens, and the
// tenants that hold them. It is a plain HTTP handler and knows nothing of Caddy.
//
// Where to look:
//
//	service.go        what the service is made of, and its operations
//	settings.go       what the operator chooses; overview.go what of it the API shows, whether the service can work, and what it
//	                  has decided in the last hour; words.go the texts of the definition
//
//	user.go           users, and the accounts of telephone users; register.go accounts of one's own
//	group.go          groups
//	policy.go         policies; policy_holding.go who holds which, policy_configured.go those that the configuration makes
//	tenant.go         the tree that they all belong to
//	name.go           when two names are one name
//	email.go          a user's addresses, who confirms them, and the links in mails
//	password.go       a new password, with the old one or with a mail
//
//	delegate.go       who may hand out, take away and act on what, and that somebody always may
//	voucher.go        what lets somebody in as a user, and who vouches for it, and whether they are good
//	explain.go        why a request is allowed; audit.go what was changed
//
//	login.go          what was typed, and whose it is
//	token.go          logging in; what is issued, and how it is shown, checked and ended
//	token_*.go        refresh.go and session.go refresh tokens and sessions; source.go from a token to its principal, as the gate
//	                  asks for it; revoke.go how revocations reach every node
//	backend.go        who checks a login, how they are asked, and whether a refresh token's user still may log in
//	backend_*.go      idp.go who by which; ldap.go a tenant's directory
//
//	bootstrap.go      the master tenant and the first administrator; bootstrap_recover.go the way back in
//
// In folders of their own, each with a small door:
//
//	password/         hashes and verifies passwords, a bounded number at a time
//	throttle/         slows guessing and flooding down
//	backend/ldap/     asks a directory
//	external/         links to external services, and the plugins that make them (external.go mounts them)
//	mail/             the mails and how they are sent; page/ what a browser shows whom a link, or an external service, has sent here
package authsvc
