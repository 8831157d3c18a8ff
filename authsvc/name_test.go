package authsvc_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A name is the same name however it is typed.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"root", "Root", "ROOT", " root", "root\u00a0", "\u3000root ", "ｒｏｏｔ", "ROOT\t"},
		{"zoé", "ZOÉ", "Zoe\u0301", "zoe\u0301 "},
		{"night shift", "Night  Shift", "night\u2003shift"},
		{"ångström", "Ångström", "\u212bngstro\u0308m", "A\u030angström"},
		{"strasse", "STRASSE"},
		{"ijsland", "Ĳsland"},
		{"kelvin", "\u212aelvin"},
		{"secret", "ſecret"},
		{"имя", "ИМЯ"},
	} {
		want, ok := authsvc.Canonical(same[0])
		if !ok || want == "" {
			t.Errorf("%q has no canonical form", same[0])
		}
		for _, name := range same[1:] {
			got, ok := authsvc.Canonical(name)
			if strings.ContainsAny(name, "\t") {
				if ok {
					t.Errorf("%q, with a control character, is %q", name, got)
				}
				continue
			}
			if !ok || got != want {
				t.Errorf("%q is %q, and %q is %q", name, got, same[0], want)
			}
			if again, _ := authsvc.Canonical(got); again != got {
				t.Errorf("%q is %q, which is %q", name, got, again)
			}
		}
	}
	for _, pair := range [][2]string{{"root", "r00t"}, {"root", "ro ot"}, {"zoé", "zoe"}, {"a", "à"}} {
		one, _ := authsvc.Canonical(pair[0])
		if other, _ := authsvc.Canonical(pair[1]); one == other {
			t.Errorf("%q is %q", pair[0], pair[1])
		}
	}
	for _, nobody := range []string{"", " ", "\u00a0", "a\x00b", "a\nb", "a\u200bb", "a\u200db", "\u200eroot", "ro\u202eot", "ro\u00adot", "\ufeffroot", "\u3164", "a\xffb", "a\U000e0041b"} {
		if key, ok := authsvc.Canonical(nobody); ok {
			t.Errorf("%q is %q", nobody, key)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, tidy := range map[string]string{
		"root": "root", "  Big  Boss ": "Big  Boss", "Zoe\u0301": "Zoé", "Группа VIP": "Группа VIP", "user_имя": "user_имя", "50 % & more": "50 % & more",
		"bob+x@example.org": "bob+x@example.org", "日本語 team": "日本語 team", "αβγ-abc": "αβγ-abc", "🙂": "🙂",
	} {
		if got, key, err := authsvc.CheckName(name); err != nil || got != tidy || key == "" {
			t.Errorf("%q is stored as %q, %v; want %q", name, got, err, tidy)
		}
	}
	for _, name := range []string{"", "  ", "rооt", "аdmin", "Αdmin", "admіn@example.org", "ad\u200bmin", "ad\u00admin", "a\x01b"} {
		_, _, err := authsvc.CheckName(name)
		e := apierr.As(err)
		if e == nil || e.Kind != apierr.Invalid || len(e.Fields) != 1 || e.Fields[0].Name != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A login by HTTP Basic ends the name at its first colon: who had one in it could never log in.
func TestUsernamesHoldNoColon(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		s.do("POST", "/users", admin, `{"username":"olga:smith","password":"secret of olga"}`).Want(400)
		olga := s.do("POST", "/users", admin, `{"username":"olga","password":"secret of olga"}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+olga, admin, `{"username":"olga:smith"}`).Want(400)

		// One from before this rule can be changed, and loses nothing.
		if _, err := db.Exec(t.Context(), "UPDATE auth_user SET username = 'olga:smith' WHERE uuid = $1", olga); err != nil {
			t.Fatal(err)
		}
		s.do("PUT", "/users/"+olga, admin, `{"username":"olga:smith","firstname":"Olga"}`).Want(200)
		s.do("PUT", "/users/"+olga, admin, `{"username":"olga","firstname":"Olga"}`).Want(200)
		s.do("POST", "/token", "", "{}", resttest.Basic("olga", "secret of olga")).Want(200)
	})
}
