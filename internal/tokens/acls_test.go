package tokens_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestACLsShare(t *testing.T) {
	var acls tokens.ACLs
	compile := func(patterns ...string) *acl.Set {
		t.Helper()
		set, err := acls.Compile(patterns)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	set := compile("confd.#", "auth.users.me.read")
	tests := []struct {
		name     string
		patterns []string
		same     bool
	}{
		{"the same", []string{"confd.#", "auth.users.me.read"}, true},
		{"another order", []string{"auth.users.me.read", "confd.#"}, true},
		{"with repetitions", []string{"confd.#", "confd.#", "auth.users.me.read"}, true},
		{"one less", []string{"confd.#"}, false},
		{"one more", []string{"confd.#", "auth.users.me.read", "!confd.users.delete"}, false},
		{"denied", []string{"!confd.#", "auth.users.me.read"}, false},
		{"none", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := compile(tt.patterns...) == set; got != tt.same {
				t.Errorf("shared: %t", got)
			}
		})
	}
	if !set.Allows("confd.users.read", acl.Binding{}) || set.Allows("auth.users.create", acl.Binding{}) {
		t.Error("the set is not that of the patterns")
	}
}

func TestACLsKeepTheCallersList(t *testing.T) {
	var acls tokens.ACLs
	patterns := []string{"z.#", "a.#", "z.#"}
	if _, err := acls.Compile(patterns); err != nil {
		t.Fatal(err)
	}
	if patterns[0] != "z.#" || patterns[1] != "a.#" || patterns[2] != "z.#" {
		t.Errorf("the caller's list is now %v", patterns)
	}
}

func TestACLsRefuse(t *testing.T) {
	var acls tokens.ACLs
	if _, err := acls.Compile([]string{"confd.us*"}); !errors.Is(err, acl.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if acls.Len() != 0 {
		t.Error("something was kept")
	}
}

func TestACLsFreeWhatIsUnused(t *testing.T) {
	var acls tokens.ACLs
	kept, err := acls.Compile([]string{"confd.#"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := acls.Compile([]string{fmt.Sprintf("confd.users.%d.read", i)}); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool {
		runtime.GC()
		return acls.Len() == 1
	})
	again, err := acls.Compile([]string{"confd.#"})
	if err != nil || again != kept {
		t.Errorf("a set in use was dropped (%v)", err)
	}
}

func TestACLsConcurrently(t *testing.T) {
	var acls tokens.ACLs
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 500 {
				access := fmt.Sprintf("confd.users.%d.read", i%5)
				set, err := acls.Compile([]string{access})
				if err != nil || !set.Allows(access, acl.Binding{}) {
					t.Errorf("%s: %v", access, err)
				}
				if i%100 == 0 {
					runtime.GC()
				}
			}
		})
	}
	group.Wait()
}
