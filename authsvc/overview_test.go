package authsvc_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// sum adds up the counts of the last hour: a test may run over the end of a minute.
func sum(t *testing.T, minutes any, name string) (n int) {
	t.Helper()
	list, _ := minutes.([]any)
	if len(list) != 60 {
		t.Fatalf("%d minutes, want 60: %v", len(list), minutes)
	}
	for _, m := range list {
		if object, ok := m.(map[string]any); ok {
			m = object[name]
		}
		n += int(m.(float64))
	}
	return n
}

func TestOverview(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		s.do("GET", "/overview", admin, "").Want(503)
		started := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
		node := authsvc.Node{Version: "9.9", StartedAt: started}
		s.svc.UseNode(func() authsvc.Node { return node })

		first := s.do("GET", "/overview", admin, "").Want(200)
		if first.JSON("certificate") != nil || first.Text("version") != "9.9" || first.Text("started_at") != "2026-11-22T15:00:00Z" ||
			first.Text("database") != map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[db.Engine()] || first.JSON("sessions") != 1.0 {
			t.Errorf("the overview is %s", first.Body)
		}
		if len(first.JSON("denials").(map[string]any)) != 0 {
			t.Errorf("denials before any: %s", first.Body)
		}
		succeeded, refused := sum(t, first.JSON("logins"), "succeeded"), sum(t, first.JSON("logins"), "refused")

		_, _, token := s.account(admin, "client", "auth.overview.read") // logs in once
		s.do("POST", "/token", "", "{}", resttest.Basic("client", "wrong")).Want(401)
		s.do("POST", "/token", "", "{}").Want(401)
		s.do("POST", "/token", "", `{"expiration":-1}`, resttest.Basic("client", "secret of client")).Want(400) // no login at all
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() { s.svc.Denied("no_token") })
			asking.Go(func() { s.svc.Denied("acl") })
		}
		asking.Wait()
		node.Certificate = &authsvc.Certificate{Names: []string{"localhost"}, NotAfter: started, SHA256: "AA:BB"}

		now := s.do("GET", "/overview", token, "").Want(200)
		if got := sum(t, now.JSON("logins"), "succeeded") - succeeded; got != 1 {
			t.Errorf("%d logins succeeded, want 1", got)
		}
		if got := sum(t, now.JSON("logins"), "refused") - refused; got != 2 {
			t.Errorf("%d logins were refused, want 2", got)
		}
		for _, reason := range []string{"no_token", "acl"} {
			if got := sum(t, now.JSON("denials."+reason), ""); got != 50 {
				t.Errorf("%d denials because of %s, want 50", got, reason)
			}
		}
		if now.JSON("sessions") != 2.0 || now.Text("certificate.sha256") != "AA:BB" || now.Text("certificate.not_after") != "2026-11-22T15:00:00Z" {
			t.Errorf("the overview is %s", now.Body)
		}
		minutes := now.JSON("logins").([]any)
		var before time.Time
		for _, m := range minutes {
			at, err := time.Parse(time.RFC3339, m.(map[string]any)["at"].(string))
			if err != nil || (!before.IsZero() && at.Sub(before) != time.Minute) || at.Second() != 0 {
				t.Fatalf("%v after %v: %v", m, before, err)
			}
			before = at
		}
		if late := time.Since(before); late < 0 || late > 2*time.Minute {
			t.Errorf("the last minute is %v", before)
		}
	})
}

// The overview is of the whole installation: another tenant's users do not see it, whatever they hold.
func TestOverviewIsForTheMasterTenant(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		s.svc.UseNode(func() authsvc.Node { return authsvc.Node{} })
		tenant := s.do("POST", "/tenants", admin, `{"name":"Acme"}`).Want(200).Text("uuid")
		in := resttest.In(tenant)
		user := s.do("POST", "/users", admin, `{"username":"theirs","password":"secret of theirs"}`, in).Want(200).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"theirs","acl":["auth.overview.read"]}`, in).Want(200).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "", in).Want(204)
		s.do("GET", "/overview", s.login("theirs", "secret of theirs"), "").Refused(403, "unauthorized-tenant")
	})
}

// Minutes that are over an hour old are forgotten, also where a slot is used again, and a clock may go back.
func TestMinutesForget(t *testing.T) {
	t.Parallel()
	m, start := authsvc.NewMinutes(), time.Date(2026, 11, 22, 15, 30, 59, 0, time.UTC)
	count := func(at time.Time) (n int) {
		for _, c := range m.Last(at) {
			n += c
		}
		return n
	}
	m.Add(start)
	m.Add(start)
	m.Add(start.Add(time.Second))
	if l := m.Last(start.Add(time.Second)); l[58] != 2 || l[59] != 1 {
		t.Errorf("counted %v", l)
	}
	for after, want := range map[time.Duration]int{59 * time.Minute: 3, 59*time.Minute + time.Second: 1, 60 * time.Minute: 1, 61 * time.Minute: 0, 48 * time.Hour: 0, -time.Hour: 0} {
		if got := count(start.Add(after)); got != want {
			t.Errorf("%v later %d are left, want %d", after, got, want)
		}
	}
	m.Add(start.Add(time.Hour)) // in the first slot
	if l := m.Last(start.Add(time.Hour)); l[58] != 0 && l[59] != 1 || count(start.Add(time.Hour)) != 2 {
		t.Errorf("a slot that is used again: %v", l)
	}
	m.Add(time.Unix(-1e9, 0))
	if got := count(time.Unix(-1e9, 0)); got != 1 {
		t.Errorf("before 1970 %d are counted", got)
	}
}
