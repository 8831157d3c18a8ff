package authsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/authsvc/external"
)

// A configuration that does not change external authentication gets the service that is already mounted.
func TestWithExternalMountsOnce(t *testing.T) {
	svc := newNode(t, unreachable{}, nil).svc
	with := func(publicURL string, plugins ...external.Plugin) any {
		t.Helper()
		described, err := svc.WithExternal(plugins, publicURL, "")
		if err != nil {
			t.Fatal(err)
		}
		return described
	}
	first := with("https://pbx.example.com")
	if with("https://pbx.example.com") != first {
		t.Error("the same configuration was mounted twice")
	}
	if with("https://other.example.com") == first {
		t.Error("another public URL has the service of the first")
	}
}
