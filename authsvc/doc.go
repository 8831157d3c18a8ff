// Package authsvc is the authentication service: users, groups, policies, tokens, and the
// tenants that hold them. It is a plain HTTP handler and knows nothing of Caddy.
//
// Where to look:
//
//	service.go        what the service is made of, and its operations; revoke.go how revocations reach every node
//	settings.go       what the operator chooses; config.go what of it the API shows; status.go whether the service can work;
//	                  saml.go what it cannot do
//
//	user.go           users; emails.go their addresses, emailconfirm.go and who confirms them; register.go accounts of one's own
//	group.go          groups; policy.go policies; userpolicy.go who has which; tenant.go the tree that they all belong to, tenantmove.go and how one is moved in it
//	name.go           when two names are one name
//	delegate.go       who may hand out, take away and act on what; administrator.go that somebody always may
//	holding.go        who holds what; explain.go why a request is allowed; audit.go what was changed
//
//	token.go          logging in; issue.go storing what is issued; tokenrecord.go what is shown of it
//	tokencheck.go     reading, checking and revoking tokens; session.go and refresh.go their sessions and refresh tokens
//	source.go         from a token to its principal, as the gate asks it
//
//	login.go          what was typed, and whose it is
//	passwordchange.go and passwordreset.go: a new password; singleuse.go the links in mails, errands.go what is done after the answer
//	backend.go        who checks a login: the database, a tenant's directory (ldaplogin.go, ldapconfig.go), others; idp.go who by which;
//	                  ask.go how they are asked, and what happens when they do not answer; recheck.go whether a refresh token's user still may log in, as the backend knows
//
//	bootstrap.go      the master tenant and the first administrator; credentials.go where the password is kept; recover.go the way back in
//
// In folders of their own, each with a small door:
//
//	password/         hashes passwords, a bounded number at a time
//	throttle/         slows guessing and flooding down
//	backend/          the directories that a backend asks
//	external/         links to external services, and the plugins that make them (external.go mounts them)
//	mail/             the mails and how they are sent; page/ what a browser is shown that a link has sent here
package authsvc
