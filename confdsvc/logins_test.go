package confdsvc_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// inTxDB knows how many transactions are open on it.
type inTxDB struct {
	store.DB
	open atomic.Int64
}

func (db *inTxDB) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	db.open.Add(1)
	defer db.open.Add(-1)
	return db.DB.InTx(ctx, fn)
}

// slowLogins keeps accounts in memory, and fails the test if one is read while a transaction is open.
type slowLogins struct {
	t                 *testing.T
	db                *inTxDB
	received, written int
}

type loginBody struct {
	Password *string `json:"password" minLength:"4" maxLength:"64"`
}

func (l *slowLogins) LoginSchema() *rest.Schema { return rest.SchemaOf[loginBody]() }

func (l *slowLogins) ReceiveLogin(_ context.Context, _ *rest.Request, sent, _ map[string]any) (any, error) {
	l.received++
	if l.db.open.Load() > 0 {
		l.t.Error("an account is read in a transaction")
	}
	return sent, nil
}

func (l *slowLogins) WriteLogin(_ context.Context, _ store.Conn, _ *rest.Request, _, _ string, _ bool, login any) (any, error) {
	l.written++
	if l.db.open.Load() == 0 {
		l.t.Error("an account is written outside of a transaction")
	}
	return login, nil
}

func (l *slowLogins) DeleteLogin(context.Context, store.Conn, *rest.Request, string, string) error {
	return nil
}

// The hash of a password takes long. No transaction waits for it, however the user's body comes.
func TestLoginsAreReadBeforeTheTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		watched := &inTxDB{DB: db}
		logins := &slowLogins{t: t, db: watched}
		svc, err := confdsvc.New(confdsvc.Options{DB: watched, Logins: logins})
		if err != nil {
			t.Fatal(err)
		}
		w.svc = svc
		c := w.as(t, "a")
		user := func(name string) object { return object{"firstname": name, "auth": object{"password": "geheim"}} }
		path := "/users/" + c.Create("/users", user("Al")).Text("uuid") + "?recursive=true"
		change := object{"method": "PUT", "path": path, "body": object{"auth": object{"password": "anders"}}}
		keyed := resttest.Header("Idempotency-Key", "one")
		for name, do := range map[string]func() answer{
			"put": func() answer { return c.Do(http.MethodPut, path, change["body"]) },
			"bulk": func() answer {
				return c.Do(http.MethodPost, "/bulk", bulk(create("/users", user("Bo")), change, create("/users", user("Cy"))))
			},
			"keyed": func() answer { return c.Do(http.MethodPost, "/users", user("Di"), keyed) },
			"keyed bulk": func() answer {
				return c.Do(http.MethodPost, "/bulk", bulk(create("/users", user("Ed")), change), keyed)
			},
		} {
			before := *logins
			if got := do(); got.Status >= 300 {
				t.Errorf("%s: %s", name, got.Body)
			}
			if read, written := logins.received-before.received, logins.written-before.written; read == 0 || read > written { // a transaction may run again
				t.Errorf("%s: %d accounts were read, and %d written", name, read, written)
			}
		}
		written := logins.written
		c.Do(http.MethodPost, "/users", user("Di"), keyed).Want(http.StatusCreated) // it is the kept response
		wrong := said(t, c.Do(http.MethodPost, "/bulk", bulk(create("/users", user("Fay")), create("/users", object{"firstname": "Gil", "auth": object{"password": 5}}), create("/users", object{}))).
			Want(http.StatusBadRequest))
		if len(wrong) != 2 || logins.written == written {
			t.Errorf("%q; %d accounts were written", wrong, logins.written-written)
		}
	})
}

// heldLogins holds a request until it is released.
type heldLogins struct {
	slowLogins
	entered, release chan struct{}
}

func (l *heldLogins) ReceiveLogin(_ context.Context, _ *rest.Request, sent, _ map[string]any) (any, error) {
	l.entered <- struct{}{}
	<-l.release
	return sent, nil
}

// While a request with a key is being done, the same key is told to wait, whatever else is sent. Afterwards it is the response, or another
// request's key.
func TestIdempotencyKeyInUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		watched := &inTxDB{DB: db}
		logins := &heldLogins{slowLogins{t: t, db: watched}, make(chan struct{}, 10), make(chan struct{})}
		svc, err := confdsvc.New(confdsvc.Options{DB: watched, Logins: logins})
		if err != nil {
			t.Fatal(err)
		}
		w.svc = svc
		c := w.as(t, "a")
		user, other := object{"firstname": "Al", "auth": object{"password": "geheim"}}, object{"firstname": "Bo"}
		first := make(chan answer, 1)
		go func() { first <- c.Do(http.MethodPost, "/users", user, keyed("k")) }()
		<-logins.entered
		for _, body := range []object{user, other} {
			if got := c.Do(http.MethodPost, "/users", body, keyed("k")).Want(http.StatusConflict); got.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		c.Do(http.MethodPost, "/users", other, keyed("another")).Want(http.StatusCreated)
		close(logins.release)
		made := (<-first).Want(http.StatusCreated)
		if got := c.Do(http.MethodPost, "/users", user, keyed("k")).Want(http.StatusCreated); got.Body != made.Body {
			t.Errorf("%s, then %s", made.Body, got.Body)
		}
		c.Do(http.MethodPost, "/users", other, keyed("k")).Want(http.StatusUnprocessableEntity).Says("another request")
		if l := c.Get("/users").List(); l.Total != 2 {
			t.Errorf("%d users", l.Total)
		}
	})
}

// takenLogins refuses each account, since its username is another one's.
type takenLogins struct{ slowLogins }

func (*takenLogins) WriteLogin(context.Context, store.Conn, *rest.Request, string, string, bool, any) (any, error) {
	return nil, &apierr.Error{Kind: apierr.Conflict, Fields: []apierr.Field{{Name: "username", Constraint: "unique", Value: "unique", Message: "Is taken"}}}
}

func TestUserWithTakenLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		watched := &inTxDB{DB: db}
		svc, err := confdsvc.New(confdsvc.Options{DB: watched, Logins: &takenLogins{slowLogins{t: t, db: watched}}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, db)
		w.svc = svc
		c := w.as(t, "a")
		c.Do(http.MethodPost, "/users", object{"firstname": "Al", "auth": object{}}).Want(http.StatusBadRequest).
			Says("Resource Error - auth: {'username': ['Is taken']}")
		if all := c.Get("/users").List(); all.Total != 0 {
			t.Errorf("%d users were made", all.Total)
		}
	})
}
