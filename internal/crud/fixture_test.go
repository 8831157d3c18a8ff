package crud_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
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
	// readable is the collection's Readable: nil, unless a test sets it and mounts the service again.
	readable func(r *rest.Request, add func(any) string) string

	loads     []int    // how many things each Load got
	committed []string // what was heard of after the commit
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
		Readable: w.readable,
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
		Changed: func(ctx context.Context, _ store.Conn, change *crud.Change[Thing]) error {
			if change.New != nil && change.Carry != "received" {
				return fmt.Errorf("carried %v", change.Carry)
			}
			name := func(o *Thing) string {
				if o == nil {
					return "-"
				}
				return o.Name
			}
			transaction.AfterCommit(ctx, func() { w.committed = append(w.committed, name(change.Old)+" "+name(change.New)) })
			return nil
		},
	}
	engine := crud.New(crud.Base{
		Service: "test", Prefix: "/api/test", DB: rerun{w.db},
		Style: crud.Style{Filtered: true, CreateStatus: http.StatusOK, UpdateReply: true, SearchWords: true, Duplicate: apierr.Conflict},
	})
	crud.Collect(engine, w.things)
	crud.Link[Thing, Thing]{Table: "pair", LeftColumn: "one", RightColumn: "other", GivesRights: true}.On(engine)
	w.svc = &rest.Service{Name: "test", Prefix: "/api/test", Errors: rest.AuthErrors}
	w.svc.Operations = engine.Operations()
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
