package rights_test

import (
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/rights"
)

// An access is about an object by each of its names, each of which is one word of it.
func TestFilled(t *testing.T) {
	const access = "confd.users.{user_id}.lines.{line_id}.read"
	user, line := rights.Aliases{Param: "user_id", Keys: []string{"17", "a.b"}}, rights.Aliases{Param: "line_id", Keys: []string{"3"}}
	for _, step := range []struct {
		objects []rights.Aliases
		want    []string
	}{
		{[]rights.Aliases{user, line}, []string{"confd.users.17.lines.3.read", "confd.users.a%2Eb.lines.3.read"}},
		{[]rights.Aliases{line}, []string{"confd.users.{user_id}.lines.3.read"}},
		{[]rights.Aliases{{Param: "nope", Keys: []string{"x"}}}, []string{access}},
	} {
		if got := rights.Filled(access, step.objects...); !slices.Equal(got, step.want) {
			t.Errorf("%v: %q, want %q", step.objects, got, step.want)
		}
	}
}
