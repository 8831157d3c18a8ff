package resttest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
)

// Client sends requests to a service and reads the responses. It is safe for concurrent use.
type Client struct {
	T testing.TB
	// Base is what every path begins with: "/api/confd/1.1", or "https://127.0.0.1:9497/api/confd/1.1".
	Base string
	// Principal is the caller, for a service without a gate.
	Principal *principal.Principal
	// Edits change every request, before those of the request itself.
	Edits []Edit
	// Check, if set, is given each whole answer, and fails the test if it may not be.
	Check func(r *http.Request, answer *Answer)

	send func(r *http.Request) (*http.Response, error)
	// service, if it is known, declares what the answers may be, in its definition.
	service    *rest.Service
	definition func() (*declaration, error)
}

// Edit changes a request before it is sent.
type Edit = func(r *http.Request)

// To returns a client of a handler in this process. If the handler is a service, every answer must be one that the service's definition
// declares; a benchmark does not look, since it would measure that too.
func To(tb testing.TB, handler http.Handler, base string, p *principal.Principal) *Client {
	tb.Helper()
	c := &Client{T: tb, Base: base, Principal: p, send: func(r *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, received(r))
		return recorder.Result(), nil
	}}
	if service, ok := handler.(*rest.Service); ok {
		if _, measured := tb.(*testing.B); !measured {
			c.service, c.definition = service, definitionOf(service)
		}
	}
	return c
}

// received turns a client's request into the request that a server gets.
func received(r *http.Request) *http.Request {
	r.RequestURI = r.URL.RequestURI()
	if r.Host == "" {
		r.Host = "example.com"
	}
	if r.RemoteAddr == "" {
		r.RemoteAddr = "192.0.2.1:1234"
	}
	return r
}

// At returns a client of a server elsewhere, which client can reach, and whose certificate it trusts.
func At(tb testing.TB, client *http.Client, base string) *Client {
	tb.Helper()
	return &Client{T: tb, Base: base, send: client.Do}
}

// With returns the same client with further edits of every request.
func (c *Client) With(edits ...Edit) *Client {
	other := *c
	other.Edits = append(append([]Edit{}, c.Edits...), edits...)
	return &other
}

// Header adds a header; an empty value removes it.
func Header(name, value string) Edit {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Add(name, value)
	}
}

// Query sets the query to one parameter.
func Query(name, value string) Edit {
	return func(r *http.Request) { r.URL.RawQuery = url.Values{name: {value}}.Encode() }
}

// Basic adds HTTP Basic credentials.
func Basic(user, password string) Edit {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

// In makes a request act in a tenant.
func In(tenant string) Edit {
	return func(r *http.Request) { r.Header.Set("Wazo-Tenant", tenant) }
}

// IfMatch makes a change depend on the version with this tag.
func IfMatch(tag string) Edit {
	return func(r *http.Request) { r.Header.Set("If-Match", tag) }
}

// Try sends a request. A path that is a whole URL is used as it is. A body that is a string is sent as it is, an empty one not at
// all, and anything else as JSON. The error is that of a request that could not be sent, or got no whole response.
func (c *Client) Try(ctx context.Context, method, path string, body any, edits ...Edit) (Answer, error) {
	text, ok := body.(string)
	if !ok && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return Answer{}, err
		}
		text = string(encoded)
	}
	target := path
	if strings.HasPrefix(path, "/") {
		target = c.Base + path
	}
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(text))
	if err != nil {
		return Answer{}, err
	}
	r.Header.Set("Accept", "application/json")
	if text != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range append(append([]Edit{}, c.Edits...), edits...) {
		edit(r)
	}
	if c.Principal != nil {
		r = r.WithContext(principal.NewContext(r.Context(), c.Principal))
	}
	response, err := c.send(r)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	answer := Answer{c.T, method + " " + path, response.StatusCode, response.Header, string(read)}
	if c.service != nil && err == nil {
		c.conform(r, &answer)
	}
	if c.Check != nil && err == nil {
		c.Check(r, &answer)
	}
	return answer, err
}

// Do is Try for requests that must get a response. A goroutine of a test's own may call it only of a service in this process, which
// always answers.
func (c *Client) Do(method, path string, body any, edits ...Edit) Answer {
	c.T.Helper()
	a, err := c.Try(c.T.Context(), method, path, body, edits...)
	if err != nil {
		c.T.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Get reads a path.
func (c *Client) Get(path string, edits ...Edit) Answer {
	c.T.Helper()
	return c.Do(http.MethodGet, path, nil, edits...)
}

// Create creates an object and returns it. Some services return 200, others 201.
func (c *Client) Create(path string, body any, edits ...Edit) Object {
	c.T.Helper()
	a := c.Do(http.MethodPost, path, body, edits...)
	if a.Status != http.StatusOK && a.Status != http.StatusCreated {
		c.T.Fatalf("POST %s: status %d: %s", path, a.Status, a.Body)
	}
	return a.Object()
}
