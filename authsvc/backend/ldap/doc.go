// Package ldap asks an LDAP directory whether a login and its password are correct, and which entry they belong to.
//
// It has two ways. With a service account, [Authenticate] binds as that account, searches the subtree for the one entry that the
// login means, and binds as that entry. Without a service account it binds directly as "login attribute = login, base", and then
// reads that entry.
//
// [Recheck] asks later, without the password, whether that entry could still log in.
//
// The package always verifies certificates and never falls back from TLS to plain text. It never binds without a password (a
// directory would report success), never follows a referral, and never lets a login become part of a filter or of a name. It
// connects to no address outside of [Reach], and waits at most five seconds.
//
// The package knows neither tenants nor users: the caller finds the [Config] of the tenant and, with the
// [Entry], the local user.
package ldap
