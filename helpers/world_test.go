package helpers_test

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// world is the helper endpoints behind a real gate and on a plain port, on real sockets and folders.
type world struct {
	t       *testing.T
	db      store.DB
	tenants map[string]string
	names   *named
	tokens  known
	service *helpers.Service
	gate    *httptest.Server
	// plain is a tool on this machine.
	plain               *resttest.Client
	spool, moh, outside string
	autoprov            string
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) { test(t, newWorld(t, db, helpers.Options{})) })
}

func newWorld(t *testing.T, db store.DB, o helpers.Options) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{
		t: t, db: db, tenants: map[string]string{}, names: new(named), tokens: known{},
		spool: filepath.Join(base, "voicemail"), moh: filepath.Join(base, "moh"), outside: filepath.Join(base, "outside"),
		autoprov: filepath.Join(base, "pjsip.d", "05-autoprov-wizard.conf"),
	}
	for _, tenant := range [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}} {
		w.tenants[tenant[0]] = uuid.NewString()
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`,
			w.tenants[tenant[0]], w.tenants[tenant[1]], tenant[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{w.spool, w.moh, w.outside} {
		if err := os.Mkdir(folder, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	o.DB, o.Names = db, w.names
	service, err := helpers.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	w.service = service
	w.use(false)
	service.Recovered()
	guard, err := gate.New(gate.Config{Routers: gate.Services([]*rest.Service{service.REST()}), Tokens: w.tokens})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if admission, ok := guard.Admit(rw, r); ok {
			service.REST().ServeHTTP(admission.Writer, admission.Request)
		}
	}))
	t.Cleanup(w.gate.Close)
	plain := httptest.NewServer(service.Plain())
	t.Cleanup(plain.Close)
	w.plain = resttest.At(t, plain.Client(), plain.URL)
	return w
}

func (w *world) use(plainOff bool) {
	w.service.Use(helpers.Settings{Voicemail: w.spool, MOH: w.moh, Autoprov: w.autoprov, PlainOff: plainOff})
}

// as returns a client behind the gate, in a tenant, whose token holds the accesses.
func (w *world) as(tenant string, accesses ...string) *resttest.Client {
	w.t.Helper()
	token := tokens.New()
	w.tokens[token] = w.caller(tenant, accesses...)
	return resttest.At(w.t, w.gate.Client(), w.gate.URL+helpers.GatedPrefix).With(resttest.Header("X-Auth-Token", token))
}

func (w *world) caller(tenant string, accesses ...string) *principal.Principal {
	w.t.Helper()
	set, err := acl.Compile(accesses)
	if err != nil {
		w.t.Fatal(err)
	}
	return &principal.Principal{
		UserUUID: uuid.NewString(), SessionUUID: uuid.NewString(), ACL: set,
		Affiliation: &principal.Affiliation{TenantUUID: w.tenants[tenant], Purpose: "external_api"},
	}
}

// inProcess returns such a client without a gate, who can send what no client on a socket can.
func (w *world) inProcess(tenant string, accesses ...string) *resttest.Client {
	w.t.Helper()
	return resttest.To(w.t, w.service.REST(), helpers.GatedPrefix, w.caller(tenant, accesses...))
}

// mailbox makes a voicemail with a message.
func (w *world) mailbox(context, number string) string {
	w.t.Helper()
	path := filepath.Join(w.spool, context, number)
	w.write(filepath.Join(path, "INBOX", "msg0000.txt"))
	w.write(filepath.Join(path, "unavail.wav"))
	return path
}

func (w *world) write(path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(to, path string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		w.t.Fatal(err)
	}
}

// files returns all paths below a folder, links among them, but not the trash.
func (w *world) files(folder string) []string {
	w.t.Helper()
	var out []string
	if err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != folder && filepath.Base(path) != helpers.TrashName {
			out = append(out, strings.TrimPrefix(path, folder+"/"))
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// unchanged runs do, and fails the test if anything in the folders is another than before.
func (w *world) unchanged(do func()) {
	w.t.Helper()
	before := [][]string{w.files(w.spool), w.files(w.moh), w.files(w.outside)}
	do()
	for i, folder := range []string{w.spool, w.moh, w.outside} {
		if after := w.files(folder); !slices.Equal(before[i], after) {
			w.t.Errorf("%s has changed: %v, then %v", folder, before[i], after)
		}
	}
}

// named are the names that the configuration service has given, by their tenants.
type named struct {
	contexts, moh, endpoints map[string][]string
	waiting                  map[string]map[string]string
	denied                   map[string][]string // endpoints, queues, switchboards and agents
}

func (n *named) InternalContexts(_ context.Context, tenant string) (out []string, err error) {
	for of, names := range n.contexts {
		if tenant == "" || of == tenant {
			out = append(out, names...)
		}
	}
	return out, nil
}

func (n *named) HasContext(_ context.Context, tenant, name string) (bool, error) {
	return slices.Contains(n.contexts[tenant], name), nil
}

func (n *named) Endpoints(_ context.Context, tenant string) ([]string, error) {
	return n.endpoints[tenant], nil
}

func (n *named) Waiting(_ context.Context, tenant string) (map[string]string, error) {
	return n.waiting[tenant], nil
}

func (n *named) Denied(ctx context.Context, tenant string) (endpoints, waiting, agents []string, err error) {
	if p := principal.FromContext(ctx); p == nil || !p.HasDenials() {
		return nil, nil, nil, nil
	}
	return n.denied[tenant], n.denied[tenant], n.denied[tenant], nil
}

func (n *named) HasMOH(_ context.Context, tenant, name string) (bool, error) {
	return slices.Contains(n.moh[tenant], name), nil
}

func (n *named) Hides(ctx context.Context, name, number, moh string) (bool, error) {
	p := principal.FromContext(ctx)
	return p != nil && p.HasDenials() && slices.Contains(n.denied[""], cmp.Or(moh, number, name)), nil
}

// known are the principals of tokens.
type known map[string]*principal.Principal

func (k known) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if p, ok := k[token]; ok {
		return p, nil
	}
	return nil, tokens.ErrUnknown
}

func (known) Shape(text string) bool { return tokens.WellFormed(text) }
