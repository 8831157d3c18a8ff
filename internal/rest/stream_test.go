package rest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

func TestPrefersAlso(t *testing.T) {
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/users/export", Also: "text/csv; charset=utf-8",
		Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			if r.PrefersAlso() {
				return rest.Reply{Body: []byte("a,b"), Type: r.Op().Also}, nil
			}
			return rest.Reply{Body: 1}, nil
		},
	})
	for accept, want := range map[string]string{
		"text/csv": "a,b", "text/csv; charset=utf-8": "a,b", "text/*": "a,b", "text/csv, */*": "a,b", "application/json;q=0.1, text/csv;q=0.2": "a,b",
		"text/html, text/csv": "a,b", "application/json;q=0, */*": "a,b",
		"application/json": "1", "*/*": "1", "application/json, text/csv": "1", "application/json, text/csv;q=0.9": "1", "text/csv;q=0, */*": "1",
		"text/html": "", "text/csv;q=0": "", "application/json;q=0, text/csv;q=0": "",
	} {
		w := call(t, s, http.MethodGet, "/users/export", "", "Accept: "+accept)
		if want == "" {
			wantEmpty(t, w, http.StatusNotAcceptable)
		} else if w.Body.String() != want {
			t.Errorf("%s: %d %s", accept, w.Code, w.Body)
		} else if csv := w.Header().Get("Content-Type") == "text/csv; charset=utf-8"; csv != (want == "a,b") {
			t.Errorf("%s: %v", accept, w.Header())
		}
	}
}

func TestStream(t *testing.T) {
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/whole", Produces: "text/csv",
		Handle: answering(rest.Reply{Stream: func(w io.Writer) error {
			for range 3 {
				if _, err := io.WriteString(w, "row\r\n"); err != nil {
					return err
				}
			}
			return nil
		}}),
	}, rest.Operation{
		Method: http.MethodGet, Path: "/broken", Produces: "text/csv",
		Handle: answering(rest.Reply{Stream: func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("row\r\n", 10_000))
			return errors.Join(err, errors.New("the database is gone"))
		}}),
	})
	w := call(t, s, http.MethodGet, "/whole", "")
	if wantStatus(t, w, http.StatusOK); w.Body.String() != "row\r\nrow\r\nrow\r\n" || w.Header().Get("Content-Type") != "text/csv" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v %q", w.Header(), w.Body)
	}
	w = call(t, s, http.MethodHead, "/whole", "")
	if wantStatus(t, w, http.StatusOK); w.Body.Len() != 0 || w.Header().Get("Content-Type") != "text/csv" {
		t.Errorf("%v %q", w.Header(), w.Body)
	}

	// A body that ends early is no whole body for the client, in HTTP/1.1 and in HTTP/2.
	for _, h2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(s)
		server.EnableHTTP2 = h2
		server.StartTLS()
		defer server.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+prefix+"/broken", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err == nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %d bytes and no error", answer.Proto, answer.StatusCode, len(text))
		}
	}
}
