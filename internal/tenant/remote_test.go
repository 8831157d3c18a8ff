package tenant_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tenant"
)

// elsewhere is a scripted tree of another auth server's tenants, from a tenant to its parent, by names.
type elsewhere struct {
	mu      sync.Mutex
	parents map[string]string
	uuids   map[string]string
	away    error
}

func newElsewhere(parents map[string]string) *elsewhere {
	e := &elsewhere{parents: parents, uuids: map[string]string{}}
	for name := range parents {
		e.uuids[name] = uuid.NewString()
	}
	return e
}

func (e *elsewhere) move(name, parent string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parents[name] = parent
}

func (e *elsewhere) within(tenant, root string) bool {
	for at := tenant; at != ""; at = e.parents[at] {
		if at == root {
			return true
		}
	}
	return false
}

// acts lets a principal of one tenant act in another, as the gate does.
func (e *elsewhere) acts(t *testing.T, db store.DB, own, in string) error {
	t.Helper()
	p := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: e.uuids[own], Remote: true}}
	err := tenant.Follow(t.Context(), db, p, e.uuids[in], func(_ context.Context, asked string) (bool, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.away != nil {
			return false, e.away
		}
		for name, id := range e.uuids {
			if id == asked {
				return e.within(name, own), nil
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	got, err := ofIn(t, db, p, e.uuids[in])
	if err == nil && got != e.uuids[in] {
		t.Errorf("%s acts in %s", own, got)
	}
	return err
}

// sees returns the names of what lies below a tenant here.
func (e *elsewhere) sees(t *testing.T, db store.DB, own string) []string {
	t.Helper()
	below, err := store.Select[string](t.Context(), db, `SELECT CAST(uuid AS text) FROM auth_tenant WHERE uuid <> $1 AND `+tenant.Below("uuid", "$1"), e.uuids[own])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(e.uuids)) {
		if slices.Contains(below, e.uuids[name]) {
			names = append(names, name)
		}
	}
	return names
}

func TestFollow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plant(t, db, [][2]string{{"master", "master"}})
		e := newElsewhere(map[string]string{"root": "", "a": "root", "a1": "a", "a11": "a1", "b": "root"})
		acts := func(own, in string) {
			t.Helper()
			if err := e.acts(t, db, own, in); err != nil {
				t.Fatalf("%s in %s: %v", own, in, err)
			}
		}
		sees := func(own string, want ...string) {
			t.Helper()
			if got := e.sees(t, db, own); !slices.Equal(got, want) {
				t.Errorf("below %s there is %v, want %v", own, got, want)
			}
		}
		// A tenant that is first seen lies below that of the token which named it; one that is known gets there.
		acts("a", "a11")
		sees("a", "a11")
		acts("a1", "a1")
		acts("a", "a1")
		sees("a", "a1", "a11")
		acts("a1", "a11") // between them there is another
		sees("a1", "a11")
		sees("a", "a1", "a11")
		acts("root", "a11")
		sees("root", "a", "a1", "a11")
		acts("b", "b")
		sees("root", "a", "a1", "a11")
		acts("root", "b")
		sees("root", "a", "a1", "a11", "b")

		// What moves away is not seen by those whom it has left, even if they do not name it.
		e.move("a1", "b")
		acts("a", "a")
		sees("a")
		acts("b", "a11")
		sees("b", "a1", "a11")
		e.move("a11", "a")
		acts("b", "b")
		sees("b", "a1")
		acts("a", "a11")
		sees("a", "a11")
		acts("root", "root")
		acts("root", "a11")
		sees("root", "a", "a1", "a11", "b")

		// The one above goes below the one below.
		e.move("a11", "root")
		e.move("a", "a11")
		acts("a11", "a")
		sees("a11", "a")
		acts("a", "a")
		sees("a")

		// While nobody can be asked, nobody who sees others acts.
		e.away = store.ErrUnavailable
		if err := e.acts(t, db, "a11", "a11"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		acts("a", "a")
	})
}

// Tenants that were made here stay where they are, whatever another auth server says, and nobody acts in the master tenant from
// there.
func TestFollowLeavesOurOwnTenantsAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}, {"a1", "a"}, {"c", "master"}})
		e := newElsewhere(map[string]string{"root": "", "a": "root", "a1": "root", "c": "a", "master": "a", "z": "a1"})
		maps.Copy(e.uuids, uuids)
		tree := func() string {
			all, err := store.Select[string](t.Context(), db, `SELECT CAST(uuid AS text) || ' ' || CAST(parent_uuid AS text) FROM auth_tenant WHERE NOT remote ORDER BY uuid`)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, "\n")
		}
		before := tree()
		for _, in := range []string{"a", "c"} {
			if err := e.acts(t, db, "a", in); err != nil {
				t.Errorf("in %s: %v", in, err)
			}
		}
		if err := e.acts(t, db, "a", "master"); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unauthorized {
			t.Errorf("in the master tenant: %v", err)
		}
		if err := e.acts(t, db, "a1", "z"); err != nil {
			t.Error(err)
		}
		if err := e.acts(t, db, "a", "a"); err != nil { // sees a1 here, but not what came from there
			t.Error(err)
		}
		if got := e.sees(t, db, "a"); !slices.Equal(got, []string{"a1"}) {
			t.Errorf("below a there is %v", got)
		}
		if after := tree(); after != before {
			t.Errorf("moved:\n%s\nbefore:\n%s", after, before)
		}
		if err := e.acts(t, db, "master", "master"); err != nil {
			t.Error(err)
		}
	})
}

// A caller from another auth server whose tenant is none, or no UUID, acts only in a tenant that the gate has had confirmed.
func TestPrincipalWithoutATenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}})
		for _, own := range []string{"", "master", "7E9A9700-0000-4000-8000-00000000000A"} {
			p := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: own, Remote: true}}
			for _, lines := range [][]string{nil, {own}, {uuids["master"]}, {uuid.NewString()}} {
				if _, err := of(t, db, p, lines...); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unauthorized {
					t.Errorf("%q, %q: %v", own, lines, err)
				}
			}
			in := uuid.NewString()
			if got, err := ofIn(t, db, p, in); err != nil || got != in {
				t.Errorf("%q: %q, %v", own, got, err)
			}
		}
	})
}
