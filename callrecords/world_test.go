package callrecords_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

const prefix = "/api/call-logd/1.0"

// world is a call log behind a real gate, with tenants of which a is above b, and c is beside them.
type world struct {
	tb         testing.TB
	db         store.DB
	service    *callrecords.Service
	gate       *httptest.Server
	tokens     known
	tenants    map[string]string
	users      map[string]callrecords.User // by the names of their endpoints
	folder     string                      // of recordings
	unreadable int
	calls      int64
}

type known map[string]*principal.Principal

func (k known) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if p, ok := k[token]; ok {
		return p, nil
	}
	return nil, tokens.ErrUnknown
}

func (known) Shape(text string) bool { return tokens.WellFormed(text) }

func newWorld(tb testing.TB, db store.DB) *world {
	tb.Helper()
	w := &world{tb: tb, db: db, tokens: known{}, tenants: map[string]string{}, users: map[string]callrecords.User{}, folder: tb.TempDir()}
	for _, t := range [][2]string{{"master", "master"}, {"a", "master"}, {"b", "a"}, {"c", "master"}} {
		w.tenants[t[0]] = uuid.NewString()
		if _, err := db.Exec(tb.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`,
			w.tenants[t[0]], w.tenants[t[1]], t[0]); err != nil {
			tb.Fatal(err)
		}
	}
	for _, u := range []callrecords.User{
		{"ada", w.tenants["a"], "", "Ada Lovelace", "101"}, {"bob", w.tenants["a"], "", "Bob Müller", "102"}, {"cem", w.tenants["c"], "", "Cem", "101"},
	} {
		u.UUID = uuid.NewString()
		w.users[u.Endpoint] = u
	}
	var err error
	w.service, err = callrecords.New(callrecords.Options{
		DB: db, Unreadable: func() { w.unreadable++ }, Recordings: func() audio.Folder { return audio.Folder(w.folder) },
		Users: func(_ context.Context, _ store.Conn, names []string) (found []callrecords.User, err error) {
			for _, name := range names {
				if u, is := w.users[name]; is {
					found = append(found, u)
				}
			}
			return found, nil
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	guard, err := gate.New(gate.Config{Routers: gate.Services([]*rest.Service{w.service.REST()}), Tokens: w.tokens})
	if err != nil {
		tb.Fatal(err)
	}
	w.gate = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if admission, ok := guard.Admit(rw, r); ok {
			w.service.REST().ServeHTTP(admission.Writer, admission.Request)
		}
	}))
	tb.Cleanup(w.gate.Close)
	return w
}

// as returns a client behind the gate: a user, or anybody if the name is "", of a tenant, with accesses.
func (w *world) as(user, tenant string, accesses ...string) *resttest.Client {
	w.tb.Helper()
	set, err := acl.Compile(accesses)
	if err != nil {
		w.tb.Fatal(err)
	}
	p := &principal.Principal{
		UserUUID: uuid.NewString(), SessionUUID: uuid.NewString(), ACL: set,
		Affiliation: &principal.Affiliation{TenantUUID: w.tenants[tenant], Purpose: "user"},
	}
	if user != "" {
		p.UserUUID = w.users[user].UUID
	}
	token := tokens.New()
	w.tokens[token] = p
	return resttest.At(w.tb, w.gate.Client(), w.gate.URL+prefix).With(resttest.Header("X-Auth-Token", token))
}

// base is when the calls of tests begin, one a minute.
func base() time.Time { return time.Now().UTC().Truncate(time.Hour).Add(-48 * time.Hour) }

// call returns the record of a call from a number, or a telephone, of a tenant.
func (w *world) call(tenant, from, to string, edits ...func(r *cdr.Record)) cdr.Record {
	w.calls++
	r := cdr.Record{
		UniqueID: fmt.Sprintf("1700000000.%d", w.calls), Sequence: w.calls, Tenant: w.tenants[tenant], Direction: "internal", Source: from, Dialled: to,
		Start: base().Add(time.Duration(w.calls) * time.Minute), Disposition: "ANSWERED", Billed: 10,
	}
	if u, is := w.users[from]; is {
		r.Channel, r.Source, r.User = "PJSIP/"+from+"-00000001", u.Number, u.UUID
	}
	if u, is := w.users[to]; is {
		r.Destination, r.Dialled, r.Called = "PJSIP/"+to+"-00000002", u.Number, u.UUID
	}
	r.Answer, r.End = r.Start.Add(5*time.Second), r.Start.Add(15*time.Second)
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

// keep stores records.
func (w *world) keep(records ...cdr.Record) {
	w.tb.Helper()
	if err := w.service.Keep(w.tb.Context(), "main", records); err != nil {
		w.tb.Fatal(err)
	}
}

// numbers returns who called whom in a list.
func numbers(list resttest.List) (all []string) {
	from, to := list.Column("source_extension"), list.Column("destination_extension")
	for i := range from {
		all = append(all, from[i]+">"+to[i])
	}
	return all
}

// lists asserts what a list has.
func lists(t *testing.T, c *resttest.Client, path string, want ...string) {
	t.Helper()
	if got := numbers(c.Get(path).Want(http.StatusOK).List()); !slices.Equal(got, want) {
		t.Errorf("%s has %q, want %q", path, got, want)
	}
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) { test(t, newWorld(t, db)) })
}
