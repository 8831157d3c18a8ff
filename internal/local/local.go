// Package local calls a service of this process, without a gate before it: whoever calls says as whom.
package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Caller returns a caller with accesses in the master tenant, who is no user: the operator of this machine, or this program.
func Caller(ctx context.Context, db store.DB, accesses ...string) (*principal.Principal, error) {
	master, err := tenant.Master(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("looking for the master tenant; start the gateway once before: %w", err)
	}
	may, err := acl.Compile(accesses)
	if err != nil {
		return nil, err
	}
	return &principal.Principal{UserUUID: uuid.Nil.String(), ACL: may, Affiliation: &principal.Affiliation{TenantUUID: master, Purpose: "internal"}}, nil
}

// RefusedError is an answer of a service, of status 400 or above.
type RefusedError struct {
	Method, Path string
	Status       int
	Body         []byte
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s: %d: %.500s", e.Method, e.Path, e.Status, e.Body)
}

// Call sends a request to a service, in a tenant if one is named, and reads the answer into a value unless that is nil. The error is
// store.ErrUnavailable if the database cannot be used, and a RefusedError if the service refuses.
func Call(ctx context.Context, s *rest.Service, caller *principal.Principal, tenantUUID, method, path string, body, into any) error {
	_, err := call(ctx, s, caller, tenantUUID, method, path, "", body, into)
	return err
}

// maxUpdates is how often Update begins.
const maxUpdates = 5

// Update changes an object as it is now: change gets it, and returns the body of a PUT, or nil to leave it as it is. If somebody else has
// changed it meanwhile, all begins once more.
func Update[T any](ctx context.Context, s *rest.Service, caller *principal.Principal, path string, change func(current *T) any) (err error) {
	for range maxUpdates {
		var current T
		tag, err := call(ctx, s, caller, "", http.MethodGet, path, "", nil, &current)
		if err != nil {
			return err
		}
		body := change(&current)
		if body == nil {
			return nil
		}
		_, err = call(ctx, s, caller, "", http.MethodPut, path, tag, body, nil)
		if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Status != http.StatusPreconditionFailed {
			return err
		}
	}
	return fmt.Errorf("PUT %s: somebody else changes it all the time: %w", path, store.ErrUnavailable)
}

// call is Call, for an object that is still as the tag says, unless that is "". It returns the tag of the answer.
func call(ctx context.Context, s *rest.Service, caller *principal.Principal, tenantUUID, method, path, match string, body, into any) (tag string, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return "", err
		}
	}
	r, err := http.NewRequestWithContext(principal.NewContext(ctx, caller), method, s.Prefix+path, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	if tenantUUID != "" {
		r.Header.Set(tenant.Header, tenantUUID)
	}
	w := serve(s, r)
	if w.status == http.StatusServiceUnavailable {
		return "", fmt.Errorf("%s %s: %w", method, path, store.ErrUnavailable)
	}
	if w.status >= http.StatusBadRequest {
		return "", &RefusedError{method, path, w.status, w.body.Bytes()}
	}
	tag = w.header.Get("ETag")
	if into == nil || w.body.Len() == 0 {
		return tag, nil
	}
	return tag, json.Unmarshal(w.body.Bytes(), into)
}

// Transport sends requests to a handler of this process. Their host does not matter.
type Transport struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := serve(t.Handler, r.Clone(r.Context()))
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprint(w.status, " ", http.StatusText(w.status)), Header: w.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body),
	}, nil
}

func serve(s http.Handler, r *http.Request) *answer {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	r.RequestURI = r.URL.RequestURI()
	w := &answer{header: http.Header{}}
	s.ServeHTTP(w, r)
	w.status = cmp.Or(w.status, http.StatusOK)
	return w
}

// answer keeps a service's response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(text []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.body.Write(text)
}
