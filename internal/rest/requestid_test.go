package rest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

// Where no gate is in front, a request and its response have one ID too: the client's, if it is fit for a log.
func TestRequestIDWithoutAGate(t *testing.T) {
	t.Parallel()
	var inner string
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/users", Access: "confd.users.read", ID: "list_users", Success: http.StatusOK,
		Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			inner = r.HTTP.Header.Get("X-Request-Id")
			return rest.Reply{Body: map[string]any{}}, nil
		},
	})
	for name, headers := range map[string][]string{
		"fit": {"X-Request-Id: a-1"}, "none": nil, "empty": {"X-Request-Id: "}, "two": {"X-Request-Id: a", "X-Request-Id: b"},
		"not fit": {"X-Request-Id: a\tb"}, "long": {"X-Request-Id: " + strings.Repeat("a", 65)},
	} {
		a := call(t, s, "GET", "/users", "", headers...)
		id := a.Header()["X-Request-Id"]
		if len(id) != 1 || id[0] != inner || (name == "fit") != (id[0] == "a-1") || (name != "fit") != (len(id[0]) == 36) {
			t.Errorf("%s: %d, the response has %q, the request %q", name, a.Code, id, inner)
		}
	}
	for _, path := range []string{"/nowhere", "/a//b"} { // a refusal too
		if id := call(t, s, "GET", path, "").Header().Get("X-Request-Id"); len(id) != 36 {
			t.Errorf("%s: %q", path, id)
		}
	}
}
