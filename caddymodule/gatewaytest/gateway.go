package gatewaytest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/internal/porttest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// Gateway is a gateway to talk to, wherever it runs. It is safe for concurrent use.
type Gateway struct {
	// URL is the address of the gateway's HTTPS site, Helpers that of its plain port; neither ends in a slash.
	URL, Helpers string
	transport    *http.Transport
	client       *resttest.Client
	undeclared   bool
}

// New returns the gateway on two ports of this machine. It does not verify the certificate: other tests do that.
func New(tb testing.TB, httpsPort, helpersPort string) *Gateway {
	tb.Helper()
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
	}
	tb.Cleanup(transport.CloseIdleConnections)
	g := &Gateway{URL: "https://127.0.0.1:" + httpsPort, Helpers: "http://127.0.0.1:" + helpersPort, transport: transport}
	g.client = resttest.At(tb, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}, g.URL)
	g.client.Check = func(r *http.Request, answer *resttest.Answer) {
		if !g.undeclared {
			g.conform(tb, r, answer)
		}
	}
	return g
}

// Undeclared lets the gateway answer what the definitions do not declare, for a reason: another service answers in the place of one of ours.
// Otherwise every response to an operation of the services fails the test if the definition does not declare it.
func (g *Gateway) Undeclared(tb testing.TB, why string) {
	tb.Helper()
	tb.Log("not held to the definitions: " + why)
	g.undeclared = true
}

// helpersPrefix is where the helper endpoints are behind the gate. On the plain port they are at the root.
const helpersPrefix = "/api/sysconfd"

// definitions are those of the services, by the prefix of their paths, made as a gateway makes them, once they are needed. To ask the gateway would be
// traffic that the tests of logs and metrics do not expect.
var definitions = map[string]func() (resttest.Definitions, error){
	"/api/auth/0.1/":  defined(func(s commands.Services) []byte { return s.Auth.REST().Definition() }),
	"/api/confd/1.1/": defined(func(s commands.Services) []byte { return s.Confd.Definition() }),
	helpersPrefix + "/": sync.OnceValues(func() (resttest.Definitions, error) {
		text, err := os.ReadFile(filepath.Join(Repository(), "helpers", "testdata", "openapi.json"))
		if err != nil {
			return nil, err
		}
		return resttest.ReadDefinitions(string(text))
	}),
}

// defined returns a function that reads the definition of a service.
func defined(of func(s commands.Services) []byte) func() (resttest.Definitions, error) {
	return sync.OnceValues(func() (resttest.Definitions, error) {
		services, err := commands.NewServices(store.NewLate())
		if err != nil {
			return nil, err
		}
		defer services.Auth.Close()
		return resttest.ReadDefinitions(string(of(services)))
	})
}

// conform fails the test if the definition of the service that has a request's path does not declare the response.
func (g *Gateway) conform(tb testing.TB, r *http.Request, answer *resttest.Answer) {
	tb.Helper()
	path := r.URL.EscapedPath()
	switch at := r.URL.Scheme + "://" + r.URL.Host; at {
	case g.URL:
	case g.Helpers:
		if r.Host != r.URL.Host { // a site of Caddy's
			return
		}
		path = helpersPrefix + path
	default: // elsewhere
		return
	}
	for prefix, read := range definitions {
		if !strings.HasPrefix(path, prefix) {
			continue
		}
		declared, err := read()
		if err != nil {
			tb.Errorf("reading the definition of %s: %v", prefix, err)
			return
		}
		declared.Conform(tb, path, r, answer)
	}
}

// CloseIdleConnections closes the connections that are open and not in use.
func (g *Gateway) CloseIdleConnections() { g.transport.CloseIdleConnections() }

// FreePort returns a TCP port that nobody listens on, and that no other caller gets while the test runs.
func FreePort(tb testing.TB) string {
	tb.Helper()
	port, release, err := porttest.Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return strconv.Itoa(port)
}

// Try sends a request. A path that is a whole URL is used as it is. A body is JSON; an empty token is not sent.
func (g *Gateway) Try(ctx context.Context, method, path, token, body string, edits ...resttest.Edit) (resttest.Answer, error) {
	if token != "" {
		edits = append([]resttest.Edit{resttest.Header("X-Auth-Token", token)}, edits...)
	}
	return g.client.Try(ctx, method, path, body, edits...)
}

// Do is Try for requests that must get a response.
func (g *Gateway) Do(tb testing.TB, method, path, token, body string, edits ...resttest.Edit) resttest.Answer {
	tb.Helper()
	a, err := g.Try(tb.Context(), method, path, token, body, edits...)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	return a.For(tb)
}

// Login returns a new token of a user.
func (g *Gateway) Login(tb testing.TB, user, password string) string {
	tb.Helper()
	return g.Do(tb, http.MethodPost, "/api/auth/0.1/token", "", "{}", resttest.Basic(user, password)).
		Want(http.StatusOK).Text("data.token")
}

// Account creates a user with a policy of these accesses, both with this name, and returns their UUIDs and a token.
func (g *Gateway) Account(tb testing.TB, admin, name string, accesses ...string) (user, policy, token string) {
	tb.Helper()
	list, err := json.Marshal(accesses)
	if err != nil {
		tb.Fatal(err)
	}
	user = g.Do(tb, "POST", "/api/auth/0.1/users", admin,
		fmt.Sprintf(`{"username": %q, "password": "secret of %s", "purpose": "external_api"}`, name, name)).Want(200).Text("uuid")
	policy = g.Do(tb, "POST", "/api/auth/0.1/policies", admin, fmt.Sprintf(`{"name": %q, "acl": %s}`, name, list)).Want(200).Text("uuid")
	g.Do(tb, "PUT", "/api/auth/0.1/users/"+user+"/policies/"+policy, admin, "").Want(204)
	return user, policy, g.Login(tb, name, "secret of "+name)
}

var formToken = regexp.MustCompile(`<input type="hidden" name="token" value="([^"]+)">`)

// Connect makes a person agree, in a browser, on the page to which an authorization_url leads. It returns the external service's
// address, and the cookies that the browser has when it comes back.
func (g *Gateway) Connect(tb testing.TB, authorizationURL string) (service string, cookies func(*http.Request)) {
	tb.Helper()
	at, err := url.Parse(authorizationURL)
	if err != nil {
		tb.Fatal(err)
	}
	asked := g.Do(tb, "GET", at.RequestURI(), "", "").Want(http.StatusOK)
	token := formToken.FindStringSubmatch(asked.Body)
	if token == nil {
		tb.Fatalf("no form in %s", asked.Body)
	}
	agreed := g.Do(tb, "POST", at.RequestURI(), "", url.Values{"token": {token[1]}}.Encode(), keep(asked), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}).Want(http.StatusSeeOther)
	return agreed.Header.Get("Location"), keep(agreed)
}

// keep adds the cookies that the response sets.
func keep(a resttest.Answer) resttest.Edit {
	return func(r *http.Request) {
		for _, c := range (&http.Response{Header: a.Header}).Cookies() {
			r.AddCookie(c)
		}
	}
}

// Eventually retries until try succeeds, and fails the test if that takes longer than patience.
func Eventually(tb testing.TB, patience time.Duration, try func() error) {
	tb.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-late.C:
			tb.Fatalf("not within %s: %v", patience, err)
		}
	}
}

// Status returns a function for [Eventually] that tries for a status.
func (g *Gateway) Status(ctx context.Context, method, path, token string, want int) func() error {
	return func() error {
		a, err := g.Try(ctx, method, path, token, "")
		if err == nil && a.Status != want {
			err = fmt.Errorf("%s %s is answered with %d: %.200s", method, path, a.Status, a.Body)
		}
		return err
	}
}
