// Package ldap asks an LDAP directory whether a login and its password are right, and who that is.
//
// It knows two ways. With a service account, [Authenticate] binds as that
// account, searches the subtree for the one entry that the login means, and binds as that entry. Without
// one it binds straight as "login attribute = login, base" and then reads the entry that it has become.
//
// [Recheck] asks later, without the password, whether that entry could still log in.
//
// What never happens: a certificate that is not verified, plain text in place of a TLS that was asked for,
// a bind without a password (a directory answers it with success), a referral followed, a login read as
// part of a filter or of a name, a connection to an address that is out of [Reach], a wait longer than five seconds.
//
// The package knows neither tenants nor users: the caller finds the [Config] of the tenant and, with the
// [Entry], the local user.
package ldap
