package authsvc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Calls each operation through the gate, with its documented access and with every other one.
func TestPasswordRoutesThroughTheGate(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		g, err := gate.New(gate.Config{Routers: gate.Services([]*rest.Service{p.svc.REST()}), Tokens: p.cache})
		if err != nil {
			t.Fatal(err)
		}
		send := func(method, path, token, body string) int {
			r := httptest.NewRequestWithContext(t.Context(), method, "/api/auth/0.1"+path, strings.NewReader(body))
			r.Header.Set("Accept", "application/json")
			if body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			if token != "" {
				r.Header.Set("X-Auth-Token", token)
			}
			w := httptest.NewRecorder()
			if admitted, ok := g.Admit(w, r); ok {
				p.svc.REST().ServeHTTP(admitted.Writer, admitted.Request)
			}
			return w.Code
		}
		admin := p.admin()
		ada := p.user("ada", "")
		_, uuids := addresses(p.do("PUT", "/users/"+ada+"/emails", admin, `{"emails":[{"address":"ada@example.com","main":true},{"address":"b@example.com"},{"address":"c@example.com"}]}`).
			Want(200))
		b, c := uuids["b@example.com"], uuids["c@example.com"]
		for name, op := range map[string]struct {
			method, path, access, body string
			status                     int
		}{
			"change": {"PUT", "/users/" + ada + "/password", "auth.users." + ada + ".password.update", change("secret of ada", "another secret of ada"), 204},
			"emails": {
				"PUT", "/users/" + ada + "/emails", "auth.users." + ada + ".emails.update",
				`{"emails":[{"address":"ada@example.com","main":true},{"address":"b@example.com"},{"address":"c@example.com"}]}`, 200,
			},
			"admin's emails": {
				"PUT", "/admin/users/" + ada + "/emails", "auth.admin.users." + ada + ".emails.update",
				`{"emails":[{"address":"ada@example.com","main":true},{"address":"b@example.com"},{"address":"c@example.com"}]}`, 200,
			},
			"set": {
				"POST", "/users/password/reset?user_uuid=" + ada, "auth.users.password.reset." + ada + ".create", `{"password":"secret of ada"}`, 204,
			},
			"ask to confirm": {"GET", "/users/" + ada + "/emails/" + b + "/confirm", "auth.users." + ada + ".emails." + b + ".confirm.read", "", 204},
			"confirm":        {"PUT", "/emails/" + c + "/confirm", "auth.emails." + c + ".confirm.update", "", 204},
		} {
			t.Run(name, func(t *testing.T) {
				account := strings.ReplaceAll(name, " ", "_")
				_, _, right := p.account(admin, account+" right", op.access)
				_, _, wrong := p.account(admin, account+" wrong", "#", "!"+op.access)
				if status := send(op.method, op.path, "", op.body); status != 401 {
					t.Errorf("without a token: %d", status)
				}
				if status := send(op.method, op.path, wrong, op.body); status != 403 {
					t.Errorf("with every other access: %d", status)
				}
				if status := send(op.method, op.path, right, op.body); status != op.status {
					t.Errorf("with the access: %d, want %d", status, op.status)
				}
				if op.method == http.MethodGet {
					p.mails.Next(t)
				}
			})
		}
		// These need no token, or accept the token of a mail.
		if status := send("GET", "/users/password/reset?login=ada", "", ""); status != 204 {
			t.Errorf("asking for a reset: %d", status)
		}
		_, token, _ := strings.Cut(p.mails.Next(t).Link(t), "&token=")
		if status := send("POST", "/users/password/reset?user_uuid="+ada, token, `{"password":"chosen"}`); status != 204 {
			t.Errorf("a reset: %d", status)
		}
		if status := send("POST", "/users/register", "", `{"username":"new","password":"x","email_address":"new@example.com"}`); status != 200 {
			t.Errorf("a registration: %d", status)
		}
		if status := send("GET", strings.TrimPrefix(p.mails.Next(t).Link(t), base+"/api/auth/0.1"), "", ""); status != 200 {
			t.Errorf("a confirmation by link: %d", status)
		}
	})
}
