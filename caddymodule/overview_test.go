package caddymodule_test

import (
	"testing"

	"github.com/ringfence/ringfence/caddymodule"
	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// The overview counts logins and denials by reason, and keeps the counts through a reload.
func TestOverviewOfTheGateway(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	const path = "/api/auth/0.1/overview"
	admin := g.Admin(t)
	_, _, nobody := g.Account(t, admin, "nobody", "confd.#")
	overview := func() resttest.Answer {
		t.Helper()
		return g.Do(t, "GET", path, admin, "").Want(200)
	}
	total := func(a resttest.Answer, path, name string) (n float64) {
		t.Helper()
		minutes := a.JSON(path).([]any)
		if len(minutes) != 60 {
			t.Fatalf("%d minutes of %s", len(minutes), path)
		}
		for _, m := range minutes {
			if object, ok := m.(map[string]any); ok {
				m = object[name]
			}
			n += m.(float64)
		}
		return n
	}
	before := overview()
	if served := certificate.Fingerprints(); len(served) != 1 || before.Text("certificate.sha256") != served[0] {
		t.Errorf("the certificate is %s, want %s", before.Text("certificate.sha256"), served)
	}
	if before.Text("version") != caddymodule.Version || before.Text("database") != "SQLite" {
		t.Errorf("the overview is %s", before.Body)
	}
	if denials := before.JSON("denials").(map[string]any); denials["allowed"] != nil || denials["public"] != nil || denials["preflight"] != nil {
		t.Errorf("what was let through is counted as denied: %v", denials)
	}
	succeeded, refused := total(before, "logins", "succeeded"), total(before, "logins", "refused")
	g.Do(t, "GET", path, "", "").Want(401)
	g.Do(t, "GET", path, "", "").Want(401)
	g.Do(t, "GET", path, nobody, "").Lacks("auth.overview.read")
	g.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("nobody", "wrong")).Want(401)
	g.Admin(t)

	check := func(when string) {
		t.Helper()
		now := overview()
		if s, r := total(now, "logins", "succeeded")-succeeded, total(now, "logins", "refused")-refused; s != 1 || r != 1 {
			t.Errorf("%s %v logins succeeded and %v were refused, want one each", when, s, r)
		}
		if missing, lacking := total(now, "denials.token_missing", ""), total(now, "denials.access_denied", ""); missing != 2 || lacking != 1 {
			t.Errorf("%s %v requests had no token and %v lacked the access, want 2 and 1: %s", when, missing, lacking, now.Body)
		}
	}
	check("at first")
	g.Routes = "respond 204"
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	check("after a reload")
}
