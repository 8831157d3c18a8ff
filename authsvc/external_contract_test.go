package authsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Clients' policies depend on these accesses.
func TestAccessesOfExternalAuthentication(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	want := map[string]string{
		"GET /users/{user_uuid}/external":                  "auth.users.{user_uuid}.external.read",
		"GET /external/{auth_type}/users":                  "auth.{auth_type}.external.users.read",
		"GET /external/{auth_type}/config":                 "auth.{auth_type}.external.config.read",
		"POST /external/{auth_type}/config":                "auth.{auth_type}.external.config.create",
		"PUT /external/{auth_type}/config":                 "auth.{auth_type}.external.config.update",
		"DELETE /external/{auth_type}/config":              "auth.{auth_type}.external.config.delete",
		"GET /external/{auth_type}/authorize":              "",
		"GET /external/{auth_type}/connect":                "",
		"POST /external/{auth_type}/connect":               "",
		"GET /users/{user_uuid}/external/mobile/sender_id": "auth.users.{user_uuid}.external.mobile.sender_id.read",
		"PUT /users/{user_uuid}/external/mobile":           "auth.users.{user_uuid}.external.mobile.update",
	}
	for _, authType := range []string{"google", "mobile", "oauth2"} {
		for method, action := range map[string]string{"POST": "create", "GET": "read", "DELETE": "delete"} {
			want[method+" /users/{user_uuid}/external/"+authType] = "auth.users.{user_uuid}.external." + authType + "." + action
		}
	}
	got := map[string]string{}
	svc := g.node.svc.REST()
	for i := range svc.Operations {
		op := &svc.Operations[i]
		if strings.Contains(op.Path, "external") {
			got[op.Method+" "+op.Path] = svc.RequiredAccess(op)
		}
	}
	for name, access := range want {
		if a, ok := got[name]; !ok || a != access {
			t.Errorf("%s needs %q, want %q", name, a, access)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
}

// A plugin with a name and a POST, which registers a closure for the callback.
func TestAClosureTakesTheMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		type call struct {
			extra   []any
			message external.Message
		}
		calls := make(chan call, 1)
		state := strings.Repeat("s", 30)
		plugin := badge{create: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
			back, err := l.Host.BuildOAuth2RedirectURL("badge")
			if err != nil {
				return nil, err
			}
			return map[string]string{"authorization_url": back + "?state=" + state}, l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state,
				func(ctx context.Context, extra []any, message external.Message) error {
					calls <- call{extra, message}
					return l.Save(ctx, map[string]string{"badge": message["number"]})
				}, "first", 2, func() {})
		}}
		n, other := g.newNode(plugin), g.newNode(plugin)
		begun := n.do("POST", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(201)
		ours := publicURL + "/api/auth/0.1/external/badge/connect?state=" + state
		if begun.Body != `{"authorization_url":"`+ours+`"}` {
			t.Errorf("POST answered %s", begun.Body)
		}
		back, err := url.Parse(redirectURL("badge") + "?number=4711&state=" + state)
		if err != nil {
			t.Fatal(err)
		}
		if to := g.connect(other, ours); to != redirectURL("badge")+"?state="+state {
			t.Errorf("the page leads to %s", to)
		}
		// The closure belongs to the first node; the other does not use the state up.
		if a := g.visit(other, back).Want(400); !strings.Contains(a.Body, "another node") {
			t.Errorf("on the other node: %s", a.Body)
		}
		g.visit(n, back).Want(200)
		got := <-calls
		if len(got.extra) != 3 || got.extra[0] != "first" || got.extra[1] != 2 || got.message["number"] != "4711" || got.message["state"] != state {
			t.Errorf("the callback was given %v", got)
		}
		g.visit(n, back).Want(400)
		if a := other.do("GET", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(200); a.Body != `{"badge":"4711"}` {
			t.Errorf("GET answered %s", a.Body)
		}
		list := other.do("GET", "/users/"+g.user+"/external", g.admin, "").Want(200)
		if list.Body != `{"items":[{"type":"badge","data":{},"enabled":true,"plugin_info":{}}],"total":1,"filtered":1}` {
			t.Errorf("the list: %s", list.Body)
		}
		if a := n.do("PUT", "/users/"+g.user+"/external/badge", g.admin, "{}"); a.Status != 405 {
			t.Errorf("PUT of a plugin without: %d", a.Status)
		}
		n.do("DELETE", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(204)
	})
}

// badgeBegun is the reply of a plugin that sends users to a service with a state.
func badgeBegun(state string) map[string]string {
	return map[string]string{"authorization_url": "https://badges.example.com/?state=" + state}
}

func TestAClosureIsNotCalledOnTheRequestsGoroutine(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	state := strings.Repeat("s", 30)
	called, left := make(chan struct{}), make(chan struct{})
	finished := make(chan error, 1)
	n := g.newNode(badge{create: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
		return badgeBegun(state), l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state,
			func(ctx context.Context, _ []any, _ external.Message) error {
				close(called)
				<-left // the user has closed the window by now
				err := l.Save(ctx, "done")
				finished <- err
				return err
			})
	}})
	g.connect(n, n.do("POST", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(201).Text("authorization_url"))
	back, err := url.Parse(redirectURL("badge") + "?state=" + state)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	g.visit(n, back, func(r *http.Request) { *r = *r.WithContext(ctx) })
	close(left)
	if err := <-finished; err != nil {
		t.Error(err)
	}
	n.do("GET", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(200)
}

func TestWhatACallbackAnswers(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	var result func() error
	state := strings.Repeat("s", 30)
	n := g.newNode(badge{create: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
		return badgeBegun(state), l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state,
			func(context.Context, []any, external.Message) error { return result() })
	}})
	back, err := url.Parse(redirectURL("badge") + "?state=" + state)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		result func() error
		status int
		says   string
	}{
		{"a refusal", func() error { return external.Refuse(400, errors.New("hidden"), "Not <you>") }, 400, "Not &lt;you&gt;"},
		{"a fault", func() error { return errors.New("hidden") }, 500, "Internal"},
		{"a service that is away", func() error { return external.Refuse(503, errors.New("hidden"), "It is away") }, 503, "It is away"},
		{"a panic", func() error { panic("hidden") }, 500, "Internal"},
		{"a link that is there", func() error { return external.ErrLinked }, 400, "already been set"},
	} {
		g.connect(n, n.do("POST", "/users/"+g.user+"/external/badge", g.admin, "{}").Want(201).Text("authorization_url"))
		result = c.result
		a := g.visit(n, back)
		if a.Status != c.status || !strings.Contains(a.Body, c.says) || strings.Contains(a.Body, "hidden") || strings.Contains(a.Body, "<you>") {
			t.Errorf("%s: %d %s", c.name, a.Status, a.Body)
		}
	}
	n.do("GET", "/status", "", "", func(r *http.Request) { r.Method = http.MethodHead }).Want(200)
}

func TestWhatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		nothing := func(context.Context, []any, external.Message) error { return nil }
		state := strings.Repeat("s", 43)
		register := func(authType, user, state string, callback external.Callback, extra ...any) error {
			return g.node.svc.External().RegisterOAuth2Callback(t.Context(), authType, user, state, callback, extra...)
		}
		for name, err := range map[string]error{
			"a short state":                     register("google", g.user, "short", nothing),
			"a long state":                      register("google", g.user, strings.Repeat("s", 513), nothing),
			"no callback, and none in the type": register("mobile", g.user, state, nil),
			"no callback, and no such type":     register("nothing", g.user, state, nil),
			"arguments that are no JSON":        register("google", g.user, state, nil, func() {}),
			"a user who is not":                 register("google", "00000000-0000-4000-8000-000000000000", state, nothing),
		} {
			if err == nil {
				t.Errorf("%s was registered", name)
			}
		}
		if err := register("google", g.user, state, nothing); err != nil {
			t.Fatal(err)
		}
		if err := register("google", g.user, state, nothing); err == nil {
			t.Error("a state was registered twice")
		}
		// Only the latest ten are kept.
		for range 12 {
			g.begin(g.node, g.user)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external_pending`); err != nil || n != 10 {
			t.Errorf("%d states are kept, %v", n, err)
		}
		if got, err := g.node.svc.External().BuildOAuth2RedirectURL("google"); err != nil || got != redirectURL("google") {
			t.Errorf("the redirect URL: %s, %v", got, err)
		}
		if got, err := g.node.svc.External().BuildOAuth2RedirectURL("../x"); err == nil {
			t.Errorf("a redirect URL for no type: %s", got)
		}
	})
}

func TestDeletingForgetsWhatWasBegun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		back := g.consent(g.begin(g.node, g.user))
		g.node.do("DELETE", "/users/"+g.user+"/external/google", g.admin, "").Want(404)
		g.visit(g.node, back).Want(400)

		back = g.consent(g.begin(g.node, g.user))
		g.node.do("PUT", "/users/"+g.user, g.admin, `{"username":"someone","enabled":false}`).Want(200)
		g.visit(g.node, back).Want(400)
		g.credentials(g.node, g.user).Want(404)
		if len(g.oauth.Requests("authorization_code")) != 0 {
			t.Error("a code was exchanged")
		}
	})
}

func TestTheAuditOfALink(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.link(g.user)
		g.node.do("DELETE", "/users/"+g.user+"/external/google", g.admin, "").Want(204)
		var list struct {
			Items []struct {
				Action string
				Actor  *string `json:"actor_uuid"`
			}
		}
		a := g.node.do("GET", "/audit?resource=users/external&object="+g.user+"/google", g.admin, "").Want(200)
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, item := range list.Items {
			actions = append(actions, item.Action)
			if (item.Actor == nil) != (item.Action == "authorize_external") {
				t.Errorf("%s was done by %v", item.Action, item.Actor)
			}
		}
		if want := []string{"create_external_google", "authorize_external", "delete_external_google"}; !slices.Equal(actions, want) {
			t.Errorf("the audit has %v, want %v", actions, want)
		}
	})
}

// A reload with other plugins: requests that began with the old configuration end with it, on the same data.
func TestOtherPluginsWithoutANewService(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	back := g.consent(g.begin(g.node, g.user))
	described, err := g.node.svc.WithExternal(g.plugins[2:], "https://other.example.com/", "")
	if err != nil {
		t.Fatal(err)
	}
	before := len(g.node.svc.REST().Operations)
	if now := len(described.Operations); now >= before {
		t.Errorf("%d operations with one plugin, %d with three", now, before)
	}
	g.node.do("POST", "/users/"+g.user+"/external/mobile", g.admin, `{"token":"t"}`).Want(201)
	caller, err := g.node.cache.Principal(t.Context(), g.admin)
	if err != nil {
		t.Fatal(err)
	}
	reloaded := resttest.To(t, described, "/api/auth/0.1", caller).Do
	reloaded("GET", "/users/"+g.user+"/external/mobile", nil).Want(404)
	reloaded("GET", strings.TrimPrefix(back.RequestURI(), "/api/auth/0.1"), nil, g.browser.cookies(back)).Want(200)
	reloaded("GET", "/users/"+g.user+"/external/google", nil).Want(200)
	begun := reloaded("POST", "/users/"+g.user+"/external/google", "{}").Want(201)
	const other = "https://other.example.com/api/auth/0.1/external/google/"
	ours := begun.Text("authorization_url")
	if !strings.HasPrefix(ours, other+"connect?") {
		t.Errorf("the new public URL is not in %s", begun.Body)
	}
	if to := g.connect(g.node, strings.Replace(ours, "https://other.example.com", publicURL, 1)); !strings.Contains(to, url.QueryEscape(other+"authorize")) {
		t.Errorf("the new public URL is not in %s", to)
	}
	if _, err := g.node.svc.WithExternal(append(g.plugins, g.plugins[0]), publicURL, ""); err == nil {
		t.Error("one type was taken twice")
	}
	if _, err := g.node.svc.WithExternal([]external.Plugin{badType{}}, publicURL, ""); err == nil {
		t.Error("a type of two words was taken")
	}
}

type badType struct{}

func (badType) Type() string { return "two.words" }

// returning is a badge that takes messages on any node.
type returning struct {
	badge
	authorized func(ctx context.Context, l *external.Link) error
}

func (r returning) Authorized(ctx context.Context, l *external.Link, _ []json.RawMessage, _ external.Message) error {
	return r.authorized(ctx, l)
}

// A callback that stores with another context than its own cannot restore a link that was removed meanwhile: a closure stores nothing, and
// an Authorizer, whose link knows its state, is refused once that is gone.
func TestACallbackThatStoresWithAnotherContext(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		path, state := "/users/"+g.user+"/external/badge", strings.Repeat("s", 30)
		back, err := url.Parse(redirectURL("badge") + "?state=" + state)
		if err != nil {
			t.Fatal(err)
		}
		n, another := g.node, false
		removes := false
		save := func(ctx context.Context, l *external.Link) error {
			if removes {
				n.do("DELETE", path, g.admin, "")
			}
			if another {
				ctx = context.WithoutCancel(t.Context())
			}
			return l.Save(ctx, "done")
		}
		closure := badge{create: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
			return badgeBegun(state), l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state,
				func(ctx context.Context, _ []any, _ external.Message) error { return save(ctx, l) })
		}}
		authorizer := returning{authorized: save, badge: badge{create: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
			return badgeBegun(state), l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state, nil)
		}}}
		for _, test := range []struct {
			plugin           external.Plugin
			another, removes bool
			status           int
		}{
			{closure, false, false, 200},
			{closure, false, true, 400},
			{closure, true, false, 500},
			{closure, true, true, 500},
			{authorizer, false, false, 200},
			{authorizer, false, true, 400},
			{authorizer, true, false, 200},
			{authorizer, true, true, 400},
		} {
			n, another, removes = g.newNode(test.plugin), test.another, test.removes
			g.connect(n, n.do("POST", path, g.admin, "{}").Want(201).Text("authorization_url"))
			if a := g.visit(n, back); a.Status != test.status {
				t.Errorf("%T, another context %t, removed meanwhile %t: %d %s", test.plugin, another, removes, a.Status, a.Body)
			}
			n.do("GET", path, g.admin, "").Want(map[bool]int{true: 200, false: 404}[test.status == 200])
			if test.status == 200 {
				n.do("DELETE", path, g.admin, "").Want(204)
			} else if _, err := db.Exec(t.Context(), `DELETE FROM auth_external_pending`); err != nil {
				t.Fatal(err)
			}
		}
	})
}
