package authsvc_test

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/external/google"
	mobileauth "github.com/ringfence/ringfence/authsvc/external/mobile"
	"github.com/ringfence/ringfence/authsvc/external/oauth2"
	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

const publicURL = "https://pbx.example.com:8443"

// redirectURL returns the URL to which a type's users are sent back.
func redirectURL(authType string) string {
	return publicURL + "/api/auth/0.1/external/" + authType + "/authorize"
}

// gateways are nodes on one database with one key, and an external OAuth 2.0 server.
type gateways struct {
	t       *testing.T
	db      store.DB
	keyFile string
	oauth   *oauth2test.Server
	plugins []external.Plugin

	browser browser

	node  *server // the first node
	admin string  // the administrator's token
	user  string  // the UUID of a user without any permission
}

// newGateways starts the first node with google (with the addresses of the test server), oauth2 and mobile, configured for the
// master tenant.
func newGateways(t *testing.T, db store.DB, o oauth2test.Options) *gateways {
	t.Helper()
	o.RedirectURL = redirectURL("google")
	g := &gateways{t: t, db: db, keyFile: filepath.Join(t.TempDir(), "sealing.key"), oauth: oauth2test.New(t, o), browser: newBrowser(t)}
	googles, err := google.New(google.Config{AuthURL: g.oauth.AuthURL, TokenURL: g.oauth.TokenURL})
	if err != nil {
		t.Fatal(err)
	}
	g.plugins = []external.Plugin{mobileauth.Plugin{}, genericPlugin(t, g.oauth), googles}
	g.node = g.newNode(g.plugins...)
	g.admin = g.node.login("admin", adminPassword)
	g.node.do("POST", "/external/google/config", g.admin, clientConfig).Want(201)
	g.user = g.newUser(g.node, g.admin, "someone")
	return g
}

const clientConfig = `{"client_id":"` + oauth2test.ClientID + `","client_secret":"` + oauth2test.ClientSecret + `"}`

// newNode starts a node, or restarts one.
func (g *gateways) newNode(plugins ...external.Plugin) *server {
	g.t.Helper()
	box := sealed.New(sealed.Options{File: g.keyFile})
	if err := box.Prepare(g.t.Context(), g.db); err != nil {
		g.t.Fatal(err)
	}
	return g.start(authsvc.Options{DB: g.db, Settings: cheapest, Sealer: box, External: plugins, PublicURL: publicURL})
}

func (g *gateways) start(o authsvc.Options) *server {
	g.t.Helper()
	svc, err := authsvc.New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	cache, err := tokens.NewCache(svc, smallCache)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(cache.Close)
	svc.UseCache(cache)
	if _, err := svc.Bootstrap(g.t.Context(), authsvc.Admin{
		Username: "admin", Password: adminPassword, File: filepath.Join(g.t.TempDir(), "admin-credentials"),
	}); err != nil {
		g.t.Fatal(err)
	}
	return &server{t: g.t, svc: svc, cache: cache, client: clientOf(g.t, svc)}
}

func (g *gateways) newUser(n *server, token, name string, edit ...func(*http.Request)) string {
	g.t.Helper()
	return n.do("POST", "/users", token, `{"username":"`+name+`","password":"secret of `+name+`"}`, edit...).Want(200).Text("uuid")
}

// begin POSTs on a node and returns the authorization URL.
func (g *gateways) begin(n *server, user string) string {
	g.t.Helper()
	return n.do("POST", "/users/"+user+"/external/google", g.admin, "{}").Want(201).Text("authorization_url")
}

// connect agrees on our page, in the person's browser, and returns the external service's address.
func (g *gateways) connect(n *server, authorizationURL string) string {
	g.t.Helper()
	u, err := url.Parse(authorizationURL)
	if err != nil || !strings.HasPrefix(authorizationURL, publicURL+"/api/auth/0.1/external/") {
		g.t.Fatalf("%s is no page of ours, %v", authorizationURL, err)
	}
	asked := g.visit(n, u).Want(200)
	next := g.send(n, u, "token="+url.QueryEscape(formToken(g.t, asked.Body))).Want(303)
	return next.Header.Get("Location")
}

var tokenField = regexp.MustCompile(`<input type="hidden" name="token" value="([^"]+)">`)

// formToken returns the token of the form of our page.
func formToken(t *testing.T, page string) string {
	t.Helper()
	found := tokenField.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no form in %s", page)
	}
	return html.UnescapeString(found[1])
}

// send submits a form to a page of ours, as the browser does.
func (g *gateways) send(n *server, to *url.URL, form string) resttest.Answer {
	g.t.Helper()
	return g.browser.open(n, "POST", to, form)
}

// visit opens the URL on a node, as the browser does: without a token, with the browser's cookies.
func (g *gateways) visit(n *server, to *url.URL, edit ...func(*http.Request)) resttest.Answer {
	g.t.Helper()
	return g.browser.open(n, "GET", to, "", edit...)
}

// browser is a person's browser: it keeps cookies.
type browser struct{ jar http.CookieJar }

func newBrowser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{jar}
}

func (b browser) open(n *server, method string, to *url.URL, form string, edit ...func(*http.Request)) resttest.Answer {
	n.t.Helper()
	a := n.do(method, strings.TrimPrefix(to.RequestURI(), "/api/auth/0.1"), "", form, append([]func(*http.Request){func(r *http.Request) {
		r.Header.Set("Accept", "text/html")
		if form != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}, b.cookies(to)}, edit...)...)
	b.jar.SetCookies(to, (&http.Response{Header: a.Header}).Cookies())
	return a
}

// cookies adds the browser's cookies for the address.
func (b browser) cookies(to *url.URL) func(*http.Request) {
	return func(r *http.Request) {
		for _, c := range b.jar.Cookies(to) {
			r.AddCookie(c)
		}
	}
}

// consent agrees on our page and on the external service's, and returns the URL to which the browser is sent.
func (g *gateways) consent(authorizationURL string) *url.URL {
	g.t.Helper()
	back := g.oauth.Browse(g.t.Context(), g.connect(g.node, authorizationURL))
	if base, _, _ := strings.Cut(back.String(), "?"); base != redirectURL("google") {
		g.t.Fatalf("the browser is sent to %s", base)
	}
	return back
}

// link links a user from end to end.
func (g *gateways) link(user string) {
	g.t.Helper()
	g.visit(g.node, g.consent(g.begin(g.node, user))).Want(200)
}

// credentials GETs a user's credentials.
func (g *gateways) credentials(n *server, user string) resttest.Answer {
	g.t.Helper()
	return n.do("GET", "/users/"+user+"/external/google", g.admin, "")
}

// rawRows returns all the bytes that a table stores sealed.
func rawRows(t *testing.T, db store.DB, table string) string {
	t.Helper()
	rows, err := store.Select[[]byte](t.Context(), db, "SELECT sealed FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, r := range rows {
		all.Write(r)
	}
	return all.String()
}

// expireCredentials makes the user's access token expire a second ago, in the database.
func expireCredentials(t *testing.T, g *gateways) {
	t.Helper()
	box := sealed.New(sealed.Options{File: g.keyFile})
	if err := box.Prepare(t.Context(), g.db); err != nil {
		t.Fatal(err)
	}
	row := []byte("auth_external." + g.user + ".google")
	blob, err := store.Get[[]byte](t.Context(), g.db, `SELECT sealed FROM auth_external WHERE user_uuid = $1`, g.user)
	if err != nil {
		t.Fatal(err)
	}
	text, err := box.Open(blob, row)
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	stored["token_expiration"] = time.Now().Unix() - 1
	if text, err = json.Marshal(stored); err != nil {
		t.Fatal(err)
	}
	if blob, err = box.Seal(text, row); err != nil {
		t.Fatal(err)
	}
	if _, err := g.db.Exec(t.Context(), `UPDATE auth_external SET sealed = $1 WHERE user_uuid = $2`, blob, g.user); err != nil {
		t.Fatal(err)
	}
}

// badge is a minimal plugin, with options.
type badge struct {
	create func(ctx context.Context, l *external.Link, body json.RawMessage) (any, error)
}

func (badge) Type() string { return "badge" }

func (b badge) Create(ctx context.Context, l *external.Link, body json.RawMessage) (any, error) {
	return b.create(ctx, l, body)
}

func genericPlugin(t *testing.T, s *oauth2test.Server) external.Plugin {
	t.Helper()
	p, err := oauth2.NewGeneric(oauth2.Config{AuthURL: s.AuthURL, TokenURL: s.TokenURL, Scopes: []string{"read"}, BasicAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
