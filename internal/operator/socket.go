package operator

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// A gateway serves its services to the operator of its machine at SocketPath of its admin socket, if the file that DatabaseHeader names,
// escaped as in a query, is its database. Beside the services, RecoverPath lets a user in again, and AnswerForPath all whose logins
// somebody else has set up.
const (
	SocketPath     = "/ringfence/operator"
	RecoverPath    = "/recover"
	AnswerForPath  = "/answer-for"
	DatabaseHeader = "X-Ringfence-Database"
)

// socketTimeout bounds one request.
const socketTimeout = time.Minute

// AtSocket returns a client of the gateway that listens on an admin socket, and has this file as its database.
func AtSocket(socket, database string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	transport := socketTransport{&http.Transport{DialContext: dial, DisableKeepAlives: true}, url.QueryEscape(database)}
	return &Client{
		Server: "http://localhost" + SocketPath,
		HTTP:   &http.Client{Transport: transport, CheckRedirect: NoRedirects, Timeout: socketTimeout},
	}
}

// Reach returns an error if the gateway does not answer as one should.
func (c *Client) Reach(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/tenants?limit=1", nil, &struct{}{})
}

type socketTransport struct {
	inner    http.RoundTripper
	database string
}

// RoundTrip implements http.RoundTripper.
func (t socketTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(DatabaseHeader, t.database)
	return t.inner.RoundTrip(r)
}
