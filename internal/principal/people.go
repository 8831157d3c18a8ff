package principal

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
)

// Person is what accesses name a telephone user by: confd.users.17 and confd.users.{uuid}. The person's login is auth.users.{uuid}.
type Person struct {
	ID   string `db:"id"`
	UUID string `db:"uuid"`
}

// People returns the persons of some numbers and UUIDs, whichever tenants they are in.
type People func(ctx context.Context, names []string) ([]Person, error)

// Elsewhere returns what else denials deny that name a person, so that each check needs to know one name only: the person by all names, as
// a telephone user and as a login. denials have no !, and `me` in them is the user. A pattern names a person by its third word, as
// confd.users.17.# and *.users.me.read do; confd.#.17.read may mean something else.
//
// It is as of now. The number of a telephone user who is made later is another name from the next look-up of the token on, 30 seconds later at
// most; meanwhile the engine refuses the telephone user by its UUID, and knows the number of what it has loaded.
func Elsewhere(ctx context.Context, denials []string, user string, people People) ([]string, error) {
	type naming struct{ name, what string }
	var all []naming
	var names []string
	for _, pattern := range denials {
		words := strings.SplitN(pattern, ".", 4)
		if len(words) < 4 || words[1] != "users" && words[1] != "*" || !slices.Contains([]string{"confd", "auth", "*"}, words[0]) {
			continue
		}
		name := words[2]
		if name == "me" {
			name = user
		}
		if _, err := uuid.Parse(name); err != nil && (words[0] == "auth" || strings.Trim(name, "0123456789") != "") {
			continue
		}
		all, names = append(all, naming{name, words[3]}), append(names, name)
	}
	if len(all) == 0 {
		return nil, nil
	}
	found, err := people(ctx, names)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range all {
		who := Person{UUID: n.name}
		if i := slices.IndexFunc(found, func(p Person) bool { return p.ID == n.name || p.UUID == n.name }); i >= 0 {
			who = found[i]
		} else if len(n.name) != 36 {
			continue // nobody has the number
		}
		out = append(out, "confd.users."+who.UUID+"."+n.what, "auth.users."+who.UUID+"."+n.what)
		if who.ID != "" {
			out = append(out, "confd.users."+who.ID+"."+n.what)
		}
	}
	return slices.DeleteFunc(out, func(pattern string) bool { return slices.Contains(denials, pattern) }), nil
}

// Closed returns the principal with accesses that deny a person by all names whom they deny by one. Nobody else pays for it than who is
// denied something of a person. denying makes the set, as acl.Set.Denying does.
func (p *Principal) Closed(ctx context.Context, people People, denying func(set *acl.Set, more []string) (*acl.Set, error)) (*Principal, error) {
	more, err := Elsewhere(ctx, p.ACL.Denials(), p.UserUUID, people)
	if err != nil || len(more) == 0 {
		return p, err
	}
	out := *p
	out.ACL, err = denying(p.ACL, more)
	return &out, err
}
