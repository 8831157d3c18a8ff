package confdsvc_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func keyed(key string) resttest.Edit { return resttest.Header("Idempotency-Key", key) }

func TestIdempotencyKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		body := object{"firstname": "Al", "password": "secret-word"}
		first := c.Do(http.MethodPost, "/users", body, keyed(`"k1"`)).Want(http.StatusCreated)
		again := func(c *resttest.Client, body any, key string) answer {
			return c.Do(http.MethodPost, "/users", body, keyed(key))
		}
		for _, sent := range []any{body, `{ "password":"secret-word" , "firstname" : "Al"}`} {
			for _, key := range []string{`"k1"`, "k1", " k1 "} {
				got := again(c, sent, key).Want(http.StatusCreated)
				if got.Body != first.Body || got.Header.Get("Location") != first.Header.Get("Location") || got.Header.Get("ETag") != first.Header.Get("ETag") {
					t.Errorf("%s: %s, want %s", key, got.Body, first.Body)
				}
			}
		}
		again(c, object{"firstname": "Al"}, "k1").Want(http.StatusUnprocessableEntity).Says("another request")
		c.Do(http.MethodPost, "/users?x=1", body, keyed("k1")).Want(http.StatusUnprocessableEntity)
		if n := c.Get("/users").List().Total; n != 1 {
			t.Errorf("%d users", n)
		}
		// The same key of another caller, tenant or operation is another.
		for _, other := range []*resttest.Client{w.as(t, "a"), w.as(t, "b"), c.With(resttest.In(w.tenants["a1"]))} {
			if got := again(other, body, "k1").Want(http.StatusCreated); got.Object().Text("uuid") == first.Object().Text("uuid") {
				t.Errorf("%s", got.Body)
			}
		}
		c.Do(http.MethodPost, "/lines", object{"context": "default"}, keyed("k1")).Want(http.StatusCreated)
		// It is the response of then, whatever became of the object.
		c.Do(http.MethodDelete, "/users/"+first.Object().Text("id"), nil).Want(http.StatusNoContent)
		if got := again(c, body, "k1").Want(http.StatusCreated); got.Body != first.Body {
			t.Errorf("%s", got.Body)
		}
		// A refused request leaves nothing.
		taken := object{"firstname": "Bo", "email": "bo@example.org"}
		o := c.Create("/users", taken)
		again(c, taken, "k2").Want(http.StatusBadRequest)
		c.Do(http.MethodDelete, "/users/"+o.Text("id"), nil).Want(http.StatusNoContent)
		again(c, taken, "k2").Want(http.StatusCreated)
		// The database does not have the response in plain text.
		rows, err := store.Select[string](t.Context(), db, `SELECT digest || request FROM confd_idempotency`)
		if err != nil || len(rows) == 0 {
			t.Fatal(rows, err)
		}
		sealed, err := store.Select[[]byte](t.Context(), db, `SELECT sealed FROM confd_idempotency`)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range rows {
			for _, secret := range []string{"secret-word", "firstname"} {
				if strings.Contains(text, secret) || strings.Contains(string(sealed[i]), secret) {
					t.Errorf("%q is stored: %s %q", secret, text, sealed[i])
				}
			}
		}
		// After a day it is forgotten.
		if _, err := db.Exec(t.Context(), `UPDATE confd_idempotency SET expires_at = 1`); err != nil {
			t.Fatal(err)
		}
		if got := again(c, object{"firstname": "Cy"}, "k1").Want(http.StatusCreated); got.Body == first.Body {
			t.Error("an expired response")
		}
		for _, key := range []string{"", `""`, `"`, "a b", "a,b", `a"b`, `a\b`, `"a";x=1`, "é", strings.Repeat("x", 256)} {
			again(c, body, key+" ").Want(http.StatusBadRequest).Says("Idempotency-Key")
		}
		c.Do(http.MethodPost, "/users", body, keyed("a"), keyed("b")).Want(http.StatusBadRequest).Says("Idempotency-Key")
		again(c, body, strings.Repeat("x", 255)).Want(http.StatusCreated)
		// A whole bulk is one request, and what was only tried is not done later.
		for _, dry := range []bool{true, false} {
			before := c.Get("/users").List().Total
			sent := bulk(create("/users", object{"firstname": "D"}), create("/users", object{"firstname": "E"}))
			sent["dry_run"] = dry
			key := keyed("bulk" + map[bool]string{true: "dry", false: ""}[dry])
			one := c.Do(http.MethodPost, "/bulk", sent, key).Want(http.StatusOK)
			if two := c.Do(http.MethodPost, "/bulk", sent, key).Want(http.StatusOK); two.Body != one.Body {
				t.Errorf("%s, then %s", one.Body, two.Body)
			}
			if made := c.Get("/users").List().Total - before; made != map[bool]int{true: 0, false: 2}[dry] {
				t.Errorf("dry %v: %d users", dry, made)
			}
		}
		refused := bulk(create("/users", object{"firstname": "F"}), create("/users", object{}))
		before := c.Get("/users").List().Total
		for range 2 {
			c.Do(http.MethodPost, "/bulk", refused, keyed("refused")).Want(http.StatusBadRequest).Says("operations[1]: ")
		}
		if after := c.Get("/users").List().Total; after != before {
			t.Errorf("a refused bulk made %d users", after-before)
		}
	})
}

// Of equal requests at once, on two nodes of one database, one is done. The others get its response, or are told to wait.
func TestIdempotencyKeyAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		nodes := []*resttest.Client{c, resttest.To(t, newService(t, db), prefix, c.Principal)}
		answers := make([]answer, 12)
		var all sync.WaitGroup
		for n := range answers {
			all.Go(func() { answers[n] = nodes[n%2].Do(http.MethodPost, "/users", object{"firstname": "Al"}, keyed("k")) })
		}
		all.Wait()
		uuids := map[string]bool{}
		for _, got := range answers {
			switch got.Status {
			case http.StatusCreated:
				uuids[got.Object().Text("uuid")] = true
			case http.StatusConflict:
				if got.Header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			default:
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
		}
		if n := c.Get("/users").List().Total; n != 1 || len(uuids) != 1 {
			t.Errorf("%d users, responses with %v", n, uuids)
		}
	})
}
