// Package authsvc is the authentication service: users, groups, policies, tokens, and the
// tenants that hold them. It is a plain HTTP handler and knows nothing of Caddy.
//
// Where to look:
//
//	service.go        what the service is made of, and its operations
//	settings.go       what the operator chooses; config.go what of it the API shows; status.go whether the service can work;
//	                  overview.go what it has decided in the last hour, overview_minutes.go counts it; saml.go what it cannot do;
//	                  formats.go the forms of text that several objects have; descriptions.go and examples.go the texts of the definition
//
//	user.go           users; user_policy.go who has which policy; register.go accounts of one's own; user_login.go the account
//	                  of a telephone user
//	group.go          groups
//	policy.go         policies; policy_holding.go who holds which, policy_configured.go those that the configuration makes
//	tenant.go         the tree that they all belong to; tenant_move.go how one is moved in it
//	name.go           when two names are one name
//	email.go          a user's addresses; email_confirm.go who confirms them, email_link.go the links in mails
//	password_*.go     a new password: change.go with the old one, reset.go with a mail
//	background.go     work after the response
//
//	delegate.go       who may hand out, take away and act on what; administrator.go that somebody always may
//	voucher.go        what lets somebody in as a user, and who vouches for it, and whether they are good
//	explain.go        why a request is allowed; audit.go what was changed
//
//	login.go          what was typed, and whose it is
//	token.go          logging in
//	token_*.go        issue.go stores what is issued, record.go shows it, check.go reads, checks and ends it; refresh.go and session.go
//	                  refresh tokens and sessions; source.go from a token to its principal, as the gate asks for it, and batch.go
//	                  for many tokens by one query; revoke.go how revocations reach every node
//	backend.go        who checks a login
//	backend_*.go      idp.go who by which; ask.go how they are asked, and what happens when they do not answer; recheck.go whether a refresh
//	                  token's user still may log in; ldap_login.go and ldap_config.go a tenant's directory
//
//	bootstrap.go      the master tenant and the first administrator
//	bootstrap_*.go    credentials.go where the password is kept; recover.go the way back in
//
// In folders of their own, each with a small door:
//
//	password/         hashes and verifies passwords, a bounded number at a time
//	throttle/         slows guessing and flooding down
//	backend/ldap/     asks a directory
//	external/         links to external services, and the plugins that make them (external.go mounts them)
//	mail/             the mails and how they are sent; page/ what a browser shows whom a link, or an external service, has sent here
package authsvc
