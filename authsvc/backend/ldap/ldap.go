package ldap

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	goldap "github.com/go-ldap/ldap/v3"
	"github.com/google/uuid"
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

	// Emails are all its addresses, in lower case, sorted, without duplicates. They find the local user of an entry whose ID is not yet
	// bound, if at most one user has any of them: picking one would let anybody who may add an address choose which account it opens.
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

// idAttributes are the attributes in which directories keep an entry's ID. Those that no user can write come first: an entryUUID
// is always the server's own, while an objectGUID or nsUniqueId on another vendor's server may be anybody's.
var idAttributes = []string{"entryUUID", "objectGUID", "nsUniqueId"}

var uniqueID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$`)

func (s *session) entry(found *goldap.Entry) Entry {
	return Entry{DN: found.DN, ID: idOf(found), Emails: emails(found.GetEqualFoldAttributeValues(s.config.UserEmailAttribute))}
}

// maxEmails is how many addresses a local user may have.
const maxEmails = 100

// emails omits values that no local user has as address or name: empty and very long values, and values with spaces or control
// characters. It returns none if there are more than a local user may have: somebody looks each of them up.
func emails(values []string) []string {
	if len(values) > maxEmails {
		return nil
	}
	var kept []string
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v != "" && len(v) <= MaxLogin && utf8.ValidString(v) && !strings.ContainsFunc(v, odd) {
			kept = append(kept, strings.ToLower(v))
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// idOf returns "" unless the first of the attributes that exist has one value, in the form that its servers use.
func idOf(found *goldap.Entry) string {
	for _, name := range idAttributes {
		values := found.GetEqualFoldRawAttributeValues(name)
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return ""
		}
		switch name {
		case "entryUUID":
			return textUUID(string(values[0]))
		case "objectGUID":
			return binaryGUID(values[0])
		default:
			if text := strings.ToLower(string(values[0])); uniqueID.MatchString(text) {
				return text
			}
			return ""
		}
	}
	return ""
}

func textUUID(text string) string {
	u, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return ""
	}
	return u.String()
}

// binaryGUID formats a GUID as Windows does: its first three numbers have their lowest byte first.
func binaryGUID(raw []byte) string {
	if len(raw) != 16 {
		return ""
	}
	return uuid.UUID(windowsOrder(raw)).String()
}

// windowsOrder converts a GUID's bytes from one order to the other.
func windowsOrder(raw []byte) []byte {
	b := slices.Clone(raw)
	slices.Reverse(b[0:4])
	slices.Reverse(b[4:6])
	slices.Reverse(b[6:8])
	return b
}

// ErrNoService says that a directory without a service account cannot be asked about a user without the user's password.
var ErrNoService = errors.New("without bind_dn and bind_password the directory answers nothing without the user's password")

// statusAttributes are the attributes in which directories mark an account as closed: OpenLDAP's password policy, Active
// Directory, 389 and eDirectory.
var statusAttributes = []string{"pwdAccountLockedTime", "userAccountControl", "nsAccountLock", "loginDisabled"}

const (
	// lockedForGood is the pwdAccountLockedTime of an account that an administrator has locked. Any other value is a temporary
	// lock after wrong passwords, which anybody can cause.
	lockedForGood = "000001010000Z"
	// accountDisable is a flag of userAccountControl.
	accountDisable = 2
)

// Recheck asks the directory, as its service account, whether the entry of an earlier [Authenticate] could still log in: it
// exists, its account is not closed, and a login finds it with search_filters. id is its ID; if it is empty, the addresses find
// the entry.
//
// Recheck proves no password. Its errors are those of Authenticate, and [ErrNoService].
func Recheck(ctx context.Context, c Config, id string, addresses []string) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("checking the directory's configuration: %w", err)
	}
	if !c.service() {
		return ErrNoService
	}
	filter, err := c.known(id, addresses)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	s, err := open(ctx, c, "")
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.conn.Bind(c.BindDN, c.BindPassword); err != nil {
		return s.failure("binding as bind_dn", err)
	}
	found, err := s.one("finding the entry again", filter, c.UserLoginAttribute)
	if err != nil {
		return err
	}
	if id != "" && idOf(found) != id {
		return refused("the entry has another ID now")
	}
	if closed(found) {
		return refused("the account is closed in the directory")
	}
	for _, login := range found.GetEqualFoldAttributeValues(c.UserLoginAttribute) {
		if !nameable(login) {
			continue
		}
		again, err := s.one("finding the entry by its login", c.filter(login))
		if err == nil && again.DN == found.DN {
			return nil
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
	}
	return refused("no login finds the entry any longer")
}

// known returns the filter that finds a known entry.
func (c Config) known(id string, addresses []string) (string, error) {
	var filter strings.Builder
	if uniqueID.MatchString(id) {
		return "(nsUniqueId=" + id + ")", nil
	}
	if id != "" {
		u, err := uuid.Parse(id)
		if err != nil {
			return "", refused("the ID is not a directory's")
		}
		for _, b := range windowsOrder(u[:]) {
			fmt.Fprintf(&filter, `\%02x`, b)
		}
		return "(|(entryUUID=" + u.String() + ")(objectGUID=" + filter.String() + "))", nil
	}
	for _, address := range addresses {
		filter.WriteString("(" + c.UserEmailAttribute + "=" + goldap.EscapeFilter(address) + ")")
	}
	if filter.Len() == 0 {
		return "", refused("the user has no address to be found by")
	}
	return "(|" + filter.String() + ")", nil
}

// one finds the one entry that matches.
func (s *session) one(doing, filter string, attributes ...string) (*goldap.Entry, error) {
	entries, err := s.find(s.config.UserBaseDN, goldap.ScopeWholeSubtree, filter, slices.Concat(attributes, idAttributes, statusAttributes))
	switch {
	case len(entries) > 1 || goldap.IsErrorWithCode(err, goldap.LDAPResultSizeLimitExceeded):
		return nil, refused("several entries match")
	case err != nil:
		return nil, s.failure(doing, err)
	case len(entries) == 0:
		return nil, refused("no entry matches")
	}
	return entries[0], nil
}

// closed reports whether an administrator has closed the account.
func closed(found *goldap.Entry) bool {
	for _, name := range statusAttributes {
		for _, value := range found.GetEqualFoldAttributeValues(name) {
			flags, _ := strconv.ParseInt(value, 10, 64)
			switch {
			case name == "pwdAccountLockedTime" && value == lockedForGood,
				name == "userAccountControl" && flags&accountDisable != 0,
				name != "pwdAccountLockedTime" && strings.EqualFold(value, "true"):
				return true
			}
		}
	}
	return false
}
