package wazo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/moving/wazo"
)

// What somebody could do before they can do here, or it is told; nothing more.
func TestAccesses(t *testing.T) {
	documented := []string{
		"confd.users.read", "confd.users.create", "confd.users.{user_id}.read", "confd.users.{user_id}.lines.read", "confd.user.read", "auth.users.read",
	}
	for _, tt := range []struct {
		old, want, reason string
	}{
		{"confd.#", "confd.#", ""},
		{"#", "#", ""},
		{"!confd.wizard.#", "!confd.wizard.#", ""},
		{"confd.users.*.edit", "confd.users.*.edit confd.users.*.update", ""},
		{"confd.users.edit.read", "confd.users.edit.read", ""},
		{"!confd.edit.read", "!confd.edit.read !confd.update.read", ""},
		{"confd.users.{{ entry_uuid }}.read", "confd.users.me.read", ""},
		{"confd.users.{{uuid}}.read", "confd.users.me.read", ""},
		{"confd.user*.read", "confd.user.read confd.users.read", "written out"},
		{"confd.users.re*ad", "confd.users.read", "written out"},
		{"confd.use*.*.read", "confd.users.*.read", "written out"},
		{"confd.users.1*.read", "", "no access of this gateway"},
		{"calld.sw*.read", "", "no access of this gateway"},
		{"!confd.us*.read", "!confd.*.read", "the whole word is denied"},
		{"!confd.us#", "!confd.#", "the whole word is denied"},
		{"confd.users.", "", "an empty word"},
		{"!confd.users.", "", ""},
		{"confd..read", "", "an empty word"},
		{"confd.users read", "", "no pattern"},
		{"!confd.users read", "!confd.*", "any word now"},
		{"!confd.us ers.read", "!confd.*.read", "any word now"},
		{"!confd." + strings.Repeat("x.", 200) + "read", "!#", "everything is denied"},
		{"", "", "an empty word"},
	} {
		got, reason := wazo.Translate(tt.old, documented)
		if strings.Join(got, " ") != tt.want || !strings.Contains(reason, tt.reason) || (reason == "") != (tt.reason == "") {
			t.Errorf("%q becomes %q (%s), want %q (%s)", tt.old, got, reason, tt.want, tt.reason)
		}
	}
}

func TestArrays(t *testing.T) {
	for text, want := range map[string][][]string{
		"{}":                        nil,
		`{a,"b c"}`:                 {{"a", "b c"}},
		`{{k,v},{"k 2","a\\b\"c"}}`: {{"k", "v"}, {"k 2", `a\b"c`}},
		`{{a,""}}`:                  {{"a", ""}},
	} {
		got, err := wazo.Array(text)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"{", "}", "{{{a}}}", `{"a`, "a", `{a\`, "{a}}"} {
		if got, err := wazo.Array(text); err == nil {
			t.Errorf("%s is %q", text, got)
		}
	}
}
