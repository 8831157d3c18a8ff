package authsvc_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestTokenRecord(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, _ := s.account(admin, "client", "confd.users.read", "auth.users.me.read")
		a := s.do("POST", "/token", "", `{"expiration":3600}`, resttest.Basic("client", "secret of client"), func(r *http.Request) {
			r.Header.Set("User-Agent", "curl/8\x01 "+strings.Repeat("x", 600))
			r.RemoteAddr = "192.0.2.7:4711"
		}).Want(200)
		if a.Header.Get("Wazo-Sessions-Revoked") != "0" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", a.Header)
		}
		data := a.JSON("data").(map[string]any)
		want := []string{
			"acl", "auth_id", "expires_at", "issued_at", "metadata", "remote_addr", "session_uuid", "token", "user_agent",
			"utc_expires_at", "utc_issued_at", "xivo_user_uuid", "xivo_uuid",
		}
		if got := slices.Sorted(maps.Keys(data)); !slices.Equal(got, want) {
			t.Errorf("keys %q, want %q", got, want)
		}
		if got := slices.Sorted(maps.Keys(data["metadata"].(map[string]any))); !slices.Equal(got, []string{"auth_id", "pbx_user_uuid", "purpose", "tenant_uuid", "uuid", "xivo_uuid"}) {
			t.Errorf("metadata %q", got)
		}
		for path, want := range map[string]any{
			"data.auth_id": user, "data.xivo_user_uuid": nil, "data.remote_addr": "192.0.2.7", "data.metadata.uuid": user,
			"data.metadata.pbx_user_uuid": nil, "data.metadata.purpose": "external_api", "data.metadata.xivo_uuid": data["xivo_uuid"],
		} {
			if got := a.JSON(path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		if agent := a.Text("data.user_agent"); len(agent) != 512 || !strings.HasPrefix(agent, "curl/8 x") {
			t.Errorf("user_agent %q", agent)
		}
		acl, err := json.Marshal(data["acl"])
		if err != nil || string(acl) != `["auth.users.me.read","confd.users.read"]` {
			t.Errorf("acl %s", acl)
		}
		const layout = "2006-01-02T15:04:05.000000"
		issued, err := time.Parse(layout, a.Text("data.utc_issued_at"))
		if err != nil {
			t.Fatal(err)
		}
		expires, err := time.Parse(layout, a.Text("data.utc_expires_at"))
		if err != nil || expires.Sub(issued) != time.Hour || time.Since(issued).Abs() > time.Minute {
			t.Errorf("issued %s, expires %s, %v", issued, expires, err)
		}
		local, err := time.ParseInLocation(layout, a.Text("data.issued_at"), time.Local)
		if err != nil || !local.Equal(issued) {
			t.Errorf("issued_at %s, %v", local, err)
		}

		// The token is the secret: the record is the same when read again, and the database has no trace of the token.
		token := a.Text("data.token")
		if !tokens.WellFormed(token) {
			t.Errorf("token %q", token)
		}
		if again := s.do("GET", "/token/"+token, "", "").Want(200); again.Body != a.Body {
			t.Errorf("made %s\nread %s", a.Body, again.Body)
		}
		// A user of purpose user has its UUID where telephony clients look for it; without accesses the list is empty.
		person := s.do("POST", "/users", admin, `{"username":"person","password":"x"}`).Text("uuid")
		b := s.do("POST", "/token", "", "{}", resttest.Basic("person", "x")).Want(200)
		if b.Text("data.xivo_user_uuid") != person || b.Text("data.metadata.pbx_user_uuid") != person || len(b.JSON("data.acl").([]any)) != 0 {
			t.Errorf("a person's token: %s", b.Body)
		}
		if b.Text("data.session_uuid") == a.Text("data.session_uuid") {
			t.Error("two tokens have one session")
		}
	})
}

func TestTokenRequests(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.do("POST", "/users", s.admin(), `{"username":"Jörg","password":"pässword:x","email_address":"joerg@example.org"}`).Want(200)
		in := resttest.Basic("Jörg", "pässword:x")
		authorization := func(value string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", value) }
		}
		encode := base64.StdEncoding.EncodeToString
		for _, c := range []struct {
			name, body string
			edit       func(*http.Request)
			status     int
		}{
			{"utf-8", "{}", in, 200},
			{"latin-1", "{}", authorization("Basic " + encode([]byte("J\xf6rg:p\xe4ssword:x"))), 200},
			{"scheme in capitals", "{}", authorization("BASIC " + encode([]byte("Jörg:pässword:x"))), 200},
			{"address, other case", "{}", resttest.Basic("JOERG@example.ORG", "pässword:x"), 200},
			{"name, other case and spaces", "{}", resttest.Basic(" jÖrg ", "pässword:x"), 200},
			{"name, decomposed", "{}", resttest.Basic("Jo\u0308rg", "pässword:x"), 200},
			{"no body", "", in, 400},
			{"backend is ignored", `{"backend":"wazo_user","unknown":[1]}`, in, 200},
			{"domain without a backend for it", `{"domain_name":"example.org"}`, in, 200},

			{"wrong password", "{}", resttest.Basic("Jörg", "Pässword:x"), 401},
			{"password decomposed", "{}", resttest.Basic("Jörg", "pa\u0308ssword:x"), 401},
			{"unknown", "{}", resttest.Basic("nobody", "x"), 401},
			{"none", "{}", func(*http.Request) {}, 401},
			{"empty pair", "{}", authorization("Basic Og=="), 401},
			{"two", "{}", func(r *http.Request) {
				in(r)
				r.Header.Add("Authorization", r.Header.Get("Authorization"))
			}, 401},
			{"empty password", "{}", resttest.Basic("Jörg", ""), 401},
			{"empty name", "{}", resttest.Basic("", "x"), 401},
			{"no colon", "{}", authorization("Basic " + encode([]byte("Jörg"))), 401},
			{"bad base64", "{}", authorization("Basic !!!"), 401},
			{"unpadded", "{}", authorization("Basic Sg"), 401},
			{"bare scheme", "{}", authorization("Basic"), 401},
			{"bearer", "{}", authorization("Bearer x"), 401},
			{"NUL in the name", "{}", resttest.Basic("J\x00rg", "x"), 401},
			{"NUL in the password", "{}", resttest.Basic("Jörg", "pässword:x\x00"), 401},
			{"long password", "{}", resttest.Basic("Jörg", strings.Repeat("x", 5000)), 401},
			{"long name", "{}", resttest.Basic(strings.Repeat("x", 5000), "x"), 401},
			{"invisible name", "{}", resttest.Basic("Jörg\u200b", "pässword:x"), 401},
			{"unknown refresh token", `{"refresh_token":"junk","client_id":"x"}`, in, 401},
			{"saml session", `{"saml_session_id":"x"}`, in, 401},

			{"offline without client", `{"access_type":"offline"}`, in, 400},
			{"offline with a refresh token", `{"access_type":"offline","client_id":"x","refresh_token":"x"}`, in, 400},
			{"refresh token without client", `{"refresh_token":"x"}`, in, 400},
			{"tenant and domain", `{"tenant_id":"x","domain_name":"x"}`, in, 400},
			{"saml and refresh token", `{"saml_session_id":"x","refresh_token":"x","client_id":"x"}`, in, 400},
			{"access type", `{"access_type":"always"}`, in, 400},
			{"empty client", `{"client_id":""}`, in, 400},
			{"long client", `{"client_id":"` + strings.Repeat("x", 1025) + `"}`, in, 400},
			{"expiration 0", `{"expiration":0}`, in, 400},
			{"expiration -1", `{"expiration":-1}`, in, 400},
			{"expiration above the bound", `{"expiration":315360001}`, in, 400},
			{"expiration at the bound", `{"expiration":315360000}`, in, 200},
			{"expiration 1", `{"expiration":1}`, in, 200},
			{"expiration 1e3", `{"expiration":1e3}`, in, 400},
			{"expiration 1e99", `{"expiration":1e99}`, in, 400},
			{"expiration 1.5", `{"expiration":1.5}`, in, 400},
			{"expiration true", `{"expiration":true}`, in, 400},
			{"expiration null", `{"expiration":null}`, in, 400},
			{"expiration text", `{"expiration":"60"}`, in, 400},
			{"list", `[]`, in, 400},
			{"twice", `{"expiration":1,"expiration":2}`, in, 400},
			{"junk", `{`, in, 400},
			{"large", `{"backend":"` + strings.Repeat("x", 4<<10) + `"}`, in, 413},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				a := s.do("POST", "/token", "", c.body, c.edit)
				switch a.Want(c.status).Status {
				case 401:
					// One response, whatever was wrong.
					a.Refused(401, "unauthorized")
					if a.Text("message") != "Authentication Failed" || len(a.JSON("details").(map[string]any)) != 0 {
						t.Errorf("%s", a.Body)
					}
				case 400:
					a.Refused(400, "invalid-data")
				}
			})
		}
		s.do("POST", "/token", "", "expiration=1", in, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}).Want(415)
	})
}

func TestCheckToken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		above, other := s.tenant(admin, "above"), s.tenant(admin, "other")
		below := s.tenant(admin, "below", resttest.In(above))
		user := s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`, resttest.In(above)).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"p","acl":["confd.users.#","!confd.users.delete","auth.users.me.read"]}`, resttest.In(above)).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
		token := s.login("ann", "x")
		master := s.do("GET", "/users?username=admin", admin, "").List().Column("tenant_uuid")[0]
		for _, c := range []struct {
			query  string
			status int
		}{
			{"", 200},
			{"?scope=", 200},
			{"?scope=confd.users.read", 200},
			{"?scope=confd.users.me.read", 200},
			{"?scope=confd.users", 403},
			{"?scope=confd.users.delete", 403},
			{"?scope=confd.lines.read", 403},
			{"?scope=auth.users.me.read", 200},
			{"?scope=auth.users." + user + ".read", 200},
			{"?scope=auth.users." + above + ".read", 403},
			{"?scope=%23", 400},
			{"?scope=confd.*", 400},
			{"?scope=confd.%23", 400},
			{"?scope=!confd.users.read", 400},
			{"?scope=confd..read", 400},
			{"?scope=" + strings.Repeat("a", 300), 400},
			{"?scope=a.b&scope=confd.users.read", 400},
			{"?tenant=" + above, 200},
			{"?tenant=" + below, 200},
			{"?tenant=" + strings.ToUpper(below), 200},
			{"?tenant=" + other, 403},
			{"?tenant=" + master, 403},
			{"?tenant=00000000-0000-4000-8000-000000000000", 403},
			{"?tenant=junk", 403},
			{"?tenant=", 403},
			{"?tenant=" + below + "&scope=confd.users.read", 200},
			{"?tenant=" + below + "&scope=confd.lines.read", 403},
			{"?unknown=1", 200},
		} {
			t.Run(c.query, func(t *testing.T) {
				s := s.in(t)
				a := s.do("GET", "/token/"+token+c.query, "", "").Want(c.status)
				if strings.Contains(a.Body, token) != (c.status == 200) {
					t.Errorf("%s", a.Body)
				}
				head := s.do("HEAD", "/token/"+token+c.query, "", "")
				if want := map[bool]int{true: 204, false: c.status}[c.status == 200]; head.Status != want || head.Body != "" {
					t.Errorf("HEAD answers %d %q, want %d", head.Status, head.Body, want)
				}
			})
		}
		s.do("GET", "/token/"+token+"?scope=confd.lines.read", "", "").Lacks("confd.lines.read")
		s.do("GET", "/token/"+token+"?tenant="+other, "", "").Refused(403, "unauthorized-tenant")
		for _, unknown := range []string{tokens.New(), "junk", user, strings.Repeat("a", 128), token[:len(token)-1]} {
			s.do("GET", "/token/"+unknown, "", "").Refused(404, "unknown-token")
			s.do("GET", "/token/"+unknown+"?scope=a.b", "", "").Refused(404, "unknown-token")
			s.do("HEAD", "/token/"+unknown, "", "").Want(404)
			s.do("POST", "/token/"+unknown+"/scopes/check", "", `{"scopes":[]}`).Refused(404, "unknown-token")
		}
	})
}

func TestCheckScopes(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		_, _, token := s.account(admin, "ann", "confd.#", "!confd.users.delete")
		check := func(body string) resttest.Answer { return s.do("POST", "/token/"+token+"/scopes/check", "", body) }
		if a := check(`{"scopes":["confd.users.read","confd.users.delete","confd.users.read","auth.users.read"],"tenant_uuid":null}`).Want(200); a.Body !=
			`{"scopes":{"auth.users.read":false,"confd.users.delete":false,"confd.users.read":true}}` {
			t.Errorf("%s", a.Body)
		}
		if a := check(`{"scopes":[]}`).Want(200); a.Body != `{"scopes":{}}` {
			t.Errorf("%s", a.Body)
		}
		check(`{"scopes":["confd.x"],"tenant_uuid":"` + below + `"}`).Want(200)
		check(`{"scopes":[],"tenant_uuid":"00000000-0000-4000-8000-000000000000"}`).Refused(403, "unauthorized-tenant")
		check(`{"scopes":[],"tenant_uuid":"junk"}`).Refused(403, "unauthorized-tenant")
		for _, body := range []string{`{}`, `{"scopes":"a.b"}`, `{"scopes":null}`, `{"scopes":[1]}`, `{"scopes":["#"]}`, `{"scopes":["a.b","c.*"]}`, `{"scopes":[""]}`, `[]`, ``} {
			if a := check(body); a.Status != 400 && a.Status != 415 {
				t.Errorf("%s: %d %s", body, a.Status, a.Body)
			}
		}
	})
}

func TestRevokeToken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, _, token := s.account(admin, "ann", "confd.#")
		second := s.login("ann", "secret of ann")
		for _, gone := range []string{token, token, tokens.New(), "junk"} {
			if a := s.do("DELETE", "/token/"+gone, "", "").Want(200); a.Body != `{"data":{"message":"success"}}` {
				t.Errorf("%s", a.Body)
			}
		}
		s.do("GET", "/token/"+token, "", "").Want(404)
		s.do("GET", "/token/"+second, "", "").Want(200)
	})
}

// The database's clock decides whether a token has expired.
func TestExpiredToken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.do("POST", "/users", s.admin(), `{"username":"ann","password":"x"}`).Want(200)
		token, kept := s.login("ann", "x"), s.login("ann", "x")
		d := tokens.DigestOf(token)
		if _, err := db.Exec(t.Context(), `UPDATE auth_token SET expires_at = $2 WHERE digest = $1`, d[:], time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		s.do("GET", "/token/"+token, "", "").Refused(404, "unknown-token")
		s.do("HEAD", "/token/"+token, "", "").Want(404)
		s.do("POST", "/token/"+token+"/scopes/check", "", `{"scopes":[]}`).Want(404)

		n, err := s.svc.Sweep(t.Context())
		if err != nil || n != 1 {
			t.Fatalf("swept %d, %v", n, err)
		}
		if left, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_token`); err != nil || left != 2 {
			t.Fatalf("%d tokens are left, %v", left, err)
		}
		s.do("HEAD", "/token/"+kept, "", "").Want(204)
	})
}

func TestStatusAndBackends(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		if a := s.do("HEAD", "/status", "", "").Want(200); a.Body != "" {
			t.Errorf("body %q", a.Body)
		}
		if a := s.do("GET", "/status", "", "").Refused(405, "method-not-allowed"); a.Header.Get("Allow") != "HEAD" {
			t.Errorf("Allow: %s", a.Header.Get("Allow"))
		}
		names, _ := s.do("GET", "/backends", "", "").Want(200).JSON("data").([]any)
		if len(names) == 0 {
			t.Error("no backends")
		}
	})
}

// An unreachable database is reported neither as a wrong password nor as an unknown token.
func TestDatabaseUnreachable(t *testing.T) {
	t.Parallel()
	s := newNode(t, unreachable{}, nil)
	for _, a := range []resttest.Answer{
		s.do("HEAD", "/status", "", ""),
		s.do("POST", "/token", "", "{}", resttest.Basic("admin", "x")),
		s.do("GET", "/token/"+tokens.New(), "", ""),
		s.do("HEAD", "/token/"+tokens.New(), "", ""),
		s.do("DELETE", "/token/"+tokens.New(), "", ""),
	} {
		if a.Status != 503 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
}

// unreachable is a database that cannot be reached.
type unreachable struct{ store.DB }

func (unreachable) Ping(context.Context) error { return store.ErrUnavailable }

func (unreachable) Query(context.Context, string, ...any) (store.Rows, error) {
	return nil, store.ErrUnavailable
}

func (unreachable) Exec(context.Context, string, ...any) (int64, error) {
	return 0, store.ErrUnavailable
}

func (unreachable) InTx(context.Context, func(context.Context, store.Conn) error) error {
	return store.ErrUnavailable
}

func (unreachable) InReadTx(context.Context, func(context.Context, store.Conn) error) error {
	return store.ErrUnavailable
}
