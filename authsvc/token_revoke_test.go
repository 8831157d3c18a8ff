package authsvc_test

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// victim is a user who is about to lose confd.users.read.
type victim struct{ user, policy, group, token, maker, makers string }

// revocations are the ways to lose it.
var revocations = map[string]func(s *server, admin string, v victim) resttest.Answer{
	"token deleted": func(s *server, _ string, v victim) resttest.Answer { return s.do("DELETE", "/token/"+v.token, "", "") },
	"user deleted": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/users/"+v.user, admin, "")
	},
	"user disabled": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("PUT", "/users/"+v.user, admin, `{"enabled":false}`)
	},
	"policy edited": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("PUT", "/policies/"+v.policy, admin, `{"acl":["confd.lines.read"]}`)
	},
	"access taken away": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/policies/"+v.policy+"/acl/confd.users.read", admin, "")
	},
	"denial added": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("PUT", "/policies/"+v.policy+"/acl/"+url.PathEscape("!confd.#"), admin, "")
	},
	"policy deleted": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/policies/"+v.policy, admin, "")
	},
	"policy detached": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/users/"+v.user+"/policies/"+v.policy, admin, "")
	},
	"taken out of the group": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/groups/"+v.group+"/users/"+v.user, admin, "")
	},
	"policy taken from the group": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/groups/"+v.group+"/policies/"+v.policy, admin, "")
	},
	"group deleted": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/groups/"+v.group, admin, "")
	},
	// The user's creator, who vouches for the password, no longer holds what the user holds.
	"maker's policy edited": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("PUT", "/policies/"+v.makers, admin, `{"acl":["auth.users.create"]}`)
	},
	"maker denied": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("PUT", "/policies/"+v.makers+"/acl/"+url.PathEscape("!confd.#"), admin, "")
	},
	"maker's policy deleted": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/policies/"+v.makers, admin, "")
	},
	"maker's policy detached": func(s *server, admin string, v victim) resttest.Answer {
		return s.do("DELETE", "/users/"+v.maker+"/policies/"+v.makers, admin, "")
	},
}

// newVictim creates a user who holds the access by their own policy or, if the way needs one, by a group.
func newVictim(s *server, admin, way string) victim {
	s.t.Helper()
	name := map[bool]string{true: "by group", false: "own"}[way == "taken out of the group" || way == "policy taken from the group" || way == "group deleted"]
	var v victim
	maker := admin
	if strings.HasPrefix(way, "maker") {
		v.maker, v.makers, maker = s.account(admin, "of "+way, "auth.users.create", "confd.#")
	}
	v.user = s.do("POST", "/users", maker, `{"username":"`+way+`","password":"x"}`).Want(200).Text("uuid")
	v.policy = s.do("POST", "/policies", admin, `{"name":"`+way+`","acl":["confd.users.read"]}`).Want(200).Text("uuid")
	if name == "own" {
		s.do("PUT", "/users/"+v.user+"/policies/"+v.policy, admin, "").Want(204)
	} else {
		v.group = s.do("POST", "/groups", admin, `{"name":"`+way+`"}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+v.group+"/policies/"+v.policy, admin, "").Want(204)
		s.do("PUT", "/groups/"+v.group+"/users/"+v.user, admin, "").Want(204)
	}
	v.token = s.login(way, "x")
	return v
}

// passes reports whether the gate would let the token through.
func (s *server) passes(ctx context.Context, token string) bool {
	p, err := s.cache.Principal(ctx, token)
	if err != nil && !errors.Is(err, tokens.ErrUnknown) {
		s.t.Error(err)
	}
	return err == nil && p.Allows("confd.users.read")
}

// Once a revocation has returned, no token passes, even if it was being looked up meanwhile.
func TestRevocationIsExact(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for way, revoke := range revocations {
			t.Run(way, func(t *testing.T) {
				v := newVictim(s, admin, way)
				var answered, stop atomic.Bool
				var early, late atomic.Int64
				var load sync.WaitGroup
				for range 2 {
					load.Go(func() {
						for !stop.Load() {
							after := answered.Load()
							switch passed := s.passes(t.Context(), v.token); {
							case passed && after:
								late.Add(1)
							case passed:
								early.Add(1)
							}
							runtime.Gosched() // the revocation must get a processor, even if there is only one
						}
					})
				}
				for early.Load() < 20 { // it is cached, and looked up all the time
					runtime.Gosched()
				}
				if a := revoke(s, admin, v); a.Status >= 300 {
					t.Errorf("%d: %s", a.Status, a.Body)
				}
				answered.Store(true)
				for range 100 {
					if s.passes(t.Context(), v.token) {
						late.Add(1)
					}
				}
				stop.Store(true)
				load.Wait()
				if n := late.Load(); n > 0 {
					t.Errorf("%d requests passed after the revocation was answered", n)
				}
			})
		}
	})
}

// The other nodes hear what one node revokes: the message is part of the transaction.
func TestOtherNodesHear(t *testing.T) {
	t.Parallel()
	dsn := storetest.PostgresDSN(t)
	open := func() store.DB {
		db, err := postgres.Open(t.Context(), dsn, postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	s := newServer(t, open())
	other := newNode(t, open(), nil)
	// With a clock that stands still, a cache never looks a token up again by itself.
	now := time.Now()
	cache, err := tokens.NewCache(other.svc, tokens.Options{Capacity: smallCache.Capacity, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	other.svc.UseCache(cache)
	other.cache = cache
	admin := s.admin()
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() {
		if err := tokens.Follow(ctx, other.db, authsvc.RevocationChannel, other.cache); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); following.Wait() })
	hits := func(token string) bool { // until it listens, the cache is not used
		before := other.cache.Stats().Hits
		return other.passes(t.Context(), token) && other.cache.Stats().Hits > before
	}
	for way, revoke := range revocations {
		v := newVictim(s, admin, way)
		for deadline := time.Now().Add(time.Minute); !hits(v.token); {
			if time.Now().After(deadline) {
				t.Fatal("the other node does not listen")
			}
		}
		if a := revoke(s, admin, v); a.Status >= 300 {
			t.Fatalf("%s: %d %s", way, a.Status, a.Body)
		}
		began := time.Now()
		for other.passes(t.Context(), v.token) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: the other node has not heard of it", way)
			}
		}
		t.Logf("%-28s heard after %v", way, time.Since(began))
	}
}
