package principal_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
)

// Whom a denial names by one name is denied by all, in both services.
func TestAPersonIsDeniedByAllNames(t *testing.T) {
	t.Parallel()
	asked := 0
	people := func(_ context.Context, names []string) ([]principal.Person, error) {
		asked++
		var out []principal.Person
		for _, p := range []principal.Person{{ID: "17", UUID: ann}, {ID: "18", UUID: bob}} {
			if slices.Contains(names, p.ID) || slices.Contains(names, p.UUID) {
				out = append(out, p)
			}
		}
		return out, nil
	}
	all := []string{"confd.users.17.", "confd.users." + ann + ".", "auth.users." + ann + ".", "confd.users.me."}
	for _, c := range []struct {
		denial, what string
		one          bool // by one name alone
	}{
		{"confd.users.17.#", "lines.5.update", false},
		{"confd.users." + strings.ToUpper(ann) + ".#", "read", false},
		{"auth.users." + ann + ".#", "password.update", false},
		{"confd.users.me.read", "read", false},
		{"*.users.17.#", "read", false},
		{"confd.*.17.*", "delete", false},
		{"*.*.me.#", "delete", false},
		{"confd.users.17", "read", true},
		{"confd.lines.17.#", "read", true},
		{"calld.users.17.#", "read", true},
		{"auth.users.17.#", "read", true}, // no login is called so
	} {
		for _, name := range all {
			p, err := annWith(t, "#", "!"+c.denial).Closed(t.Context(), people, (*acl.Set).Denying)
			if err != nil {
				t.Fatal(err)
			}
			if denied := p.Denies(name + c.what); denied == c.one {
				t.Errorf("!%s: %s is denied %t", c.denial, name+c.what, denied)
			}
			if p.Denies("confd.users.18." + c.what) {
				t.Errorf("!%s denies somebody else", c.denial)
			}
		}
	}
	asked = 0
	for _, denial := range []string{"!confd.lines.17.#", "!confd.users.export.read", "!confd.users.*.delete", "!auth.#"} {
		if _, err := annWith(t, "#", denial).Closed(t.Context(), people, (*acl.Set).Denying); err != nil || asked > 0 {
			t.Errorf("%s: people were looked up %d times, %v", denial, asked, err)
		}
	}
	// Nobody has the number; a login has no telephone user.
	const nobody = "3c6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c"
	p, err := annWith(t, "#", "!confd.users.99.#", "!auth.users."+nobody+".#").Closed(t.Context(), people, (*acl.Set).Denying)
	if err != nil || !p.Denies("confd.users."+nobody+".read") || !p.Denies("confd.users.99.read") {
		t.Errorf("%v, %v", p.ACL.Patterns(), err)
	}
}
