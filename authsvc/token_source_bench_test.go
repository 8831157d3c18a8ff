package authsvc_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// BenchmarkLoad looks up tokens whose users hold 50 accesses by one policy, half of them through a group.
func BenchmarkLoad(b *testing.B) {
	for name, open := range map[string]func(testing.TB) store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			digests := manyTokens(b, db, 1000)
			s, err := authsvc.New(authsvc.Options{DB: db})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				p, err := s.Load(b.Context(), "", digests[n%len(digests)])
				if err != nil {
					b.Fatal(err)
				}
				if n := len(p.ACL.Patterns()); n != 50 {
					b.Fatalf("%d accesses", n)
				}
			}
		})
	}
}

// manyTokens creates tokens, each of another user.
func manyTokens(b *testing.B, db store.DB, n int) (digests []tokens.Digest) {
	b.Helper()
	exec := func(sql string, args ...any) {
		if _, err := db.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	tenant, policy, group := uuid.NewString(), uuid.NewString(), uuid.NewString()
	exec(`INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ($1, $1, 'bench')`, tenant)
	exec(`INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, shared, config_managed)
		VALUES ($1, $2, 'bench', 'bench', 'bench', 'bench', false, false)`, policy, tenant)
	exec(`INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed)
		VALUES ($1, $2, 'bench', 'bench', 'bench', 'bench', false)`, group, tenant)
	exec(`INSERT INTO auth_group_policy (group_uuid, policy_uuid) VALUES ($1, $2)`, group, policy)
	for i := range 50 {
		exec(`INSERT INTO auth_policy_access (policy_uuid, access) VALUES ($1, $2)`, policy, fmt.Sprintf("confd.resource%d.#.read", i))
	}
	for i := range n {
		user, d := uuid.NewString(), tokens.DigestOf(tokens.New())
		exec(`INSERT INTO auth_user (uuid, tenant_uuid, purpose, enabled, authentication_method, created_at) VALUES ($1, $2, 'user', true, 'native', now_utc())`, user, tenant)
		if i%2 == 0 {
			exec(`INSERT INTO auth_user_policy (user_uuid, policy_uuid) VALUES ($1, $2)`, user, policy)
		} else {
			exec(`INSERT INTO auth_group_user (group_uuid, user_uuid) VALUES ($1, $2)`, group, user)
		}
		exec(`INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
			VALUES ($1, $2, $3, '2026-01-01 00:00:00+00:00', '2126-01-01 00:00:00+00:00', false, '', '')`, d[:], uuid.NewString(), user)
		digests = append(digests, d)
	}
	return digests
}

// BenchmarkLoadMany looks up the tokens of BenchmarkLoad, as many at a time as share a query.
func BenchmarkLoadMany(b *testing.B) {
	for name, open := range map[string]func(testing.TB) store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			digests := manyTokens(b, db, 16*tokens.MaxBatch)
			s, err := authsvc.New(authsvc.Options{DB: db})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += tokens.MaxBatch {
				var work sync.WaitGroup
				for i := range tokens.MaxBatch {
					work.Go(func() {
						if _, err := s.LoadLater(b.Context(), "", digests[(n+i)%len(digests)]); err != nil {
							b.Error(err)
						}
					})
				}
				work.Wait()
			}
		})
	}
}
