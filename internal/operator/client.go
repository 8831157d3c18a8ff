// Package operator does on a command line what operators do: it lists, shows, adds, changes and removes users, groups, policies, tenants
// and sessions, by the operations of the API, whose rules and audit are the same for everybody.
//
//	client.go  a request, and what an operator reads of a refusal
//	kind.go    what can be managed
//	manage.go  the verbs
//	socket.go  a gateway on this machine, at its admin socket
//	table.go   how it is shown
package operator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/tenant"
)

// prefix is that of the authentication service.
const prefix = "/api/auth/0.1"

// maxAnswer is the longest answer read, in bytes: how Asterisk's files would change may be long.
const maxAnswer = 256 << 20

// Client sends requests to a gateway, or to a service of this process.
type Client struct {
	// Server is https://host[:port].
	Server string
	// HTTP sends the requests. It must not follow redirects: the token would go with them.
	HTTP *http.Client
	// Token is sent with each request, unless it is empty.
	Token string
	// Tenant is the UUID of the tenant to act in, or "".
	Tenant string
}

// CheckServer refuses an address to which no token may be sent: without TLS to another machine, or with a secret in it.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return errors.New("the server must be https://host or https://host:port, without a path, a name or a password")
	}
	if u.Scheme != "https" {
		return errors.New("the server must be reached by https://, since a token is sent to it")
	}
	return nil
}

// NoRedirects makes a client return a redirect as it is.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Call sends a request to a path of the server, and reads the answer into a value unless that is nil. A body that is text is CSV; every
// other one is sent as JSON. The error is a RefusedError if the server refuses.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	return c.exchange(ctx, method, path, body, into)
}

// CallOnce is Call of a POST that the server does once, however often it is sent with the same key, for a day.
func (c *Client) CallOnce(ctx context.Context, path, key string, body, into any) error {
	return c.exchange(ctx, http.MethodPost, path, body, into, func(r *http.Request) { r.Header.Set("Idempotency-Key", key) })
}

// do sends a request to the authentication service.
func (c *Client) do(ctx context.Context, method, path string, body, into any, edits ...func(*http.Request)) error {
	return c.exchange(ctx, method, prefix+path, body, into, edits...)
}

func (c *Client) exchange(ctx context.Context, method, path string, body, into any, edits ...func(*http.Request)) error {
	csv, isCSV := body.(string)
	text := []byte(csv)
	if !isCSV && body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Server, "/")+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	if isCSV {
		r.Header.Set("Content-Type", "text/csv")
	} else if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		r.Header.Set("X-Auth-Token", c.Token)
	}
	if c.Tenant != "" {
		r.Header.Set(tenant.Header, c.Tenant)
	}
	for _, edit := range edits {
		edit(r)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusal(response, answer)
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the server does not speak this API: %w", err)
	}
	return nil
}

// unreachable returns the error of a request without an answer, with what to do.
func unreachable(err error) error {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("%w; use a name that the certificate is for, as \"ringfence certificate\" lists them on the gateway", err)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w; run \"ringfence certificate --pem > gateway.pem\" on the gateway, bring the file here, and say --cacert gateway.pem", err)
	}
	return fmt.Errorf("asking the server: %w", err)
}

// RefusedError is an answer that is an error.
type RefusedError struct {
	Status  int
	Message string
	ID      string // the authentication service's error_id; of others empty
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("refused (%d): %s", e.Status, e.Message)
	if e.Status == http.StatusUnauthorized {
		text += "; get a token with \"ringfence token add\", and give it with --token-file or RINGFENCE_TOKEN"
	}
	return text
}

// maxShown is how much is shown of a refusal that has no message, in bytes.
const maxShown = 500

// refusal reads an error of the API.
func refusal(response *http.Response, answer []byte) error {
	var said struct {
		Message string                     `json:"message"`
		Error   string                     `json:"error"` // of the admin socket
		Reason  []string                   `json:"reason"`
		Details map[string]json.RawMessage `json:"details"`
		ID      string                     `json:"error_id"`
	}
	message := http.StatusText(response.StatusCode)
	if err := json.Unmarshal(answer, &said); err == nil {
		if said.Message == "" {
			said.Message = cmp.Or(strings.Join(said.Reason, ", "), said.Error)
		}
		message = cmp.Or(said.Message, string(answer[:min(len(answer), maxShown)])) // an import says which rows
	}
	for _, field := range slices.Sorted(maps.Keys(said.Details)) {
		var wrong struct{ Message string }
		if err := json.Unmarshal(said.Details[field], &wrong); err != nil || wrong.Message == "" {
			continue
		}
		if text := field + ": " + wrong.Message; !strings.Contains(message, text) { // the message is of one field already
			message += "; " + text
		}
	}
	var list []string
	if err := json.Unmarshal(answer, &list); err == nil && len(list) > 0 {
		message = strings.Join(list, ", ")
	}
	return &RefusedError{response.StatusCode, printable(message), said.ID}
}
