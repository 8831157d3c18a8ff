package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// heard is what a service saw of a request.
type heard struct {
	User, Tenant, Type, Body string
}

func service(t *testing.T, fault *error) *rest.Service {
	t.Helper()
	answer := func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		if *fault != nil {
			return rest.Reply{}, *fault
		}
		body, err := io.ReadAll(r.HTTP.Body)
		return rest.Reply{Body: heard{principal.FromContext(ctx).UserUUID, r.HTTP.Header.Get("Wazo-Tenant"), r.HTTP.Header.Get("Content-Type"), string(body)}}, err
	}
	s := &rest.Service{Name: "things", Version: "1.0", Prefix: "/api/things/1.0", Title: "Things", Errors: rest.MessageList, Operations: []rest.Operation{
		{Method: "GET", Path: "/things", Access: "things.read", ID: "list_things", Summary: "List", Success: http.StatusOK, Handle: answer},
		{Method: "PUT", Path: "/things", Access: "things.update", ID: "update_things", Summary: "Update", Success: http.StatusOK, Body: rest.SchemaOf[map[string]int](), Handle: answer},
		{Method: "DELETE", Path: "/things", Access: "things.delete", ID: "delete_things", Summary: "Delete", Success: http.StatusNoContent, Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
			return rest.Reply{}, *fault
		}},
	}}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A service sees the caller, the tenant and the body; its refusals are errors.
func TestCall(t *testing.T) {
	var fault error
	s := service(t, &fault)
	caller := &principal.Principal{UserUUID: "u"}
	for _, tt := range []struct {
		method string
		body   any
		want   heard
	}{
		{"GET", nil, heard{"u", "t", "application/json", ""}},
		{"PUT", map[string]int{"a": 1}, heard{"u", "t", "application/json", `{"a":1}`}},
	} {
		var got heard
		if err := local.Call(t.Context(), s, caller, "t", tt.method, "/things", tt.body, &got); err != nil || got != tt.want {
			t.Errorf("%v: %+v, %v", tt.body, got, err)
		}
	}
	if err := local.Call(t.Context(), s, caller, "", "DELETE", "/things", nil, &heard{}); err != nil {
		t.Errorf("an answer without a body: %v", err)
	}
	fault = apierr.InvalidField("name", "length", "Too long")
	err := local.Call(t.Context(), s, caller, "", "DELETE", "/things", nil, nil)
	if refused, ok := errors.AsType[*local.RefusedError](err); !ok || refused.Status != 400 || !strings.Contains(err.Error(), "DELETE /things: 400: ") || !strings.Contains(err.Error(), "Too long") {
		t.Errorf("refused: %v", err)
	}
	fault = store.ErrUnavailable
	if err := local.Call(t.Context(), s, caller, "", "DELETE", "/things", nil, nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without a database: %v", err)
	}
	fault = nil
	if err := local.Call(t.Context(), s, caller, "", "GET", "/nothing", nil, nil); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an operation that does not exist: %v", err)
	}
	if err := local.Call(t.Context(), s, caller, "", "GET", "/things", func() {}, nil); err == nil {
		t.Error("a function was sent")
	}
}

type thing struct{ A, B int }

// An object is changed as it is when it is changed, also if somebody else changes it meanwhile.
func TestUpdate(t *testing.T) {
	stored, busy := thing{A: 1}, 2
	s := &rest.Service{Name: "things", Version: "1.0", Prefix: "/api/things/1.0", Title: "Things", Errors: rest.MessageList, Operations: []rest.Operation{
		{Method: "GET", Path: "/thing", Access: "things.thing.read", ID: "get_thing", Summary: "Get", Success: http.StatusOK, Conditional: true, Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
			read := stored
			if busy != 0 {
				stored.B++ // by somebody else, before this one can
				busy--
			}
			return rest.Reply{Body: read}, nil
		}},
		{Method: "PUT", Path: "/thing", Access: "things.thing.update", ID: "update_thing", Summary: "Update", Success: http.StatusNoContent, Statuses: []int{http.StatusPreconditionFailed}, Body: rest.SchemaOf[map[string]int](), Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			if err := rest.CheckIfMatch(r.HTTP.Header, stored); err != nil {
				return rest.Reply{}, err
			}
			return rest.Reply{}, json.NewDecoder(r.HTTP.Body).Decode(&stored)
		}},
	}}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	update := func(change func(*thing) any) error {
		return local.Update(t.Context(), s, &principal.Principal{}, "/thing", change)
	}
	double := func(now *thing) any { return thing{2 * now.A, 10 * now.B} }
	if err := update(double); err != nil || (stored != thing{2, 20}) {
		t.Errorf("%+v, %v", stored, err)
	}
	if err := update(func(*thing) any { return nil }); err != nil || (stored != thing{2, 20}) {
		t.Errorf("nothing is to change: %+v, %v", stored, err)
	}
	busy = -1 // always
	if err := update(double); !errors.Is(err, store.ErrUnavailable) || stored.A != 2 {
		t.Errorf("it changes all the time: %+v, %v", stored, err)
	}
	if err := local.Update(t.Context(), s, &principal.Principal{}, "/nothing", double); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("no such object: %v", err)
	}
}

// An HTTP client speaks to a handler of this process.
func TestTransport(t *testing.T) {
	var fault error
	c := &http.Client{Transport: local.Transport{Handler: service(t, &fault)}}
	ctx := principal.NewContext(t.Context(), &principal.Principal{UserUUID: "u"})
	for method, want := range map[string]int{"GET": 200, "DELETE": 204} {
		r, err := http.NewRequestWithContext(ctx, method, "http://anywhere/api/things/1.0/things?a=b", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != want || method == "GET" && !strings.Contains(string(body), `"u"`) {
			t.Errorf("%s: %d, %v, %s", method, answer.StatusCode, err, body)
		}
	}
}

// The caller of a program is in the master tenant, which a gateway's first start makes.
func TestCaller(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		if _, err := local.Caller(t.Context(), db, "#"); err == nil || !strings.Contains(err.Error(), "start the gateway once before") {
			t.Errorf("in an empty database: %v", err)
		}
		const master = "1b9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ($1, $1, 'master')`, master); err != nil {
			t.Fatal(err)
		}
		who, err := local.Caller(t.Context(), db, "confd.users.#")
		if err != nil || who.TenantUUID != master || !who.Holds("confd.users.read") || who.Holds("confd.lines.read") {
			t.Errorf("%+v, %v", who, err)
		}
		if _, err := local.Caller(t.Context(), db, "a..b"); err == nil {
			t.Error("an access that is none")
		}
	})
}
