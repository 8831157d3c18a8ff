package ldap

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	goldap "github.com/go-ldap/ldap/v3"
)

// How long to wait for a directory: for a connection, including immediate TLS, and for everything together.
const (
	ConnectTimeout = 2 * time.Second
	Timeout        = 5 * time.Second
)

// Longer logins and passwords, in bytes, are refused before a connection is made.
const (
	MaxLogin    = 256
	MaxPassword = 1024
)

// ErrRefused is the directory's refusal of a login and a password: a wrong password, no such entry, several entries, or a
// password or login that cannot be one. The error that wraps it holds the reason, which is for a log and never for the client: to
// a client all refusals look the same.
var ErrRefused = errors.New("login refused")

func refused(reason string) error { return fmt.Errorf("%w: %s", ErrRefused, reason) }

// Entry is the directory's entry of the user who has proved the password.
type Entry struct {
	DN string // as the directory spells it

	// ID identifies the entry for ever, in lower case: its entryUUID, or the objectGUID of Active Directory as a UUID, or the
	// nsUniqueId of 389. It survives renaming, and no two entries share it. It is empty if the directory shows none. A local user
	// is bound to it, and not to an address.
	ID string

	// Email is the entry's address in lower case, if it has exactly one, otherwise empty. It finds the local user of an entry
	// whose ID is not yet bound. An entry with several different addresses has no Email: picking one would let anybody who may
	// add an address choose which account it opens.
	Email string

	// Emails are all its addresses, in lower case, sorted, without duplicates: for a caller that accepts an entry with several
	// addresses if at most one local user has any of them.
	Emails []string
}

// Authenticate asks the directory which entry login means, and whether password is that entry's password.
//
// The error wraps [ErrRefused] if the directory refuses; otherwise it says why the directory could not be asked: a bad Config, a
// server that is unreachable or slow, an invalid certificate, a refused service account. No error holds the password or
// BindPassword. When ctx ends, the connection ends too, and the error wraps ctx.Err(). Authenticate is safe for concurrent use;
// each call has its own connection.
func Authenticate(ctx context.Context, c Config, login, password string) (Entry, error) {
	if !usable(password) {
		return Entry{}, refused("the password is blank, too long, or holds a NUL")
	}
	if !nameable(login) {
		return Entry{}, refused("the login is blank, too long, or holds control characters")
	}
	if err := c.Check(); err != nil {
		return Entry{}, fmt.Errorf("checking the directory's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	s, err := open(ctx, c, password)
	if err != nil {
		return Entry{}, err
	}
	defer s.close()
	if c.service() {
		return s.throughService(login, password)
	}
	return s.directly(login, password)
}

// usable reports whether a password may be sent. A bind with an empty one is unauthenticated, and directories report success (RFC
// 4513, section 5.1.2). Servers written in C may take a NUL for the end.
func usable(password string) bool {
	return strings.TrimSpace(password) != "" && len(password) <= MaxPassword && !strings.ContainsRune(password, 0)
}

func nameable(login string) bool {
	return strings.TrimSpace(login) != "" && len(login) <= MaxLogin && utf8.ValidString(login) &&
		!strings.ContainsFunc(login, unicode.IsControl)
}

// throughService finds the entry as the service account, then binds as the entry.
func (s *session) throughService(login, password string) (Entry, error) {
	if err := s.conn.Bind(s.config.BindDN, s.config.BindPassword); err != nil {
		return Entry{}, s.failure("binding as bind_dn", err)
	}
	entries, err := s.search(s.config.UserBaseDN, goldap.ScopeWholeSubtree, login)
	if err == nil && len(entries) == 1 {
		if entries[0].DN == "" { // binding with it would be an anonymous bind
			return Entry{}, errors.New("searching the user: the directory returned an entry without a name")
		}
		if err := s.bindUser(entries[0].DN, password); err != nil {
			return Entry{}, err
		}
		return s.entry(entries[0]), nil
	}
	several := len(entries) > 1 || goldap.IsErrorWithCode(err, goldap.LDAPResultSizeLimitExceeded)
	if err != nil && !several {
		return Entry{}, s.failure("searching the user", err)
	}
	// One more bind, as a name that nobody has: without it the response to an unknown login would come sooner than to a wrong
	// password. Its result does not matter.
	_ = s.bindUser(s.nameBelowBase(rand.Text()), password)
	if several {
		return Entry{}, refused("several entries match")
	}
	return Entry{}, refused("no entry matches")
}

// directly binds as the entry that the login names, then reads it.
func (s *session) directly(login, password string) (Entry, error) {
	dn := s.nameBelowBase(login)
	if err := s.bindUser(dn, password); err != nil {
		return Entry{}, err
	}
	entries, err := s.search(dn, goldap.ScopeBaseObject, login)
	switch {
	case err != nil:
		return Entry{}, s.failure("reading the user's own entry", err)
	case len(entries) == 1:
		return s.entry(entries[0]), nil
	case strings.TrimSpace(s.config.SearchFilters) != "":
		return Entry{}, refused("the user's own entry does not match search_filters")
	}
	return Entry{}, errors.New("reading the user's own entry: the directory does not show it to the user")
}

// nameBelowBase returns the DN of a direct bind. The login stays one value of it, whatever it holds (RFC 4514, section 2.4).
func (s *session) nameBelowBase(login string) string {
	return s.config.UserLoginAttribute + "=" + goldap.EscapeDN(login) + "," + s.config.UserBaseDN
}

// bindUser checks the password.
func (s *session) bindUser(dn, password string) error {
	err := s.conn.Bind(dn, password)
	switch {
	case err == nil:
		return nil
	case goldap.IsErrorAnyOf(err, goldap.LDAPResultInvalidCredentials,
		goldap.LDAPResultNoSuchObject, goldap.LDAPResultInappropriateAuthentication):
		// With the last two, some servers say that there is no such entry, or that it has no password.
		return refused("the directory refused the bind")
	}
	return s.failure("binding as the user", err)
}

// search returns the entries that match the login, with the attributes that an Entry needs.
func (s *session) search(base string, scope int, login string) ([]*goldap.Entry, error) {
	return s.find(base, scope, s.config.filter(login), append([]string{s.config.UserEmailAttribute}, idAttributes...))
}

// find returns at most one entry that matches a filter.
func (s *session) find(base string, scope int, filter string, attributes []string) ([]*goldap.Entry, error) {
	result, err := s.conn.Search(&goldap.SearchRequest{
		BaseDN:       base,
		Scope:        scope,
		DerefAliases: goldap.NeverDerefAliases,
		SizeLimit:    1, // beyond it the server returns sizeLimitExceeded: all we need to know about a second entry
		TimeLimit:    int(Timeout / time.Second),
		Filter:       filter,
		Attributes:   attributes,
	})
	if result == nil {
		return nil, err
	}
	return result.Entries, err
}
