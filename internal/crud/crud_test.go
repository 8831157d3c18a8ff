package crud_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Thing is an object of the tests' collection.
type Thing struct {
	UUID       string  `db:"uuid" json:"uuid" format:"uuid" doc:"Taken on create when it is sent."`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string  `db:"name" json:"name" required:"true"`
	Size       *int64  `db:"size" json:"size" minimum:"0"`
	Note       *string `db:"note" json:"note"`
	Code       *string `db:"code" json:"code" fixed:"true"`
	CodeKey    *string `db:"code_key" json:"-" fixed:"true" of:"code"`

	Parts []string `json:"parts" default:"[]"`
}

// world has the collection "things", each with parts in another table, and pairs of things, in the style of auth.
type world struct {
	t      *testing.T
	db     store.DB
	svc    *rest.Service
	tenant string
	things crud.Resource[Thing]
	acl    []string

	loads     []int    // how many things each Load got
	committed []string // what Committed was called with
}

// rerun is a database that undoes the first run of every transaction, like a serialization failure.
type rerun struct{ store.DB }

func (r rerun) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	undone := errors.New("undone")
	err := r.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		return err
	}
	return r.DB.InTx(ctx, fn)
}

// each runs a test in a new world on both databases. Every transaction there runs twice.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := &world{t: t, db: db, tenant: uuid.NewString(), acl: []string{"test.#"}}
		kind, collation := "text", ""
		if db.Engine() == "postgres" {
			kind, collation = "uuid", `COLLATE "und-x-icu"` // sorts by neither bytes nor case
		}
		for _, sql := range []string{
			`CREATE TABLE thing (uuid ` + kind + ` PRIMARY KEY, tenant_uuid ` + kind + ` NOT NULL REFERENCES auth_tenant (uuid),
				name text ` + collation + ` NOT NULL, size bigint, note text, code text, code_key text, CONSTRAINT thing_name UNIQUE (tenant_uuid, name))`,
			`CREATE UNIQUE INDEX thing_codes ON thing (code_key) WHERE size IS NULL`,
			`CREATE TABLE part (thing_uuid ` + kind + ` NOT NULL REFERENCES thing (uuid), name text NOT NULL UNIQUE)`,
			`CREATE TABLE pair (one ` + kind + ` NOT NULL, other ` + kind + ` NOT NULL UNIQUE, PRIMARY KEY (one, other))`,
			`INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ('` + w.tenant + `', '` + w.tenant + `', 'master')`,
		} {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		w.mount()
		test(t, w)
	})
}

func (w *world) mount() {
	w.things = crud.Resource[Thing]{
		Path: "things", Singular: "thing", Param: "thing_uuid", Table: "thing", Keys: []string{"uuid"},
		Order: []string{"name", "size", "uuid"}, Search: []string{"name", "size", "note"}, Filters: []string{"uuid", "name", "size"},
		Receive: func(_ context.Context, change *crud.Change[Thing]) error {
			change.Carry = "received"
			return nil
		},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Thing]) error {
			if change.New == change.Old {
				return errors.New("old and new are one")
			}
			if change.New.UUID == "" || change.Old != nil { // on an update this is a mistake, which has no effect
				change.New.UUID = uuid.NewString()
			}
			change.New.Name = strings.Replace(change.New.Name, "prepare ", "prepared ", 1)
			if code := change.New.Code; code != nil {
				key := strings.ToLower(*code)
				change.New.CodeKey = &key
			}
			return nil
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[Thing]) error {
			if change.New.Name == "refused" {
				return apierr.InvalidField("name", "test", "Is refused")
			}
			if strings.HasPrefix(change.New.Name, "prepare ") {
				return errors.New("validated before it was prepared")
			}
			change.New.Name = "changed by Validate" // a mistake, which has no effect
			return nil
		},
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[Thing]) error {
			if _, err := c.Exec(ctx, `DELETE FROM part WHERE thing_uuid = $1`, change.New.UUID); err != nil {
				return err
			}
			for _, name := range change.New.Parts {
				if name == "broken" {
					return errors.New("a secret cause")
				}
				if _, err := c.Exec(ctx, `INSERT INTO part (thing_uuid, name) VALUES ($1, $2)`, change.New.UUID, name); err != nil {
					return err
				}
			}
			return nil
		},
		Load: w.load,
		Changed: func(_ context.Context, _ store.Conn, change *crud.Change[Thing]) error {
			if change.New != nil && change.Carry != "received" {
				return fmt.Errorf("carried %v", change.Carry)
			}
			return nil
		},
		Committed: func(change *crud.Change[Thing]) {
			name := func(o *Thing) string {
				if o == nil {
					return "-"
				}
				return o.Name
			}
			w.committed = append(w.committed, name(change.Old)+" "+name(change.New))
		},
	}
	engine := &crud.Engine{
		Service: "test", Prefix: "/api/test", DB: rerun{w.db},
		Style: crud.Style{Filtered: true, CreateStatus: http.StatusOK, UpdateReply: true, SearchWords: true, Duplicate: apierr.Conflict},
	}
	crud.Collect(engine, w.things)
	crud.Link[Thing, Thing]{Table: "pair", LeftColumn: "one", RightColumn: "other", Strict: true}.On(engine)
	w.svc = &rest.Service{Name: "test", Prefix: "/api/test", Errors: rest.AuthErrors}
	for _, op := range engine.Operations() {
		if strings.HasPrefix(op.ID, "associate") || strings.HasPrefix(op.ID, "dissociate") {
			op.Path = "/things/{thing_uuid}/same" // a pair needs two parameters; the test has one, so a thing is paired with itself
			op.Access = "test.things.{thing_uuid}.same.update"
		}
		w.svc.Operations = append(w.svc.Operations, op)
	}
	if err := w.svc.Mount(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) load(ctx context.Context, c store.Conn, things []*Thing) error {
	w.loads = append(w.loads, len(things))
	type part struct {
		Thing string `db:"thing_uuid"`
		Name  string `db:"name"`
	}
	byUUID, uuids := map[string]*Thing{}, []any{}
	for _, o := range things {
		o.Parts = []string{}
		byUUID[o.UUID] = o
		uuids = append(uuids, o.UUID)
	}
	parts, err := store.Select[part](ctx, c, `SELECT thing_uuid, name FROM part WHERE thing_uuid IN (`+crud.Placeholders(1, len(uuids))+`) ORDER BY name`, uuids...)
	for _, p := range parts {
		byUUID[p.Thing].Parts = append(byUUID[p.Thing].Parts, p.Name)
	}
	return err
}

func (w *world) do(method, path, body string) resttest.Answer {
	w.t.Helper()
	set, err := acl.Compile(w.acl)
	if err != nil {
		w.t.Fatal(err)
	}
	var sent any
	if body != "" {
		sent = body
	}
	p := &principal.Principal{UserUUID: uuid.NewString(), Affiliation: &principal.Affiliation{TenantUUID: w.tenant}, ACL: set}
	return resttest.To(w.t, w.svc, "/api/test", p).Do(method, path, sent)
}

// want fails the test if the status differs, and decodes the body.
func (w *world) want(status int, method, path, body string) map[string]any {
	w.t.Helper()
	answer := w.do(method, path, body).Want(status)
	var out map[string]any
	if answer.Body != "" {
		if err := json.Unmarshal([]byte(answer.Body), &out); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

func names(list map[string]any) []string {
	out := []string{}
	for _, item := range list["items"].([]any) {
		out = append(out, item.(map[string]any)["name"].(string))
	}
	return out
}

func TestTransactionsThatRunAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"first","parts":["a","b"]}`)
		if !reflect.DeepEqual(made["parts"], []any{"a", "b"}) {
			t.Errorf("made with parts %v", made["parts"])
		}
		if prepared := w.want(200, "POST", "/things", `{"name":"prepare "}`); prepared["name"] != "prepared " {
			t.Errorf("prepared twice: %v", prepared["name"])
		}
		path := "/things/" + made["uuid"].(string)
		if got := w.want(200, "PUT", path, `{"name":"second","parts":["c"]}`); got["name"] != "second" || !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("updated to %v", got)
		}
		if got := w.want(200, "GET", path, ""); got["name"] != "second" || !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("read %v", got)
		}
		if got := w.want(200, "PUT", path, `{"size":3}`); !reflect.DeepEqual(got["parts"], []any{"c"}) {
			t.Errorf("parts that were not sent became %v", got["parts"])
		}
		w.want(200, "PUT", path, `{"parts":[]}`)
		w.want(204, "DELETE", path, "")
		if want := []string{"- first", "- prepared ", "first second", "second second", "second second", "second -"}; !slices.Equal(w.committed, want) {
			t.Errorf("committed %q, want %q", w.committed, want)
		}
	})
}

func TestPrepareAloneChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"prepare one"}`)
		path := "/things/" + made["uuid"].(string)
		w.want(200, "PUT", path, `{"name":"prepare two","parts":["a"]}`)
		if got := w.want(200, "GET", path, ""); made["name"] != "prepared one" || got["name"] != "prepared two" || len(got["parts"].([]any)) != 1 {
			t.Errorf("made %v, and then %v", made, got)
		}
	})
}

// A fixed column is set on create and never changes.
func TestFixedColumnsNeverChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := "/things/" + w.want(200, "POST", "/things", `{"name":"a","code":"c"}`)["uuid"].(string)
		if got := w.want(200, "PUT", path, `{"name":"b","code":"d"}`); got["name"] != "b" || got["code"] != "c" {
			t.Errorf("updated to %v", got)
		}
	})
}

func TestHookErrorsUndo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"first","parts":["a"]}`)
		path := "/things/" + made["uuid"].(string)
		w.committed = nil
		w.want(400, "POST", "/things", `{"name":"refused"}`)
		w.want(400, "PUT", path, `{"name":"refused"}`)
		for _, answer := range []resttest.Answer{
			w.do("POST", "/things", `{"name":"other","parts":["b","broken"]}`), w.do("PUT", path, `{"name":"other","parts":["b","broken"]}`),
		} {
			if answer.Status != 500 || strings.Contains(answer.Body, "secret") {
				t.Errorf("%d %s", answer.Status, answer.Body)
			}
		}
		if got := w.want(200, "GET", path, ""); !reflect.DeepEqual(got, made) {
			t.Errorf("it is %v, and was %v", got, made)
		}
		if l := w.want(200, "GET", "/things", ""); l["total"] != 1.0 {
			t.Errorf("total %v", l["total"])
		}
		if w.committed != nil {
			t.Errorf("committed %q", w.committed)
		}
	})
}

func TestCountsInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := range 9 {
			w.want(200, "POST", "/things", fmt.Sprintf(`{"name":"%c%d","size":%d}`, "xy"[n%2], n, n))
		}
		for _, test := range []struct {
			query                  string
			total, filtered, items float64
		}{
			{"", 9, 9, 9},
			{"?limit=4", 9, 9, 4},
			{"?limit=4&offset=8", 9, 9, 1},
			{"?offset=9", 9, 9, 0},
			{"?offset=4", 9, 9, 5},
			{"?limit=4&offset=20", 9, 9, 0},
			{"?search=x", 9, 5, 5},
			{"?search=x&limit=2", 9, 5, 2},
			{"?search=x&limit=5", 9, 5, 5},
			{"?search=x&limit=2&offset=4", 9, 5, 1},
			{"?search=x&limit=2&offset=5", 9, 5, 0},
			{"?search=x&offset=5", 9, 5, 0},
			{"?search=nothing", 9, 0, 0},
			{"?size=3", 9, 1, 1},
			{"?size=3&search=x&limit=1", 9, 0, 0},
		} {
			l := w.want(200, "GET", "/things"+test.query, "")
			if l["total"] != test.total || l["filtered"] != test.filtered || len(l["items"].([]any)) != int(test.items) {
				t.Errorf("%s: total %v, filtered %v, %d items", test.query, l["total"], l["filtered"], len(l["items"].([]any)))
			}
		}
	})
}

// Text is sorted by its folded bytes on both databases, whatever the column's locale.
func TestOrderIsTheSameOnBoth(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a c", "ab", "a-b", "B", "é", "f", "_", "10", "9", "A b"} {
			w.want(200, "POST", "/things", `{"name":"`+name+`"}`)
		}
		want := []string{"10", "9", "_", "A b", "a c", "a-b", "ab", "B", "é", "f"}
		if got := names(w.want(200, "GET", "/things", "")); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		found := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return !strings.ContainsAny(strings.ToLower(name), "b") })
		slices.Reverse(found)
		if got := names(w.want(200, "GET", "/things?search=b&direction=desc&limit=9", "")); !slices.Equal(got, found) {
			t.Errorf("%q", got)
		}
	})
}

func TestSearchInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.want(200, "POST", "/things", `{"name":"one two three","size":12345,"note":"100%"}`)
		w.want(200, "POST", "/things", `{"name":"three two one"}`)
		for query, want := range map[string]int{
			"one+three": 1, "three+one": 1, "two": 2, "tWÓ": 2, "234": 1, "100%25": 1, "%25": 1, "_": 0, "one%25three": 0, "+": 2,
		} {
			if got := names(w.want(200, "GET", "/things?search="+strings.ReplaceAll(query, "Ó", "%C3%93"), "")); len(got) != want {
				t.Errorf("search %s: %q", query, got)
			}
		}
	})
}

// A few matches of a search are looked up by their keys; with many, the search runs again. The pages are the same.
func TestSearchOfFewAndOfMany(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const few = 5000
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			for n := range few {
				if _, err := tx.Exec(ctx, `INSERT INTO thing (uuid, tenant_uuid, name) VALUES ($1, $2, $3)`, uuid.NewString(), w.tenant, fmt.Sprintf("Thing %04d", n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		check := func(query string, filtered float64, want ...string) {
			t.Helper()
			if l := w.want(200, "GET", "/things?"+query, ""); !slices.Equal(names(l), want) || l["filtered"] != filtered {
				t.Errorf("%s: %q of %v, want %q of %v", query, names(l), l["filtered"], want, filtered)
			}
		}
		for _, more := range []float64{0, 1} {
			check("search=thing&order=name&limit=2", few+more, "Thing 0000", "Thing 0001")
			check("search=thing&order=name&limit=9&offset=4998", few+more, []string{"Thing 4998", "Thing 4999", "Thing 5000"}[:2+int(more)]...)
			check("search=THING&order=name&direction=desc&limit=1&offset=4999", few+more, fmt.Sprintf("Thing 000%v", more))
			check("search=thing&limit=1&offset=5001", few+more)
			check("search=g+499&order=name&direction=desc&limit=2&offset=1", 15, "Thing 4998", "Thing 4997")
			check("search=g+499&name=Thing+4990&limit=2", 1, "Thing 4990")
			check("search=nothing&limit=2", 0)
			if more == 0 {
				w.want(200, "POST", "/things", `{"name":"Thing 5000"}`)
			}
		}
	})
}

func TestFilterByManyUUIDs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var uuids []string
		for n := range 3 {
			uuids = append(uuids, w.want(200, "POST", "/things", fmt.Sprintf(`{"name":"%d"}`, n))["uuid"].(string))
		}
		for query, want := range map[string]int{
			uuids[0]: 1, uuids[0] + "," + uuids[2]: 2, uuids[0] + ",nonsense,," + uuids[0]: 1, "nonsense,": 0, "": 0, "1' OR '1'='1": 0,
		} {
			r := strings.NewReplacer(" ", "%20", "'", "%27").Replace(query)
			if l := w.want(200, "GET", "/things?uuid="+r, ""); len(names(l)) != want {
				t.Errorf("uuid=%s: %q", query, names(l))
			}
		}
	})
}

// A list without a limit is loaded in parts: a statement takes a limited number of arguments.
func TestLongLists(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const many = 2500
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			for n := range many {
				if _, err := tx.Exec(ctx, `INSERT INTO thing (uuid, tenant_uuid, name) VALUES ($1, $2, $3)`, uuid.NewString(), w.tenant, fmt.Sprint(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.loads = nil
		if l := w.want(200, "GET", "/things", ""); len(names(l)) != many || l["total"] != float64(many) {
			t.Errorf("%d items, total %v", len(names(l)), l["total"])
		}
		if !slices.Equal(w.loads, []int{1000, 1000, 500}) {
			t.Errorf("loads of %v", w.loads)
		}
		if l := w.want(200, "GET", "/things?limit=5000", ""); len(names(l)) != rest.MaxLimit || l["total"] != float64(many) {
			t.Errorf("%d items, total %v", len(names(l)), l["total"])
		}
	})
}

func TestDuplicateInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.want(200, "POST", "/things", `{"name":"it's"}`)
		got := w.want(409, "POST", "/things", `{"name":"it's"}`)
		details, _ := got["details"].(map[string]any)
		if got["message"] != "Thing already exists ('name': 'it's')" || details["name"] == nil || got["resource"] != "things" {
			t.Errorf("%v", got)
		}
		if strings.Contains(fmt.Sprint(got), "thing_name") || strings.Contains(fmt.Sprint(got), "tenant_uuid") {
			t.Errorf("the refusal names the database's own: %v", got)
		}
	})
}

// A refusal names the columns of the constraint that the client sent, and none of another table.
func TestDuplicatesAreNamedByTheirColumns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"a","code":"X","parts":["p"]}`)
		for body, want := range map[string]string{
			`{"name":"b","code":"x"}`:                             "size code: Thing already exists ('code': 'x')",
			`{"name":"b","uuid":"` + made["uuid"].(string) + `"}`: "uuid: Thing already exists ('uuid': '" + made["uuid"].(string) + "')",
			`{"name":"b","parts":["p"]}`:                          ": Thing already exists",
		} {
			got := w.want(409, "POST", "/things", body)
			var named []string
			for _, name := range []string{"uuid", "tenant_uuid", "name", "size", "note", "code", "parts"} {
				if got["details"].(map[string]any)[name] != nil {
					named = append(named, name)
				}
			}
			if said := strings.Join(named, " ") + ": " + got["message"].(string); said != want {
				t.Errorf("%s: %s", body, said)
			}
		}
	})
}

// A key that a client may choose is set on create and never changes.
func TestKeysNeverChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		chosen := uuid.NewString()
		if got := w.want(200, "POST", "/things", `{"name":"a","uuid":"`+chosen+`"}`); got["uuid"] != chosen {
			t.Errorf("made with %v", got["uuid"])
		}
		if got := w.want(200, "PUT", "/things/"+chosen, `{"uuid":"`+uuid.NewString()+`","size":1}`); got["uuid"] != chosen || got["size"] != 1.0 {
			t.Errorf("updated to %v", got)
		}
		w.want(409, "POST", "/things", `{"name":"b","uuid":"`+chosen+`"}`)
	})
}

func TestDeleteOfWhatIsReferredTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made := w.want(200, "POST", "/things", `{"name":"a","parts":["p"]}`)
		if got := w.want(409, "DELETE", "/things/"+made["uuid"].(string), ""); !strings.Contains(got["message"].(string), "is associated with") {
			t.Errorf("%v", got)
		}
	})
}

func TestAssociationsOfOnePair(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		path := "/things/" + w.want(200, "POST", "/things", `{"name":"a"}`)["uuid"].(string) + "/same"
		count := func() int {
			t.Helper()
			n, err := store.Get[int](t.Context(), w.db, `SELECT count(*) FROM pair`)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 2 {
			w.want(204, "PUT", path, "")
			if count() != 1 {
				t.Errorf("%d pairs", count())
			}
		}
		for range 2 {
			w.want(204, "DELETE", path, "")
			if count() != 0 {
				t.Errorf("%d pairs", count())
			}
		}
		w.want(404, "PUT", "/things/"+uuid.NewString()+"/same", "")
	})
}

func TestAMistakeInADeclarationIsSeenAtOnce(t *testing.T) {
	for name, resource := range map[string]crud.Resource[Thing]{
		"order":  {Order: []string{"title"}},
		"search": {Search: []string{"parts"}},
		"filter": {Filters: []string{"Name"}},
		"key":    {Keys: []string{"id"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a column that is not there was taken")
				}
			}()
			crud.Collect(&crud.Engine{Service: "test"}, resource)
		})
	}
}

func TestPlaceholders(t *testing.T) {
	for _, test := range []struct {
		from, n int
		want    string
	}{{1, 0, "NULL"}, {1, 1, "$1"}, {3, 2, "$3, $4"}} {
		if got := crud.Placeholders(test.from, test.n); got != test.want {
			t.Errorf("Placeholders(%d, %d) = %q", test.from, test.n, got)
		}
	}
}
