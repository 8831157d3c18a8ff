package tenant_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tenant"
)

// ofIn returns the tenant in which a request acts that names one, after the gate has had it confirmed by another auth server.
func ofIn(t *testing.T, db store.DB, p *principal.Principal, named string) (string, error) {
	t.Helper()
	return ofContext(principal.WithTenant(t.Context(), named), t, db, p, named)
}

// of returns the tenant in which a request acts.
func of(t *testing.T, db store.DB, p *principal.Principal, header ...string) (string, error) {
	t.Helper()
	return ofContext(t.Context(), t, db, p, header...)
}

func ofContext(ctx context.Context, t *testing.T, db store.DB, p *principal.Principal, header ...string) (string, error) {
	t.Helper()
	var got string
	var err error
	svc := &rest.Service{Name: "x", Errors: rest.AuthErrors, Operations: []rest.Operation{{
		Method: http.MethodGet, Path: "/it", ID: "it", Success: http.StatusNoContent,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			got, err = tenant.Of(ctx, db, r)
			return rest.Reply{}, nil
		},
	}}}
	if err := svc.Mount(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/it", http.NoBody)
	r.Header.Set("Accept", "application/json")
	for _, h := range header {
		r.Header.Add(tenant.Header, h)
	}
	if p != nil {
		r = r.WithContext(principal.NewContext(r.Context(), p))
	}
	w := httptest.NewRecorder()
	if svc.ServeHTTP(w, r); w.Code != http.StatusNoContent {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return got, err
}

func TestOf(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}, {"a1", "a"}})
		p := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuids["a"]}}
		for _, c := range []struct {
			name   string
			header []string
			want   string // "": refused
			kind   apierr.Kind
		}{
			{"none", nil, "a", 0},
			{"own", []string{uuids["a"]}, "a", 0},
			{"below", []string{uuids["a1"]}, "a1", 0},
			{"below, in capitals", []string{strings.ToUpper(uuids["a1"])}, "a1", 0},
			{"own, in capitals", []string{strings.ToUpper(uuids["a"])}, "a", 0},
			{"above", []string{uuids["master"]}, "", apierr.Unauthorized},
			{"beside", []string{uuids["b"]}, "", apierr.Unauthorized},
			{"unknown", []string{uuid.NewString()}, "", apierr.Unauthorized},
			{"empty", []string{""}, "", apierr.Unauthorized},
			{"junk", []string{"junk"}, "", apierr.Unauthorized},
			{"not UTF-8", []string{"\xff"}, "", apierr.Unauthorized},
			{"without dashes", []string{strings.ReplaceAll(uuids["a1"], "-", "")}, "", apierr.Unauthorized},
			{"urn", []string{"urn:uuid:" + uuids["a1"]}, "", apierr.Unauthorized},
			{"twice", []string{uuids["a"], uuids["a"]}, "", apierr.Invalid},
		} {
			t.Run(c.name, func(t *testing.T) {
				got, err := of(t, db, p, c.header...)
				if c.want != "" {
					if err != nil || got != uuids[c.want] {
						t.Errorf("%s, %v, want %s", got, err, uuids[c.want])
					}
					return
				}
				e := apierr.As(err)
				if e == nil || e.Kind != c.kind || got != "" || c.kind == apierr.Unauthorized && e.ID != "unauthorized-tenant" {
					t.Errorf("%q, %v", got, err)
				}
				for _, h := range c.header {
					if h != "" && strings.Contains(e.Message, h) {
						t.Errorf("the refusal repeats the header: %s", e.Message)
					}
				}
			})
		}
		if _, err := of(t, db, nil); err == nil || apierr.As(err) != nil {
			t.Errorf("without a gate: %v", err)
		}
	})
}

// The tenant of a principal from another auth server is added once, below the master tenant.
func TestRemoteTenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		remote := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: true}}
		_, err := of(t, db, remote)
		if e := apierr.As(err); e == nil || e.Kind != apierr.Unavailable || e.RetryAfter == 0 {
			t.Errorf("without a master tenant: %v", err)
		}
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got, err := of(t, db, remote); err != nil || got != remote.TenantUUID {
					t.Errorf("%s, %v", got, err)
				}
			})
		}
		all.Wait()
		if ok, err := tenant.Within(t.Context(), db, remote.TenantUUID, uuids["master"]); err != nil || !ok {
			t.Errorf("below the master tenant: %t, %v", ok, err)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_tenant`); err != nil || n != 3 {
			t.Errorf("%d tenants, %v", n, err)
		}
		if _, err := of(t, db, remote, uuids["a"]); apierr.As(err) == nil {
			t.Errorf("another tenant: %v", err)
		}
		if got, err := of(t, db, &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuids["a"], Remote: true}}); err != nil || got != uuids["a"] {
			t.Errorf("a tenant that is known: %s, %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tenant.Within(ctx, db, uuids["a"], uuids["a"]); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// A tenant of another auth server that was deleted here stays deleted: its UUID is not used twice.
func TestOfADeletedTenantOfAnotherServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plant(t, db, [][2]string{{"master", "master"}})
		p := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: true}}
		if got, err := of(t, db, p); err != nil || got != p.TenantUUID {
			t.Fatalf("%q, %v", got, err)
		}
		if _, err := db.Exec(t.Context(), `DELETE FROM auth_tenant WHERE uuid = $1`, p.TenantUUID); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := of(t, db, p); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unauthorized {
				t.Errorf("%v", err)
			}
		}
	})
}

// A slug that is taken by chance is drawn again, and the last draw counts too.
func TestOfDrawsAnotherSlug(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}})
		p := &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: true}}
		tenant.DrawSlugs("a", "a", "free")
		if got, err := of(t, db, p); err != nil || got != p.TenantUUID {
			t.Fatalf("%q, %v", got, err)
		}
		if slug, err := tenant.Slug(t.Context(), db, p.TenantUUID); err != nil || slug != "free" {
			t.Errorf("the slug is %q, %v", slug, err)
		}
		tenant.DrawSlugs("a", "a", "a")
		if _, err := of(t, db, &principal.Principal{Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: true}}); err == nil || apierr.As(err) != nil {
			t.Errorf("three slugs that are taken: %v", err)
		}
	})
}

// A text that is no UUID names no tenant.
func TestIsMaster(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}})
		for one, want := range map[string]bool{uuids["master"]: true, uuids["a"]: false, uuid.NewString(): false, "": false, "master": false} {
			if got, err := tenant.IsMaster(t.Context(), db, one); err != nil || got != want {
				t.Errorf("%q: %t, %v", one, got, err)
			}
		}
	})
}
