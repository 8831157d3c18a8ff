package main_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	passwords "github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/target"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Whoever is denied an operation, by any name of its object, neither reads nor changes by another operation what it reads and changes.
//
// The test knows no resource. It makes an object of each kind by the schemas of the services, links whatever can be linked, and sends each
// operation once as somebody who is denied nothing: what it answers, and which values in the database it changes, is then known, since
// everything is undone. A denied access is tried only with the operations that have to do with it: those whose answers had a text that only
// the denied object has, and those that changed a value that the denied operation changes. All others answer and do what they do without it.
func TestWhatIsDeniedLeavesNoTrace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		x := newDenials(t, db)
		x.makeAll(false)
		x.logIn()
		x.block()
		x.linkAll()
		x.makeAll(true)
		x.collect()
		began := time.Now()
		x.denyReads()
		read := time.Since(began)
		x.denyWrites()
		t.Logf("%d objects, %d requests; %d denied reads and %d lists in %d answers and %d filtered lists (%s); %d denied changes by %d requests (%s)",
			len(x.objects), len(x.requests), x.deniedReads, x.deniedLists, x.answers, x.filters, read, x.deniedWrites, x.attempts, time.Since(began)-read)
		if len(x.objects) < 20 || len(x.twins) < 15 || x.deniedLists < 6 || x.filters < 20 || x.answers < 250 || x.attempts < 150 {
			t.Error("there is little to deny")
		}
	})
}

// denials is both services on one database, behind their gate.
type denials struct {
	t        *testing.T
	db       *undoneDB
	services []*rest.Service
	auth     *authsvc.Service
	gate     *gate.Gate
	callers  map[string]*principal.Principal
	tenant   string
	session  string
	admin    *resttest.Client
	columns  map[string][]string
	mustName map[string]bool
	before   map[string]string

	objects  []*deniable
	twins    map[*deniable]*deniable // others of the same collections, which are linked with nothing
	requests []*sending
	filtered []*sending // lists of what goes with an object, by filters with its key

	deniedReads, deniedLists, filters, answers, deniedWrites, attempts int
}

// deniable is an object of a collection.
type deniable struct {
	service, path, param string // "confd", "/users", "user_id"
	keys                 []string
	of                   *deniable // that it is a part of
	row                  string    // what the values of its row begin with in a state: "confd_user 17 "
	marks                []string
	body                 map[string]any
}

// sending is an operation on the objects that were made.
type sending struct {
	service *rest.Service
	op      *rest.Operation
	path    string // with its query, below the service's prefix
	body    any
	access  string
	named   []*deniable // in its path
	by      *deniable   // that a list is filtered by

	answer  resttest.Answer
	changed map[string]bool
}

// undoneDB undoes each transaction, once undo is set, and gives it the connection before.
type undoneDB struct {
	store.DB
	undo func(ctx context.Context, tx store.Conn)
}

var errUndone = errors.New("undone")

func (d *undoneDB) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	undo := d.undo
	if undo == nil {
		return d.DB.InTx(ctx, fn)
	}
	err := d.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		undo(ctx, tx)
		return errUndone
	})
	if errors.Is(err, errUndone) {
		return nil
	}
	return err
}

func newDenials(t *testing.T, db store.DB) *denials {
	t.Helper()
	x := &denials{t: t, db: &undoneDB{DB: db}, callers: map[string]*principal.Principal{}, twins: map[*deniable]*deniable{}}
	box := sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "sealing-key")})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(box.Prepare(t.Context(), db))
	var err error
	x.auth, err = authsvc.New(authsvc.Options{
		DB: x.db, Sealer: box, Contents: confdsvc.ContentsOf(x.db, nil), People: confdsvc.People,
		Settings: authsvc.Settings{Passwords: passwords.Settings{Params: passwords.Params{Memory: 64, Time: 1, Threads: 1}, Shortest: 1}},
	})
	must(err)
	confd, err := confdsvc.New(confdsvc.Options{DB: x.db, Installation: x.auth.Installation, Logins: x.auth})
	must(err)
	x.auth.Audits(confd)
	x.services = []*rest.Service{confd, x.auth.REST()}
	x.mustName = mustName(x.services)
	cache, err := tokens.NewCache(x.auth, tokens.Options{Capacity: 1000, Complete: x.auth.Complete})
	must(err)
	t.Cleanup(cache.Close)
	x.auth.UseCache(cache)
	_, err = x.auth.Bootstrap(t.Context(), authsvc.Admin{Username: "admin", Password: password, File: filepath.Join(t.TempDir(), "admin-credentials")})
	must(err)
	x.gate, err = gate.New(gate.Config{Routers: gate.Services(x.services), Tokens: x})
	must(err)
	x.auth.UseRequirements(func(method, path string) (authsvc.Requirement, error) {
		asked, err := target.Parse(path)
		if err != nil {
			return authsvc.Requirement{}, err
		}
		for _, s := range x.services {
			if m, ok := s.Match(method, &asked); ok {
				return authsvc.Requirement{Service: s.Name, Access: m.Access()}, nil
			}
		}
		return authsvc.Requirement{}, errors.New("no service")
	})
	x.tenant, err = store.Get[string](t.Context(), db, "SELECT CAST(uuid AS text) FROM auth_tenant WHERE parent_uuid = uuid")
	must(err)
	x.session = resttest.To(t, x, "", nil).Do(http.MethodPost, x.services[1].Prefix+"/token", map[string]any{}, resttest.Basic("admin", password)).
		Want(http.StatusOK).Text("data.session_uuid")
	x.admin = x.holding(x.administrator(), "#")
	if db.Engine() == "postgres" { // numbers that nothing else has
		restarts, err := store.Select[string](t.Context(), db, `SELECT format('ALTER TABLE %I ALTER COLUMN %I RESTART WITH %s', table_name, column_name,
			7000137 + 1000 * row_number() OVER (ORDER BY table_name)) FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'`)
		must(err)
		for _, restart := range restarts {
			_, err := db.Exec(t.Context(), restart)
			must(err)
		}
	}
	return x
}

func (x *denials) administrator() string {
	found, err := store.Get[string](x.t.Context(), x.db, "SELECT CAST(uuid AS text) FROM auth_user WHERE username = 'admin'")
	if err != nil {
		x.t.Fatal(err)
	}
	return found
}

func (*denials) Shape(string) bool { return true }

func (x *denials) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if p := x.callers[token]; p != nil {
		return p, nil
	}
	return nil, tokens.ErrUnknown
}

func (x *denials) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a, ok := x.gate.Admit(w, r); ok {
		for _, s := range x.services {
			if strings.HasPrefix(r.URL.Path, s.Prefix+"/") {
				s.ServeHTTP(a.Writer, a.Request)
			}
		}
	}
}

// holding returns a client of a user with these accesses alone.
func (x *denials) holding(user string, patterns ...string) *resttest.Client {
	x.t.Helper()
	p, err := x.auth.Complete(x.t.Context(), x.principal(user, patterns...))
	if err != nil {
		x.t.Fatal(err)
	}
	return x.as(p)
}

func (x *denials) principal(user string, patterns ...string) *principal.Principal {
	x.t.Helper()
	set, err := acl.Compile(patterns)
	if err != nil {
		x.t.Fatal(err)
	}
	return &principal.Principal{
		UserUUID: user, SessionUUID: x.session, ACL: set, ExpiresAt: principal.At(time.Now().Add(time.Hour)),
		Affiliation: &principal.Affiliation{TenantUUID: x.tenant, Purpose: "user"},
	}
}

func (x *denials) as(p *principal.Principal) *resttest.Client {
	token := tokens.New()
	x.callers[token] = p
	return resttest.To(x.t, x, "", nil).With(resttest.Header("X-Auth-Token", token))
}

// Objects.

// chosenValues are attributes that a schema does not tell how to choose, by the service and the path of the collection.
var chosenValues = map[string]map[string]any{
	"confd/contexts": {
		"user_ranges": []any{map[string]any{"start": "1000", "end": "1999"}}, "incall_ranges": []any{map[string]any{"start": "2000", "end": "2999", "did_length": 4}},
	},
	"confd/extensions":    {"exten": "1001"},
	"confd/voicemails":    {"number": "1001"},
	"confd/phone-numbers": {"number": "+15550100"},
	"confd/pagings":       {"number": "600"},
	"confd/agents":        {"number": "9001"},
	"confd/sounds":        {"name": "menus"},
	"confd/users":         {"caller_id": `"mkconfduserszq" <1001>`},
	"auth/users":          {"enabled": true, "password": password, "authentication_method": nil, "purpose": nil},
}

// twinValues are those of another object of the collection.
var twinValues = map[string]map[string]any{
	"confd/contexts":      chosenValues["confd/contexts"],
	"confd/extensions":    {"exten": "1002"},
	"confd/voicemails":    {"number": "1002"},
	"confd/phone-numbers": {"number": "+15550101"},
	"confd/pagings":       {"number": "601"},
	"confd/agents":        {"number": "9002"},
	"confd/sounds":        {"name": "others"},
}

// mark returns a text that stands nowhere else.
func (x *denials) mark(what string) string {
	return "mk" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, what) + "zq"
}

// filler makes bodies by schemas.
type filler struct {
	*denials
	service string
	mark    string
	full    bool // whatever there is; else texts, and what is required
	least   bool // what is required
	dropped map[string]bool
	kinds   int
}

// value returns a value for a property, or false if there is none to choose.
func (f *filler) value(name string, p *rest.Property) (any, bool) {
	s := p.Schema
	if p.ReadOnly || f.dropped[name] || p.Deprecated {
		return nil, false
	}
	if p.Ref != "" && p.Ref != "sounds.path" { // a sound need not be there: any text names one
		key := f.keyOf(f.service, p.Ref)
		return key, key != nil
	}
	switch {
	case s.Union != nil:
		for range s.Union.Kinds {
			f.kinds++
			kind := s.Union.Kinds[f.kinds%len(s.Union.Kinds)]
			if body, ok := f.object(kind.Schema, true); ok {
				body[s.Union.By] = kind.Value
				return body, true
			}
		}
		return nil, false
	case len(s.Enum) > 0:
		return s.Enum[len(s.Enum)-1], p.Required || f.full
	case s.Type == "string":
		free := s.Pattern == "" && s.Format == "" && (s.MaxLength == nil || *s.MaxLength >= len(f.mark))
		if free {
			return f.mark, p.Required || !f.least
		}
		if s.Format == "email" {
			return f.mark + "@example.com", p.Required || !f.least
		}
		return f.example(name, s), p.Required
	case s.Type == "boolean":
		return string(s.Default) != "true", f.full && !p.WriteOnly
	case s.Type == "integer", s.Type == "number":
		return f.example(name, s), p.Required
	case s.Values != nil:
		one := rest.Property{Name: name, Schema: s.Values, Required: true}
		value, ok := f.value(name, &one)
		return map[string]any{"1": value}, ok && (p.Required || f.full)
	case s.Type == "object":
		if !p.Required && !f.full {
			return nil, false
		}
		body, ok := f.object(s, p.Required)
		return body, ok && (p.Required || len(body) > 0)
	case s.Type == "array" && s.Items != nil && (p.Required || f.full):
		one := rest.Property{Name: name, Schema: s.Items, Required: true}
		if key := f.member(name, s.Items); key != nil {
			return []any{key}, true
		}
		if value, ok := f.value(name, &one); ok {
			return []any{value}, true
		}
		return []any{}, p.Required
	}
	return f.example(name, s), p.Required
}

// member returns an item of a list of the objects of a collection that the list is called after.
func (f *filler) member(list string, item *rest.Schema) any {
	for _, o := range f.objects {
		if o.service != f.service || !strings.HasSuffix(o.path, "/"+list) {
			continue
		}
		for _, name := range []string{"uuid", "id"} {
			if p := item.Property(name); p != nil && !p.ReadOnly && o.body[name] != nil {
				return map[string]any{name: o.body[name]}
			}
		}
	}
	return nil
}

func (f *filler) object(s *rest.Schema, must bool) (map[string]any, bool) {
	body := map[string]any{}
	for i := range s.Properties {
		p := &s.Properties[i]
		if value, ok := f.value(p.Name, p); ok {
			body[p.Name] = value
		} else if p.Required && !p.ReadOnly && must {
			return body, false
		}
	}
	return body, true
}

func (f *filler) example(name string, s *rest.Schema) any {
	if text := cmp.Or(string(s.Example), string(s.Default)); text != "" {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			return value
		}
	}
	for _, service := range f.services {
		if text, ok := service.Examples[name]; ok && service.Name == f.service && s.Type == "string" {
			return text
		}
	}
	switch s.Type {
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "string":
		if s.Format == "uuid" {
			return uuid.NewString()
		}
		return "1"
	}
	return nil
}

// keyOf returns the key of an object that an attribute refers to: "contexts.name".
func (x *denials) keyOf(service, ref string) any {
	at := strings.LastIndexByte(ref, '.')
	for _, o := range x.objects {
		if o.service == service && o.path == "/"+ref[:at] {
			return o.body[ref[at+1:]]
		}
	}
	return nil
}

// send sends what a filler makes for an operation, without what is refused of it.
func (x *denials) send(s *rest.Service, op *rest.Operation, path, mark string, full bool, chosen map[string]any) (resttest.Answer, map[string]any, bool) {
	f := &filler{denials: x, service: s.Name, mark: mark, full: full, dropped: map[string]bool{}}
	var last resttest.Answer
	for range 40 {
		f.kinds = len(path)
		body, ok := f.object(op.Body, true)
		if !ok {
			return last, nil, false
		}
		for name, value := range chosen {
			if f.dropped[name] {
				continue
			}
			if body[name] = value; value == nil {
				delete(body, name)
			}
		}
		if last = x.admin.Do(op.Method, s.Prefix+path, body); last.Status < http.StatusBadRequest {
			return last, body, true
		}
		dropped := false
		for i := range op.Body.Properties {
			p := &op.Body.Properties[i]
			if _, sent := body[p.Name]; sent && !p.Required && regexp.MustCompile(`\b`+regexp.QuoteMeta(p.Name)+`\b`).MatchString(last.Body) {
				f.dropped[p.Name], dropped = true, true
			}
		}
		switch {
		case dropped:
		case f.full:
			f.full = false
		case !f.least:
			f.least = true
		default:
			return last, nil, false
		}
	}
	return last, nil, false
}

// makeAll makes an object of each collection of which clients make any, as long as one more can be made; or another one, where it can.
func (x *denials) makeAll(twins bool) {
	refused, values := map[string]string{}, chosenValues
	if twins {
		values = twinValues
	}
	for made := true; made; {
		made = false
		for _, s := range x.services {
			for i := range s.Operations {
				op := &s.Operations[i]
				first := x.objectAt(s.Name, op.Path)
				if op.Method != http.MethodPost || op.Public || op.Unimplemented || op.Body == nil || strings.Contains(op.Path, "{") ||
					strings.HasPrefix(op.Path, "/users/me/") || // one's own: see block
					(first != nil) != twins || x.twins[first] != nil {
					continue
				}
				one := x.one(s, op.Path)
				if one == nil {
					continue
				}
				state := x.state(x.db)
				mark := x.mark(s.Name + op.Path)
				if twins {
					mark = x.mark("twin" + s.Name + op.Path)
				}
				a, _, ok := x.send(s, op, op.Path, mark, !twins, values[s.Name+op.Path])
				if twins {
					if ok {
						last := len(x.objects)
						x.add(s, one, a.Object(), mark, state)
						x.twins[first], x.objects = x.objects[last], x.objects[:last]
						made = true
					}
					continue
				}
				if !ok {
					refused[s.Name+op.Path] = a.Body
					continue
				}
				made = true
				delete(refused, s.Name+op.Path)
				x.add(s, one, a.Object(), mark, state)
			}
		}
	}
	for path, why := range refused {
		x.t.Errorf("no object of %s is made: tell in chosenValues how. %s", path, why)
	}
}

// one returns the operation that reads an object of a collection, or nil.
func (x *denials) one(s *rest.Service, path string) *rest.Operation {
	for i := range s.Operations {
		if op := &s.Operations[i]; op.Method == http.MethodGet && strings.HasPrefix(op.Path, path+"/{") && strings.Count(op.Path, "/") == strings.Count(path, "/")+1 {
			return op
		}
	}
	return nil
}

func (x *denials) objectAt(service, path string) *deniable {
	for _, o := range x.objects {
		if o.service == service && o.path == path {
			return o
		}
	}
	return nil
}

// add adds an object that was made. A number is replaced by one that nothing else has.
func (x *denials) add(s *rest.Service, one *rest.Operation, body resttest.Object, mark string, before map[string]string) {
	o := &deniable{service: s.Name, path: one.Path[:strings.LastIndexByte(one.Path, '/')], body: body}
	o.param = strings.Trim(one.Path[len(o.path)+1:], "{}")
	after := x.state(x.db)
	table, key := "", cmp.Or(body.Text("uuid"), "")
	if key == "<null>" {
		key = body.Text("id")
	}
	for at := range after {
		words := strings.SplitN(at, " ", 3)
		if _, was := before[at]; was || words[1] != key && words[1] != body.Text("id") {
			continue
		}
		if _, owned := after[words[0]+" "+words[1]+" tenant_uuid"]; table == "" && (owned || s.Name == "auth") {
			table, key = words[0], words[1]
		}
	}
	if id, ok := body["id"].(json.Number); ok && table != "" {
		unique := fmt.Sprint(7_000_000 + 1_000*len(x.objects) + 137)
		if _, err := x.db.Exec(x.t.Context(), "UPDATE "+table+" SET id = "+unique+" WHERE id = "+id.String()); err != nil {
			if len(id) == len(unique) {
				o.marks = append(o.marks, id.String())
			}
		} else {
			o.marks = append(o.marks, unique)
			body["id"] = json.Number(unique)
			if key == id.String() {
				key = unique
			}
		}
	}
	o.row = table + " " + key + " "
	for _, name := range []string{"uuid", "id", "slug"} {
		if body[name] == nil {
			continue
		}
		value := body.Text(name)
		if a := x.admin.Get(s.Prefix + o.path + "/" + value); a.Status == http.StatusOK {
			o.keys = append(o.keys, value)
			maps.Copy(body, a.Object())
		}
		if len(value) == 36 && o.path != "/tenants" { // what a tenant has says whose it is
			o.marks = append(o.marks, value)
		}
	}
	if len(o.keys) == 0 {
		x.t.Errorf("%s%s is not found: %v", s.Name, o.path, body)
	}
	if o.service == "confd" && o.path == "/phone-numbers" {
		o.keys = append(o.keys, "main")
	}
	o.marks = append(o.marks, mark)
	x.objects = append(x.objects, o)
}

// logIn adds what has an operation of its own, and which nobody makes by a POST to a collection: a session, a refresh token and an address of
// the user that was made.
func (x *denials) logIn() {
	user, client := x.objectAt("auth", "/users"), x.mark("client")
	body := map[string]any{"access_type": "offline", "client_id": client}
	a := x.admin.Do(http.MethodPost, x.prefix("auth")+"/token", body, resttest.Basic(resttest.Object(user.body).Text("username"), password)).Want(http.StatusOK)
	address := user.body["emails"].([]any)[0].(map[string]any)["uuid"].(string)
	session := a.Text("data.session_uuid")
	token := x.admin.Get(x.prefix("auth") + "/tokens?search=" + client).List().Items[0].Text("uuid")
	row := ""
	for at := range x.state(x.db) {
		if words := strings.SplitN(at, " ", 3); words[0] == "auth_token" && strings.Contains(words[1], session) {
			row = words[0] + " " + words[1] + " "
		}
	}
	x.objects = append(x.objects,
		&deniable{service: "auth", path: "/sessions", param: "session_uuid", of: user, keys: []string{session}, row: row, marks: []string{session}},
		&deniable{
			service: "auth", path: "/tokens", param: "client_id", of: user, keys: []string{client}, row: "auth_refresh_token " + token + " ",
			marks: []string{client, token},
		},
		&deniable{service: "auth", path: "/emails", param: "email_uuid", of: user, keys: []string{address}, row: "auth_email " + address + " ", marks: []string{address}},
	)
}

// block adds what only the telephone user themselves makes: a number that they block.
func (x *denials) block() {
	confd, state := x.services[0], x.state(x.db)
	me, mark := resttest.Object(x.objectAt("confd", "/users").body).Text("uuid"), x.mark("blocked")
	a := x.as(x.principal(me, "#")).Do(http.MethodPost, confd.Prefix+"/users/me/blocklist/numbers", map[string]any{"number": "+15558137001", "label": mark}).Want(http.StatusCreated)
	x.add(confd, x.one(confd, "/users/blocklist/numbers"), a.Object(), mark, state)
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// words are values of parameters that name no object.
var words = map[string]string{"forward_name": "busy", "service_name": "dnd", "range_type": "user", "position": "1"}

// fill fills a path with the objects that were made, and returns these. with chooses other keys of theirs.
func (x *denials) fill(s *rest.Service, path string, with func(o *deniable) string) (filled string, named []*deniable, ok bool) {
	ok = true
	at := 0
	filled = pathParameter.ReplaceAllStringFunc(path, func(in string) string {
		from := strings.Index(path[at:], in) + at
		at = from + len(in)
		// The collection that the words before it end with.
		before := path[:from-1]
		if i := strings.LastIndexByte(before, '}'); i >= 0 {
			before = before[i+1:]
		}
		for ; before != ""; before = before[max(strings.IndexByte(before[1:], '/')+1, 0):] {
			if o := x.objectAt(s.Name, before); o != nil {
				named = append(named, o)
				return with(o)
			}
			if strings.Count(before, "/") == 1 {
				break
			}
		}
		name := in[1 : len(in)-1]
		for _, o := range x.objects {
			if o.service == s.Name && o.param == name {
				named = append(named, o)
				return with(o)
			}
		}
		word, known := words[name]
		ok = ok && known
		return word
	})
	return filled, named, ok
}

// linkAll links whatever can be linked, and changes whatever is a part of an object.
func (x *denials) linkAll() {
	first := func(o *deniable) string { return o.keys[0] }
	x.forget()
	for range 2 { // what needs another link
		for _, s := range x.services {
			for i := range s.Operations {
				op := &s.Operations[i]
				if op.Method != http.MethodPut || op.Public || op.Unimplemented || !strings.Contains(op.Path, "{") || op.Consumes != "" {
					continue
				}
				path, named, ok := x.fill(s, op.Path, first)
				if !ok || len(named) == 0 {
					continue
				}
				switch {
				case op.Body == nil:
					x.admin.Do(op.Method, s.Prefix+path, nil)
				case strings.HasSuffix(op.Path, "}") && strings.Count(op.Path, "{") == 1: // so that the audit has the object's text
					mark := named[0].marks[len(named[0].marks)-1]
					x.send(s, op, path, mark+"b", false, nil)
					x.send(s, op, path, mark, false, nil)
				default:
					x.send(s, op, path, x.mark(s.Name+op.Path), true, nil)
				}
			}
		}
	}
}

// forget empties the audit, which has the objects' numbers from before.
func (x *denials) forget() {
	ctx := x.t.Context()
	triggers, err := []string{}, error(nil)
	if x.db.Engine() == "sqlite" {
		triggers, err = store.Select[string](ctx, x.db, "SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'")
	} else {
		triggers = append(triggers, "ALTER TABLE audit DISABLE TRIGGER USER")
	}
	for _, statement := range append(triggers, "DELETE FROM audit") {
		if _, failed := x.db.Exec(ctx, statement); err != nil || failed != nil {
			x.t.Fatal(err, failed)
		}
	}
}

// Requests.

// collect sends each operation, by each name of its objects, as somebody who is denied nothing.
func (x *denials) collect() {
	for _, get := range []bool{true, false} {
		x.before = x.state(x.db) // a tenant has its own objects from the first read on
		x.collectThose(get)
	}
}

func (x *denials) collectThose(get bool) {
	first := func(o *deniable) string { return o.keys[0] }
	for _, s := range x.services {
		for i := range s.Operations {
			op := &s.Operations[i]
			if (op.Method == http.MethodGet) != get || op.Public || op.Unimplemented || op.Consumes != "" && op.Consumes != "application/json" {
				continue
			}
			path, named, ok := x.fill(s, op.Path, first)
			if !ok {
				continue
			}
			paths := []string{path}
			for _, o := range named {
				for _, key := range o.keys[1:] {
					other, _, _ := x.fill(s, op.Path, func(of *deniable) string {
						if of == o {
							return key
						}
						return of.keys[0]
					})
					paths = append(paths, other)
				}
			}
			for _, path := range slices.Compact(paths) {
				x.request(s, op, path, named)
			}
			for i, o := range named { // with another, so that something is in the way
				twin := x.twins[o]
				if twin == nil || get || len(named) == 1 && (op.Body == nil || strings.HasSuffix(op.Path, "}")) {
					continue
				}
				path, _, _ := x.fill(s, op.Path, func(of *deniable) string {
					if of == o {
						return twin.keys[0]
					}
					return of.keys[0]
				})
				with := slices.Clone(named)
				with[i] = twin
				before := len(x.requests)
				x.request(s, op, path, with)
				x.requests = append(x.requests[:before], slices.DeleteFunc(x.requests[before:], func(r *sending) bool { return r.answer.Status < http.StatusBadRequest })...)
			}
			if op.Method == http.MethodGet && !strings.Contains(op.Path, "{") {
				x.searches(s, op)
			}
		}
	}
	auth := x.services[1]
	for i := range auth.Operations {
		if !get {
			break
		}
		op := &auth.Operations[i]
		switch op.ID {
		case "list_audit":
			for _, o := range x.objects {
				x.filterBy(auth, op, "/audit?about="+o.service+o.path+"/"+o.keys[0], o)
			}
		case "explain":
			for _, o := range x.objects {
				for _, key := range o.keys {
					x.try(auth, op, "/explain?method=GET&path="+url.QueryEscape(x.prefix(o.service)+o.path+"/"+key), nil, nil)
				}
			}
		case "list_access_holders":
			for _, o := range x.objects {
				x.try(auth, op, "/access/holders?access="+o.service+strings.ReplaceAll(o.path, "/", ".")+"."+o.keys[0]+".read", nil, nil)
			}
		}
	}
}

func (x *denials) prefix(service string) string {
	for _, s := range x.services {
		if s.Name == service {
			return s.Prefix
		}
	}
	return ""
}

// request adds what can be sent to an operation.
func (x *denials) request(s *rest.Service, op *rest.Operation, path string, named []*deniable) {
	x.t.Helper()
	switch {
	case op.Method == http.MethodGet:
		x.try(s, op, path, nil, named)
	case op.Method == http.MethodDelete:
		x.try(s, op, path, nil, named)
		for _, p := range op.Query {
			if p.Name == "dry_run" || p.Name == "recursive" {
				x.try(s, op, path+"?"+p.Name+"=true", nil, named)
			}
		}
	case op.Body == nil:
		x.try(s, op, path, nil, named)
	default:
		mark := x.mark(s.Name+op.Path) + "new"
		x.arm()
		_, body, ok := x.send(s, op, path, mark, op.Method == http.MethodPut || op.Method == http.MethodPost, chosenValues[s.Name+op.Path])
		x.db.undo = nil
		if ok {
			x.try(s, op, path, body, named)
		}
		empty := map[string]any{}
		for i := range op.Body.Properties {
			if p := &op.Body.Properties[i]; !p.ReadOnly && p.Schema.Type == "array" {
				empty[p.Name] = []any{}
			}
		}
		if op.Method == http.MethodPut && len(empty) > 0 {
			x.try(s, op, path, empty, named)
		}
		if slices.ContainsFunc(op.Query, func(p rest.Parameter) bool { return p.Name == "recursive" }) {
			for i := range op.Body.Properties {
				if p := &op.Body.Properties[i]; !p.ReadOnly && (p.Schema.Type == "array" || p.Schema.Type == "object" && p.Schema.Nullable) {
					var none any
					if p.Schema.Type == "array" {
						none = []any{}
					}
					x.try(s, op, path+"?recursive=true", map[string]any{p.Name: none}, named)
				}
			}
			x.arm()
			_, body, ok := x.send(s, op, path+"?recursive=true", mark, true, nil)
			x.db.undo = nil
			if ok {
				x.try(s, op, path+"?recursive=true", body, named)
			}
		}
	}
}

// searches adds searches of a list for what objects have, and filters by their keys.
func (x *denials) searches(s *rest.Service, op *rest.Operation) {
	for _, p := range op.Query {
		for _, o := range x.objects {
			one := strings.TrimSuffix(o.path[strings.LastIndexByte(o.path, '/')+1:], "s") + "_"
			key, keyed := strings.CutPrefix(p.Name, one)
			switch {
			case p.Name == "search":
				x.found(s, op, op.Path+"?recurse=true&search="+o.marks[len(o.marks)-1])
			case keyed && o.service == s.Name && o.body[key] != nil:
				x.found(s, op, op.Path+"?"+p.Name+"="+url.QueryEscape(fmt.Sprint(o.body[key])))
			}
			x.filter(s, op, p.Name, o)
		}
		if p.Name == "view" && p.Schema != nil {
			for _, view := range p.Schema.Enum {
				x.try(s, op, op.Path+"?view="+view, nil, nil)
			}
		}
		if p.Name == "recurse" {
			x.try(s, op, op.Path+"?recurse=true", nil, nil)
		}
	}
}

// filter adds a list by a filter whose values are keys of an object, if it has anything. One of an attribute that must name its object finds what
// shows that.
func (x *denials) filter(s *rest.Service, op *rest.Operation, name string, o *deniable) {
	one := strings.TrimSuffix(o.path[strings.LastIndexByte(o.path, '/')+1:], "s") + "_"
	key, known := strings.CutPrefix(name, one)
	if list := op.Reply.Property("items"); list != nil && list.Schema.Items != nil {
		if p := list.Schema.Items.Property(name); p != nil && p.Ref != "" {
			path, named, _ := strings.Cut(p.Ref, ".")
			key, known = named, "/"+path == o.path && p.Schema.Nullable
		}
	}
	if known && o.service == s.Name && o.body[key] != nil {
		x.filterBy(s, op, op.Path+"?"+name+"="+url.QueryEscape(fmt.Sprint(o.body[key])), o)
	}
}

func (x *denials) filterBy(s *rest.Service, op *rest.Operation, path string, o *deniable) {
	before := len(x.requests)
	if x.found(s, op, path); len(x.requests) > before {
		r := x.requests[before]
		r.by, x.filtered, x.requests = o, append(x.filtered, r), x.requests[:before]
	}
}

// found adds a list if it has anything.
func (x *denials) found(s *rest.Service, op *rest.Operation, path string) {
	if strings.Contains(path, "recurse") && !slices.ContainsFunc(op.Query, func(p rest.Parameter) bool { return p.Name == "recurse" }) {
		path = strings.Replace(path, "recurse=true&", "", 1)
	}
	x.try(s, op, path, nil, nil)
	if r := x.requests[len(x.requests)-1]; r.answer.Status != http.StatusOK || strings.Contains(r.answer.Body, `"items":[]`) {
		x.requests = x.requests[:len(x.requests)-1]
	}
}

// arm has what is sent next undone.
func (x *denials) arm() (changed func() map[string]bool) {
	var after map[string]string
	x.db.undo = func(_ context.Context, tx store.Conn) {
		if after == nil {
			after = x.state(tx)
		}
	}
	return func() map[string]bool {
		x.db.undo = nil
		out := map[string]bool{}
		if after == nil {
			return out
		}
		keyed := func(at string) (string, bool) {
			table, _, _ := strings.Cut(at, " ")
			return table, slices.Contains(x.columns[table], "id") || slices.Contains(x.columns[table], "uuid")
		}
		values := map[string]int{}
		for at, value := range after {
			table, key := keyed(at)
			values[table]++
			if was, there := x.before[at]; !there && !key || there && was != value { // a new number may be anybody's
				out[at] = true
			}
		}
		for at := range x.before {
			table, _ := keyed(at)
			values[table]--
		}
		for at := range x.before {
			if _, there := after[at]; !there {
				if table, _ := keyed(at); values[table] < 0 {
					at = "- " + at // it is gone, and nothing has taken its place
				}
				out[at] = true
			}
		}
		return out
	}
}

// try sends a request as somebody who is denied nothing, undoes it, and adds it.
func (x *denials) try(s *rest.Service, op *rest.Operation, path string, body any, named []*deniable) {
	r := &sending{service: s, op: op, path: path, body: body, named: named}
	asked, err := target.Parse(s.Prefix + path)
	if err != nil {
		x.t.Fatal(err)
	}
	m, _ := s.Match(op.Method, &asked)
	r.access = m.Access()
	r.answer, r.changed = x.do(x.admin, r)
	x.requests = append(x.requests, r)
}

func (x *denials) do(c *resttest.Client, r *sending) (resttest.Answer, map[string]bool) {
	if r.op.Method == http.MethodGet {
		return c.Get(r.service.Prefix + r.path), nil
	}
	changed := x.arm()
	a := c.Do(r.op.Method, r.service.Prefix+r.path, r.body)
	return a, changed()
}

// Denials.

// ofObject reports whether the operation is one on an object itself, and not on a part of it.
func (r *sending) ofObject() bool {
	return len(r.named) == 1 && strings.HasSuffix(r.op.Path, "}") && strings.Count(r.op.Path, "{") == 1
}

// denied returns callers who are denied an access: somebody by the name in its path, somebody as one of all, and a user, if it is about one,
// as `me`.
func (x *denials) denied(d *sending) []*resttest.Client {
	callers := []*resttest.Client{x.holding(x.administrator(), "#", "!"+d.access)}
	for _, o := range d.named {
		for _, key := range o.keys {
			if access := strings.Replace(d.access, "."+key+".", ".*.", 1); access != d.access && o.path != "/tenants" {
				callers = append(callers, x.holding(x.administrator(), "#", "!"+access))
			}
		}
		if access := strings.Replace(d.access, "."+o.keys[0]+".", ".me.", 1); o.service == "confd" && o.path == "/users" && access != d.access {
			callers = append(callers, x.holding(o.keys[0], "#", "!"+access))
		}
	}
	return callers
}

// denyReads denies each read of an object by itself, and of each part that has a text of its own.
func (x *denials) denyReads() {
	for _, d := range x.requests {
		if d.op.Method != http.MethodGet || len(d.named) == 0 || d.answer.Status != http.StatusOK || strings.Contains(d.path, "?") {
			continue
		}
		subject := d.named[0]
		marks := subject.marks
		if !d.ofObject() {
			if marks = x.partMarks(d); len(marks) == 0 {
				x.denyList(d) // its objects show through others too
				continue
			}
		}
		x.deniedReads++
		callers := x.denied(d)
		for _, r := range x.filtered {
			for _, c := range callers {
				if r.by != subject || !d.ofObject() {
					continue
				}
				x.filters++
				if a, _ := x.do(c, r); a.Status == http.StatusOK && !strings.Contains(a.Body, `"items":[]`) {
					x.t.Errorf("!%s: GET %s finds %.600s", d.access, r.path, a.Body)
				}
			}
		}
		for _, r := range x.requests {
			if !x.shows(r, r.answer, marks) {
				continue
			}
			if r.access != d.access && slices.Contains(r.named, subject) && (d.ofObject() && r.op != d.op || !d.ofObject() && below(r, d)) {
				continue // it names the object, and has an access of its own
			}
			if x.says(r, subject) {
				continue // the caller says it
			}
			x.answers++
			for _, c := range callers {
				a, _ := x.do(c, r)
				if x.shows(r, a, marks, d.access) || r.access == d.access && a.Status != http.StatusForbidden {
					x.t.Errorf("!%s: %s %s %v: %d %s", d.access, r.op.Method, r.path, r.body, a.Status, around(a.Body, marks))
				}
			}
		}
	}
}

// denyList denies the list of what an object is linked with, and tries what else shows that the two are linked.
func (x *denials) denyList(d *sending) {
	near := d.named[0]
	for _, far := range x.objects {
		if far == near || !strings.HasSuffix(d.op.Path, far.path) || !x.shows(d, d.answer, far.marks) || near.path == "/funckeys/templates" {
			continue // users show their templates, of which they have one at most, as an attribute of their own
		}
		x.deniedLists++
		callers := x.denied(d)
		for _, r := range x.requests {
			if r.op.Method != http.MethodGet || strings.HasPrefix(r.op.Path, "/audit") || !x.joins(r, r.answer, near, far) || r.access != d.access && below(r, d) {
				continue
			}
			x.answers++
			for _, c := range callers {
				if a, _ := x.do(c, r); x.joins(r, a, near, far) {
					x.t.Errorf("!%s: %s %s joins %s and %s: %s", d.access, r.op.Method, r.path, near.path, far.path, around(a.Body, slices.Concat(near.marks, far.marks)))
				}
			}
		}
	}
}

// joins reports whether an answer shows two objects together: in an item of a list, or by showing one of them as what the other has.
func (x *denials) joins(r *sending, a resttest.Answer, one, other *deniable) bool {
	if a.Status != http.StatusOK {
		return false
	}
	items := []string{a.Body}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal([]byte(a.Body), &list) == nil && list.Items != nil {
		items = nil
		for _, item := range list.Items {
			items = append(items, string(item))
		}
	}
	return slices.ContainsFunc(items, func(item string) bool {
		in := func(o *deniable) bool {
			return slices.ContainsFunc(o.marks, func(mark string) bool { return strings.Contains(item, mark) })
		}
		named := func(o *deniable) bool {
			return slices.Contains(r.named, o) || slices.ContainsFunc(o.marks, func(mark string) bool { return strings.Contains(r.path, mark) })
		}
		return in(one) && in(other) || in(one) && named(other) || named(one) && in(other)
	})
}

// around returns where a text has one of the marks.
func around(text string, marks []string) string {
	for _, mark := range marks {
		if at := strings.Index(text, mark); at >= 0 {
			return text[max(0, at-400):min(len(text), at+100)]
		}
	}
	return text[:min(len(text), 300)]
}

// below reports whether an operation reads a part of what another does, by a path of its own.
func below(r, of *sending) bool {
	return strings.HasPrefix(r.access, strings.TrimSuffix(of.access, "read")) || strings.HasPrefix(r.op.Path, of.op.Path+"/")
}

// says reports whether a request has a key, or the text, of an object.
func (x *denials) says(r *sending, o *deniable) bool {
	text, err := json.Marshal(r.body)
	if err != nil {
		x.t.Fatal(err)
	}
	said := r.path + " " + string(text)
	if strings.Contains(r.path, "search=") {
		return false
	}
	return r.op.Method == http.MethodGet && strings.Contains(r.path, "?") && slices.ContainsFunc(o.marks, func(mark string) bool { return strings.Contains(said, mark) }) ||
		r.op.Method != http.MethodGet && slices.ContainsFunc(o.marks, func(mark string) bool { return strings.Contains(said, mark) })
}

// partMarks returns the texts of a part alone.
func (x *denials) partMarks(d *sending) []string {
	mark := x.mark(d.service.Name + strings.TrimSuffix(d.op.Path, "/{forward_name}"))
	if strings.Contains(d.answer.Body, mark) {
		return []string{mark}
	}
	return nil
}

// shows reports whether an answer has one of these texts, elsewhere than in an attribute that must name its object. A refusal may name the
// access of its request, and what the caller is denied.
func (x *denials) shows(r *sending, a resttest.Answer, marks []string, known ...string) bool {
	has := func(text string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) })
	}
	if a.Status == http.StatusForbidden {
		for _, access := range append(known, r.access) {
			a.Body = strings.ReplaceAll(a.Body, access, "")
		}
	}
	if !has(a.Body) {
		return false
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(a.Body))
	decoder.UseNumber()
	if a.Status >= http.StatusBadRequest || r.op.Reply == nil || decoder.Decode(&value) != nil {
		return true
	}
	return x.showsIn(r.op.Reply, value, has)
}

// mustName returns the attributes that must name another object, of all that the services show.
func mustName(services []*rest.Service) map[string]bool {
	all, seen := map[string]bool{}, map[*rest.Schema]bool{}
	var look func(s *rest.Schema)
	look = func(s *rest.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for i := range s.Properties {
			p := &s.Properties[i]
			all[p.Name] = all[p.Name] || p.Ref != "" && !p.Schema.Nullable
			look(p.Schema)
		}
		if s.Union != nil {
			for i := range s.Union.Kinds {
				look(s.Union.Kinds[i].Schema)
			}
		}
		look(s.Items)
		look(s.Values)
	}
	for _, s := range services {
		for i := range s.Operations {
			look(s.Operations[i].Reply)
		}
	}
	return all
}

// showsIn is shows for a value that a schema describes. What cannot be without the name of another object keeps it.
func (x *denials) showsIn(s *rest.Schema, value any, has func(text string) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		if s != nil && s.Union != nil {
			for i := range s.Union.Kinds {
				if kind := &s.Union.Kinds[i]; kind.Value == v[s.Union.By] {
					return x.showsIn(kind.Schema, value, has)
				}
			}
		}
		for name, one := range v {
			var of *rest.Schema
			if (s == nil || s.Type == "") && x.mustName[name] {
				continue // the audit's pictures keep what the objects keep
			}
			if s != nil {
				of = s.Values
				if p := s.Property(name); p != nil {
					if of = p.Schema; p.Ref != "" && !of.Nullable {
						continue
					}
				}
			}
			if has(name) || x.showsIn(of, one, has) {
				return true
			}
		}
	case []any:
		var of *rest.Schema
		if s != nil {
			of = s.Items
		}
		return slices.ContainsFunc(v, func(one any) bool { return x.showsIn(of, one, has) })
	case nil:
	default:
		return has(fmt.Sprint(v))
	}
	return false
}

// denyWrites denies each change, and tries everything else that changes the same.
func (x *denials) denyWrites() {
	for _, d := range x.requests {
		if d.op.Method == http.MethodGet || len(d.named) == 0 || len(d.changed) == 0 || d.answer.Status >= http.StatusBadRequest || strings.Contains(d.path, "?") {
			continue
		}
		changes := x.ownChanges(d)
		if len(changes) == 0 {
			continue
		}
		x.deniedWrites++
		callers := x.denied(d)
		requests := x.requests
		if d.service.Name == "confd" && d.op.Transactional {
			requests = append(slices.Clip(requests), x.bulk(d))
		}
		for _, r := range requests {
			if r.access == d.access || !intersect(changes, r.changed) || x.takes(r, d) {
				continue
			}
			x.attempts++
			for _, c := range callers {
				a, changed := x.do(c, r)
				if intersect(changes, changed) {
					x.t.Errorf("!%s: %s %s %v: %d %.300s changes %v", d.access, r.op.Method, r.path, r.body, a.Status, a.Body, common(changes, changed))
				}
			}
		}
	}
}

// takes reports whether a request deletes an object with the part that another changes, or changes a part of that by a path of its own: its
// own access is enough.
func (x *denials) takes(r, d *sending) bool {
	if strings.HasPrefix(r.op.Path, d.op.Path+"/") || "/admin"+r.op.Path == d.op.Path { // which confirms addresses too
		return true
	}
	if r.op.Method == http.MethodDelete && r.ofObject() && slices.ContainsFunc(d.named, func(o *deniable) bool { return o.of == r.named[0] }) {
		return true
	}
	return r.op.Method == http.MethodDelete && r.ofObject() && len(d.named) == 1 && d.named[0] == r.named[0] && d.op.Method != http.MethodDelete
}

// ownChanges are the changes of the operation's object, of what belongs to none, and of the parts of objects.
func (x *denials) ownChanges(d *sending) map[string]bool {
	out := map[string]bool{}
	for what := range d.changed {
		at, gone := strings.CutPrefix(what, "- ")
		if d.op.Method == http.MethodDelete && !gone {
			continue
		}
		own := strings.HasPrefix(at, d.named[0].row)
		others := slices.ContainsFunc(x.objects, func(o *deniable) bool {
			return o != d.named[0] && strings.HasPrefix(at, strings.Split(o.row, " ")[0]+" ")
		})
		if own || !others && !d.ofObject() {
			out[what] = true
		}
	}
	return out
}

// bulk returns the request as one of several in one.
func (x *denials) bulk(d *sending) *sending {
	for i := range d.service.Operations {
		if op := &d.service.Operations[i]; op.Path == "/bulk" {
			return &sending{service: d.service, op: op, path: "/bulk", access: "confd.bulk.create", changed: d.changed, body: map[string]any{
				"operations": []any{map[string]any{"method": d.op.Method, "path": d.path, "body": d.body}},
			}}
		}
	}
	return d
}

func intersect(some, others map[string]bool) bool { return len(common(some, others)) > 0 }

func common(some, others map[string]bool) (both []string) {
	for at := range some {
		if others[at] {
			both = append(both, at)
		}
	}
	slices.Sort(both)
	return both[:min(len(both), 8)]
}

// The state of the database.

// unchanging are tables that tell of changes, and columns that tell when.
var unchanging = regexp.MustCompile(`^(\w*audit\w*|auth_limit|row_count|idempotency\w*|\w*idempotent\w*|goose\w*|\w*migration\w*|\w*_revision\w*|\w*throttle\w*|\w*apply\w*)$`)

// state returns all values in the database, by table, key and column.
func (x *denials) state(c store.Conn) map[string]string {
	if x.columns == nil {
		rows, err := store.Select[struct {
			Name   string `db:"name"`
			Column string `db:"col"`
		}](x.t.Context(), c, map[string]string{
			"sqlite": `SELECT m.name, c.name AS col FROM pragma_table_list m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`,
			"postgres": `SELECT c.table_name AS name, c.column_name AS col FROM information_schema.columns c JOIN information_schema.tables t
				ON t.table_schema = c.table_schema AND t.table_name = c.table_name WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`,
		}[x.db.Engine()])
		if err != nil {
			x.t.Fatal(err)
		}
		x.columns = map[string][]string{}
		for _, row := range rows {
			if !unchanging.MatchString(row.Name) {
				x.columns[row.Name] = append(x.columns[row.Name], row.Column)
			}
		}
	}
	var queries []string
	for _, table := range slices.Sorted(maps.Keys(x.columns)) { // the same text each time, which is prepared once
		columns := x.columns[table]
		values := make([]string, len(columns))
		for i, name := range columns {
			values[i] = `coalesce(CAST("` + name + `" AS text), '')`
		}
		queries = append(queries, `SELECT '`+table+`' AS name, `+strings.Join(values, " || '\x1f' || ")+` AS row FROM "`+table+`"`)
	}
	out := map[string]string{}
	for some := range slices.Chunk(queries, 60) {
		rows, err := store.Select[struct {
			Name string `db:"name"`
			Row  string `db:"row"`
		}](x.t.Context(), c, strings.Join(some, " UNION ALL "))
		if err != nil {
			x.t.Fatal(err)
		}
		for _, row := range rows {
			columns, values := x.columns[row.Name], strings.Split(row.Row, "\x1f")
			key := strings.ReplaceAll(row.Row, " ", "_")
			for _, name := range []string{"id", "uuid"} {
				if i := slices.Index(columns, name); i >= 0 {
					key = values[i]
				}
			}
			for i, name := range columns {
				if name != "updated_at" && name != "search_text" {
					out[row.Name+" "+key+" "+name] = values[i]
				}
			}
		}
	}
	return out
}
