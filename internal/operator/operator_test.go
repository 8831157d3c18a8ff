package operator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/operator"
)

const id = "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"

// gateway answers each request by the first word of its path, and remembers them all.
type gateway struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // "PUT /users/8a9f... {...}"
	headers  []http.Header
}

func newGateway(t *testing.T, answer http.HandlerFunc) (*gateway, *operator.Client) {
	t.Helper()
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.mu.Lock()
		g.requests = append(g.requests, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/auth/0.1")+" "+string(body)))
		g.headers = append(g.headers, r.Header)
		g.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(g.Close)
	return g, &operator.Client{Server: g.URL, Token: "secret", HTTP: &http.Client{CheckRedirect: operator.NoRedirects}}
}

func say(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func items(list ...map[string]any) map[string]any { return map[string]any{"items": list} }

// A list has all pages, and without a tenant those of all tenants.
func TestListReadsAllPages(t *testing.T) {
	const all = 2001
	for tenant, recurse := range map[string]string{"": "true", id: ""} {
		_, c := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			limit, _ := strconv.Atoi(query.Get("limit"))
			offset, _ := strconv.Atoi(query.Get("offset"))
			if query.Get("recurse") != recurse || r.Header.Get("Wazo-Tenant") != tenant || query.Get("search") != "a&b" {
				t.Errorf("query %v, tenant %q", query, r.Header.Get("Wazo-Tenant"))
			}
			page := []map[string]any{}
			for i := offset; i < min(offset+limit, all); i++ {
				page = append(page, map[string]any{"username": fmt.Sprint("u", i)})
			}
			say(w, items(page...))
		})
		c.Tenant = tenant
		users, err := c.List(t.Context(), operator.Find("user"), "a&b")
		if err != nil || len(users) != all || users[all-1]["username"] != fmt.Sprint("u", all-1) {
			t.Errorf("%d users, %v", len(users), err)
		}
	}
}

// A name that means nothing, or several objects, changes nothing; a UUID needs no search.
func TestFind(t *testing.T) {
	g, c := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("username") {
		case "one":
			say(w, items(map[string]any{"uuid": id}))
		case "two":
			say(w, items(map[string]any{"uuid": "first", "tenant_uuid": "here"}, map[string]any{"uuid": "second", "tenant_uuid": "there"}))
		default:
			if r.Method == http.MethodGet {
				say(w, items())
			}
		}
	})
	for name, want := range map[string]string{
		"one": "", id: "", strings.ToUpper(id): "",
		"two":            `several are called "two": use a UUID, or --tenant: [first in tenant here second in tenant there]`,
		"none":           `there is no user "none"`,
		"urn:uuid:" + id: `there is no user`,
		"\x1b[31mred":    `there is no user`,
	} {
		g.requests = nil
		removed, err := c.Remove(t.Context(), operator.Find("user"), name)
		deleted := slices.Contains(g.requests, "DELETE /users/"+id)
		if want == "" && (err != nil || removed != id || !deleted) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || deleted) {
			t.Errorf("%q: %q, %v, %q", name, removed, err, g.requests)
		}
		if err != nil && strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("the error moves the terminal's cursor: %q", err)
		}
	}
	if _, err := c.Remove(t.Context(), operator.Find("token"), "olga"); err == nil || !strings.Contains(err.Error(), "is not the UUID of a token") {
		t.Errorf("a session by a name: %v", err)
	}
}

// The API answers the same whether there was a session or not. The command says which, and ends it in any case; to a caller who may not see
// the list, it says what the API says.
func TestRemoveSession(t *testing.T) {
	for list, want := range map[string]string{
		`{"items":[{"uuid":"` + id + `"}]}`: "", `{"items":[]}`: "there is no session " + id, "403": "", "503": "refused (503)",
	} {
		g, c := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
			switch status, err := strconv.Atoi(list); {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case err == nil:
				w.WriteHeader(status)
			default:
				_, _ = io.WriteString(w, list)
			}
		})
		_, err := c.Remove(t.Context(), operator.Find("token"), id)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: it says %v", list, err)
		}
		if deleted := slices.Contains(g.requests, "DELETE /sessions/"+id); deleted != (list != "503") {
			t.Errorf("%s: requests %q", list, g.requests)
		}
	}
}

// What is to be attached is found before anything is made.
func TestAddNothingByHalf(t *testing.T) {
	g, c := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			say(w, map[string]any{"uuid": id})
		case r.URL.Query().Get("name") == "readers":
			say(w, items(map[string]any{"uuid": "the-policy"}))
		case r.URL.Query().Get("name") == "operators":
			say(w, items(map[string]any{"uuid": "the-group"}))
		case r.Method == http.MethodGet:
			say(w, items())
		}
	})
	user := operator.Find("user")
	attach := func(policies ...string) operator.Changes {
		return operator.Changes{Attach: map[string][]string{"policy": policies, "group": {"operators"}}}
	}
	if _, err := c.Add(t.Context(), user, []string{"username=olga"}, "", attach("readers", "nothing")); err == nil || slices.ContainsFunc(g.requests, func(r string) bool { return !strings.HasPrefix(r, "GET ") }) {
		t.Errorf("with a policy that does not exist: %v, %q", err, g.requests)
	}
	g.requests = nil
	if _, err := c.Add(t.Context(), user, []string{"username=olga", "enabled=false", "email_address="}, "hush", attach("readers")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`POST /users {"email_address":null,"enabled":false,"password":"hush","username":"olga"}`,
		"PUT /users/" + id + "/policies/the-policy", "PUT /groups/the-group/users/" + id,
	} {
		if !slices.Contains(g.requests, want) {
			t.Errorf("no %s among %q", want, g.requests)
		}
	}
}

// A change sends what is changed, and nothing else: the service keeps the rest.
func TestSetKeepsTheRest(t *testing.T) {
	g, c := newGateway(t, func(w http.ResponseWriter, _ *http.Request) { say(w, map[string]any{"uuid": id, "name": "Acme"}) })
	tenant := operator.Find("tenant")
	if _, err := c.Set(t.Context(), tenant, id, []string{"phone=2", "domain_names=b", "domain_names=c"}, operator.Changes{}); err != nil {
		t.Fatal(err)
	}
	if want := "PUT /tenants/" + id + ` {"domain_names":["b","c"],"phone":"2"}`; !slices.Equal(g.requests, []string{want}) {
		t.Errorf("%q", g.requests)
	}
	g.requests = nil
	for _, given := range [][]string{{}, {"address=x"}, {"slug=x"}, {"password=x"}, {"phone"}, {"phone=1", "phone=2"}} {
		if _, err := c.Set(t.Context(), tenant, id, given, operator.Changes{}); err == nil || strings.Contains(err.Error(), "password=x") || len(g.requests) > 0 {
			t.Errorf("%q: %v, %q", given, err, g.requests)
		}
	}
}

// An operator reads what the service says, in each of its forms, and nothing that moves the cursor.
func TestRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"No such user","details":{"username":{"message":"too long"},"other":1}}`: "refused (400): No such user; username: too long",
		`{"message":"name: too long","details":{"name":{"message":"too long"}}}`:             "refused (400): name: too long",
		`{"reason":["one","two"]}`: "refused (400): one, two",
		`["Input Error - name"]`:   "refused (400): Input Error - name",
		`{"error":"not here"}`:     "refused (400): not here",
		`{"failed":[{"row":1}]}`:   `refused (400): {"failed":[{"row":1}]}`,
		`{"message":"\u001b[2J"}`:  "refused (400): �[2J",
		`<html>`:                   "refused (400): Bad Request",
		``:                         "refused (400): Bad Request",
	} {
		_, c := newGateway(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		})
		if _, err := c.List(t.Context(), operator.Find("user"), ""); err == nil || err.Error() != want {
			t.Errorf("%s\nsays  %v\nwant  %s", body, err, want)
		}
	}
	for status, want := range map[int]string{401: "ringfence token add", 302: "Found"} {
		_, c := newGateway(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/")
			w.WriteHeader(status)
		})
		if _, err := c.List(t.Context(), operator.Find("user"), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
	_, c := newGateway(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	if _, err := c.List(t.Context(), operator.Find("user"), ""); err == nil || !strings.Contains(err.Error(), "does not speak this API") {
		t.Errorf("a page: %v", err)
	}
}

// The token goes to the gateway that was named, and not where it redirects; a login sends none.
func TestTokenStaysWithTheServer(t *testing.T) {
	other, _ := newGateway(t, func(http.ResponseWriter, *http.Request) {})
	g, c := newGateway(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	if _, err := c.List(t.Context(), operator.Find("user"), ""); err == nil || len(other.requests) > 0 {
		t.Errorf("%v; the other server got %q", err, other.requests)
	}
	if _, err := c.Login(t.Context(), "olga", "hush", "", 60); err == nil || len(other.requests) > 0 {
		t.Errorf("%v; the other server got %q", err, other.requests)
	}
	if g.headers[0].Get("X-Auth-Token") != "secret" || g.headers[1].Get("X-Auth-Token") != "" || g.requests[1] != `POST /token {"expiration":60}` {
		t.Errorf("%v\n%q", g.headers, g.requests)
	}
}

// A body that is text is CSV, any other one JSON, and one that is missing has no type.
func TestCall(t *testing.T) {
	g, c := newGateway(t, func(w http.ResponseWriter, _ *http.Request) { say(w, map[string]any{"made": 2}) })
	c.Tenant = "there"
	for body, want := range map[any][2]string{
		"a,b\n":  {"text/csv", "POST /api/confd/1.1/things a,b"},
		7:        {"application/json", "POST /api/confd/1.1/things 7"},
		any(nil): {"", "POST /api/confd/1.1/things"},
	} {
		g.requests, g.headers = nil, nil
		var answer struct{ Made int }
		err := c.Call(t.Context(), http.MethodPost, "/api/confd/1.1/things", body, &answer)
		if err != nil || answer.Made != 2 || g.headers[0].Get("Content-Type") != want[0] || g.requests[0] != want[1] || g.headers[0].Get("Wazo-Tenant") != "there" {
			t.Errorf("%v: %v, %q, %v", body, err, g.requests, g.headers)
		}
	}
}

func TestCheckServer(t *testing.T) {
	for server, good := range map[string]bool{
		"https://pbx.example.com": true, "https://pbx.example.com:8443/": true, "https://[::1]:8443": true, "HTTPS://pbx.example.com": true,
		"http://pbx.example.com": false, "http://localhost:8443": false, "pbx.example.com": false, "pbx.example.com:8443": false, "https://": false, "": false,
		"https://olga:hush@pbx.example.com": false, "https://pbx.example.com/api": false, "https://pbx.example.com?a=b": false, "https://pbx.example.com#a": false,
		"ftp://pbx.example.com": false, "//pbx.example.com": false,
	} {
		err := operator.CheckServer(server)
		if (err == nil) != good || err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", server, err)
		}
	}
}

// An error of TLS says what to do about it.
func TestUntrustedServer(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = nil
	port := s.Listener.Addr().(*net.TCPAddr).Port
	trusting := s.Client()
	for want, c := range map[string]*operator.Client{
		"--cacert gateway.pem":                   {Server: s.URL, HTTP: &http.Client{Transport: &http.Transport{}}},
		"use a name that the certificate is for": {Server: fmt.Sprintf("https://localhost:%d", port), HTTP: trusting},
	} {
		if _, err := c.List(t.Context(), operator.Find("user"), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// At the socket of a gateway, each request names the database.
func TestAtSocket(t *testing.T) {
	folder := t.TempDir()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	const database = "/srv/a folder/ä\n%41.db"
	s := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if named, err := url.QueryUnescape(r.Header.Get(operator.DatabaseHeader)); err != nil || named != database || r.URL.Path != operator.SocketPath+"/api/auth/0.1/tenants" {
			t.Errorf("%q, %v, %s", named, err, r.URL.Path)
		}
		say(w, items())
	})}}
	s.Start()
	defer s.Close()
	if err := operator.AtSocket(filepath.Join(folder, "s"), database).Reach(t.Context()); err != nil {
		t.Error(err)
	}
	if err := operator.AtSocket(filepath.Join(folder, "none"), database).Reach(t.Context()); err == nil {
		t.Error("nobody listens there")
	}
}

func TestTable(t *testing.T) {
	o := operator.Object{
		"uuid": id, "name": "a\x1b]0;b\a\u202e", "acl": []any{"a.#", "b"}, "shared": false, "slug": nil, "links": map[string]any{"z": 1.0, "a": []any{nil}},
	}
	var table, one bytes.Buffer
	if err := operator.WriteTable(&table, operator.Find("policy"), []operator.Object{o}); err != nil {
		t.Fatal(err)
	}
	if err := operator.WriteObject(&one, o); err != nil {
		t.Fatal(err)
	}
	wantTable := "UUID NAME SLUG ACL SHARED TENANT_UUID\n" + id + " a�]0;b�� - a.#, b false -\n"
	wantOne := "acl a.#, b\nlinks a: -; z: 1\nname a�]0;b��\nshared false\nslug -\nuuid " + id + "\n"
	for got, want := range map[string]string{table.String(): wantTable, one.String(): wantOne} {
		for strings.Contains(got, "  ") {
			got = strings.ReplaceAll(got, "  ", " ")
		}
		if got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// A policy with many accesses does not make each line of the list as wide; its own page has them all.
func TestTableShortensLists(t *testing.T) {
	policy := operator.Object{"name": "many", "acl": []any{"a.read", "b.read", "c.read", "d.read", "e.read"}}
	var table, whole bytes.Buffer
	if err := operator.WriteTable(&table, operator.Find("policy"), []operator.Object{policy}); err != nil {
		t.Fatal(err)
	}
	if text := table.String(); !strings.Contains(text, "a.read, b.read, c.read and 2 more") || strings.Contains(text, "d.read") {
		t.Errorf("the table is\n%s", text)
	}
	if err := operator.WriteObject(&whole, policy); err != nil || !strings.Contains(whole.String(), "d.read, e.read") {
		t.Errorf("the object is\n%s%v", whole.String(), err)
	}
}
