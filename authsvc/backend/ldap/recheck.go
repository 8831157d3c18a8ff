package ldap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goldap "github.com/go-ldap/ldap/v3"
	"github.com/google/uuid"
)

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
