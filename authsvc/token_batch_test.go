package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// lookUps is a database that counts the look-ups of tokens, and can hold them.
type lookUps struct {
	store.DB

	asked atomic.Int64
	hold  atomic.Int64 // so many look-ups are held until the gate is closed
	gate  chan struct{}
	began chan struct{} // receives one for each look-up that is held
	lost  atomic.Bool
}

func (l *lookUps) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	if !strings.Contains(sql, "WITH found AS") && !strings.Contains(sql, "t.digest, NULL AS policies") {
		return l.DB.Query(ctx, sql, args...)
	}
	l.asked.Add(1)
	if l.lost.Load() {
		return nil, store.ErrUnavailable
	}
	rows, err := l.DB.Query(ctx, sql, args...) // has read the state of now
	if l.hold.Add(-1) >= 0 {
		l.began <- struct{}{}
		<-l.gate
	}
	return rows, err
}

// eachLookUp runs a case with several users, each with a token.
func eachLookUp(t *testing.T, run func(t *testing.T, l *lookUps, s *server, admin string, sessions []session)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		l := &lookUps{DB: db, gate: make(chan struct{}), began: make(chan struct{}, 5)}
		s := newServer(t, l)
		admin := s.admin()
		var all []session
		for i := range 5 {
			name := fmt.Sprintf("user-%d", i)
			user, policy, token := s.account(admin, name, fmt.Sprintf("confd.number%d.read", i))
			all = append(all, session{user, policy, token})
		}
		run(t, l, s, admin, all)
	})
}

type session struct{ user, policy, token string }

// Many look-ups at once take few statements, and everybody gets their own rights.
func TestLookUpsShareStatements(t *testing.T) {
	eachLookUp(t, func(t *testing.T, l *lookUps, s *server, admin string, all []session) {
		more := s.do("POST", "/policies", admin, `{"name":"more","acl":["confd.more.read"]}`).Want(200).Text("uuid")
		none := s.do("POST", "/policies", admin, `{"name":"none","acl":[]}`).Want(200).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"group"}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/users/"+all[1].user, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/policies/"+more, admin, "").Want(204)
		s.do("PUT", "/users/"+all[2].user+"/policies/"+none, admin, "").Want(204)

		before := l.asked.Load()
		var work sync.WaitGroup
		begin := make(chan struct{}) // for all at once, however long it takes to make them
		const times = 40             // of each token, half of them urgent, and as many of unknown ones
		for i, one := range all {
			for n := range times {
				work.Go(func() {
					<-begin
					load := s.svc.Load
					if n%2 == 0 {
						load = s.svc.LoadLater
					}
					p, err := load(t.Context(), one.token, tokens.DigestOf(one.token))
					if err != nil {
						t.Error(err)
						return
					}
					if p.UserUUID != one.user || p.TokenID != tokens.ID(tokens.DigestOf(one.token)) {
						t.Errorf("token %d is that of %s", i, p.UserUUID)
					}
					for k := range all {
						if p.Allows(fmt.Sprintf("confd.number%d.read", k)) != (k == i) {
							t.Errorf("token %d has %v", i, p.ACL.Patterns())
						}
					}
					if p.Allows("confd.more.read") != (i == 1) {
						t.Errorf("token %d has %v", i, p.ACL.Patterns())
					}
				})
				work.Go(func() {
					<-begin
					if p, err := s.svc.LoadLater(t.Context(), "", tokens.DigestOf(tokens.New())); p != nil || !errors.Is(err, tokens.ErrUnknown) {
						t.Errorf("an unknown token: %v, %v", p, err)
					}
				})
			}
		}
		close(begin)
		work.Wait()
		// However slowly they begin, those that may wait share one: each urgent one may find none running. Package tokens counts exactly.
		if got := l.asked.Load() - before; got > int64(len(all)*times) {
			t.Errorf("%d statements for %d look-ups", got, len(all)*times*2)
		}
	})
}

// A revocation during the statement that many look-ups share, or while they wait for it, holds for each of them, and only what was
// revoked is refused.
func TestRevokedDuringASharedLookUp(t *testing.T) {
	revoke := map[string]func(s *server, admin string, one session){
		"token": func(s *server, _ string, one session) { s.do("DELETE", "/token/"+one.token, "", "").Want(200) },
		"user":  func(s *server, admin string, one session) { s.do("DELETE", "/users/"+one.user, admin, "").Want(204) },
		"policy": func(s *server, admin string, one session) {
			s.do("DELETE", "/policies/"+one.policy, admin, "").Want(204)
		},
	}
	for name, revoke := range revoke {
		t.Run(name, func(t *testing.T) {
			eachLookUp(t, func(t *testing.T, l *lookUps, s *server, admin string, all []session) {
				s.cache.ForgetAll()
				if _, err := s.cache.Principal(t.Context(), admin); err != nil {
					t.Fatal(err)
				}
				l.hold.Store(int64(len(all))) // on a busy machine the rest may come by several
				type answer struct {
					allowed bool
					err     error
				}
				ask := func(i int) <-chan answer {
					ch := make(chan answer, 1)
					go func() {
						p, err := s.cache.Principal(t.Context(), all[i].token)
						ch <- answer{err == nil && p.Allows(fmt.Sprintf("confd.number%d.read", i)), err}
					}()
					return ch
				}
				first := ask(0)
				<-l.began
				var rest []<-chan answer
				for i := range all[1:] {
					rest = append(rest, ask(i+1)) // gather behind the first, and begin when it takes too long
				}
				<-l.began
				revoke(s, admin, all[0])
				revoke(s, admin, all[1])
				close(l.gate)
				for i, ch := range append([]<-chan answer{first}, rest...) {
					a := <-ch
					if a.allowed != (i > 1) || a.err != nil && !errors.Is(a.err, tokens.ErrUnknown) {
						t.Errorf("token %d: allowed %t, %v", i, a.allowed, a.err)
					}
				}
			})
		})
	}
}

// One damaged token, or one with a right that cannot be read, fails alone; none of the others is refused, nor said to be unknown.
func TestDamagedTokenFailsAlone(t *testing.T) {
	eachLookUp(t, func(t *testing.T, l *lookUps, s *server, _ string, all []session) {
		damaged := []string{`UPDATE auth_policy_access SET access = 'confd.a*' WHERE policy_uuid = '` + all[1].policy + `'`}
		if l.Engine() == "sqlite" { // which stores anything
			damaged = append(damaged, `UPDATE auth_token SET expires_at = 'tomorrow' WHERE user_uuid = '`+all[2].user+`'`)
		}
		if _, err := l.Exec(t.Context(), `DELETE FROM auth_voucher`); err != nil { // who would be asked about the right
			t.Fatal(err)
		}
		for _, sql := range damaged {
			if _, err := l.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		var work sync.WaitGroup
		for i, one := range all {
			work.Go(func() {
				_, err := s.svc.LoadLater(t.Context(), one.token, tokens.DigestOf(one.token))
				if wrong := i > 0 && i <= len(damaged); (err != nil) != wrong || errors.Is(err, tokens.ErrUnknown) {
					t.Errorf("token %d: %v", i, err)
				}
			})
		}
		work.Wait()
	})
}

// While the database is gone, nobody is told that a token is unknown, and known tokens are used on; then all is as before.
func TestDatabaseGoneInBetween(t *testing.T) {
	eachLookUp(t, func(t *testing.T, l *lookUps, s *server, _ string, all []session) {
		lookUp := func() []error {
			errs := make([]error, len(all))
			var work sync.WaitGroup
			for i, one := range all {
				work.Go(func() { _, errs[i] = s.svc.LoadLater(t.Context(), one.token, tokens.DigestOf(one.token)) })
			}
			work.Wait()
			return errs
		}
		l.lost.Store(true)
		for _, err := range lookUp() {
			if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, tokens.ErrUnknown) {
				t.Errorf("got %v", err)
			}
		}
		l.lost.Store(false)
		for _, err := range lookUp() {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

var _ tokens.Batched = (*authsvc.Service)(nil)
