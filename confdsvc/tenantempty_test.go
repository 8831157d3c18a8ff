package confdsvc_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// All that a tenant has goes with it, and nothing of others; a caller who is denied to delete a part of it does not delete it so.
func TestEmptyTenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) { emptyTenant(t, db, false) })
}

// The same goes in short transactions, before the one that deletes the tenant.
func TestShrunkTenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) { emptyTenant(t, db, true) })
}

func emptyTenant(t *testing.T, db store.DB, shrink bool) {
	t.Helper()
	w := newWorld(t, db)
	c := newCompany(w.as(t, "b"))
	user := c.Create("/users", c.user("1001"))
	c.Create("/users", object{"firstname": "Bo"})
	template := c.Create("/funckeys/templates", object{"name": "T", "keys": object{"1": object{"destination": object{"type": "user", "user_id": user["id"]}}}})
	c.Do(http.MethodPut, "/users/"+user.Text("id")+"/funckeys/templates/"+template.Text("id"), nil).Want(http.StatusNoContent)
	c.Do(http.MethodPut, "/users/"+user.Text("id")+"/funckeys/1", object{"destination": object{"type": "custom", "exten": "1"}}).Want(http.StatusNoContent)
	c.Do(http.MethodPut, "/groups/"+c.group+"/fallbacks", object{"noanswer_destination": object{"type": "user", "user_id": user["id"]}}).Want(http.StatusNoContent)
	c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "Local/1@x"}})
	c.Create("/phone-numbers", object{"number": "123"})
	makeSimple(c.Client)
	c.Create("/external/apps/desk", object{})
	as(c.Client, user.Text("uuid")).Create("/users/me/blocklist/numbers", object{"number": "+15551234"})
	music := c.Create("/moh", object{"label": "M", "mode": "files"})
	c.Do(http.MethodPut, "/users/"+user.Text("id"), object{"music_on_hold": music["name"]}).Want(http.StatusNoContent)
	c.Do(http.MethodPut, "/voicemails/transcription", object{"enabled": true}).Want(http.StatusNoContent)
	other := newCompany(w.as(t, "a"))
	kept := other.Create("/users", other.user("1001"))

	rows := func(table, tenant string) int {
		n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM "+table+" WHERE tenant_uuid = $1", w.tenants[tenant])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var tables []string
	for _, k := range confdsvc.Described().Collections {
		if k.Schema.Property("tenant_uuid") == nil {
			continue
		}
		tables = append(tables, k.Table)
		if rows(k.Table, "b") == 0 {
			t.Errorf("%s: the test makes none", k.Path)
		}
	}
	var told []confdsvc.FilesChange
	contents := confdsvc.ContentsOf(db, func(change confdsvc.FilesChange) { told = append(told, change) })
	svc := &rest.Service{Name: "auth", Version: "1", Prefix: "/api/test", Errors: rest.AuthErrors, Operations: []rest.Operation{{
		Method: http.MethodDelete, Path: "/tenant", Access: "auth.tenant.delete", ID: "delete_tenant", Summary: "Delete", Success: http.StatusNoContent, Statuses: []int{http.StatusForbidden},
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			if err := contents.MayEmpty(ctx, db, r, w.tenants["b"]); err != nil {
				return rest.Reply{}, err
			}
			if shrink {
				if err := contents.Shrink(ctx, r, w.tenants["b"]); err != nil {
					return rest.Reply{}, err
				}
				if left, err := contents.Count(ctx, db, w.tenants["b"]); err != nil || len(left) != 1 || left[0].Resource != "voicemails/transcription" { // which goes with the tenant
					t.Errorf("there is left %v: %v", left, err)
				}
			}
			return rest.Reply{}, crud.New(crud.Base{DB: db}).InTx(ctx, func(ctx context.Context, tx store.Conn) error {
				if err := contents.Empty(ctx, tx, r, w.tenants["b"]); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, `DELETE FROM auth_tenant WHERE uuid = $1`, w.tenants["b"])
				return err
			})
		},
	}}}
	if err := svc.Mount(); err != nil {
		t.Fatal(err)
	}
	remove := func(status int, accesses ...string) {
		set, err := acl.Compile(accesses)
		if err != nil {
			t.Fatal(err)
		}
		caller := &principal.Principal{UserUUID: uuid.NewString(), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: w.tenants["master"]}}
		resttest.To(t, svc, "/api/test", caller).Do(http.MethodDelete, "/tenant", nil).Want(status)
	}
	if remove(http.StatusForbidden, "auth.#", "!confd.voicemails.*.delete"); len(told) > 0 || rows("confd_user", "b") != 2 {
		t.Errorf("a caller who is denied to delete voicemails deletes %v", told)
	}
	counted, err := contents.Count(t.Context(), db, w.tenants["b"])
	if err != nil || len(counted) != len(tables)+1 { // and the settings of transcription
		t.Errorf("the tenant has %v of %q, %v", counted, tables, err)
	}
	remove(http.StatusNoContent, "auth.#", "!auth.users.read")
	// The audit has each object that was counted; some as a part of another.
	total := 0
	for _, kind := range counted {
		total += kind.Count
	}
	if shrink {
		total-- // a user's own keys are gone with the user
	}
	gone, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE tenant_uuid = $1 AND service = 'confd' AND action = 'delete_tenant'
			AND before IS NOT NULL AND after IS NULL`, w.tenants["b"])
	if err != nil || gone != total || gone == 0 {
		t.Errorf("the audit has %d of %d deleted objects, %v", gone, total, err)
	}
	for _, table := range tables {
		if n := rows(table, "b"); n != 0 {
			t.Errorf("%s has %d rows left", table, n)
		}
	}
	for _, want := range []confdsvc.FilesChange{{Context: c.in}, {MOH: music.Text("name")}} {
		if !slices.Contains(told, want) {
			t.Errorf("told of %v, not of %v", told, want)
		}
	}
	if got := other.Get("/users/" + kept.Text("id")).Want(http.StatusOK).Object(); at(got, "lines.0.extensions.0.exten") != "1001" || at(got, "voicemail.name") != "Al" {
		t.Errorf("another tenant's user became %v", got)
	}
	if all := w.as(t, "master").Get("/users?recurse=true").List(); all.Total != 1 {
		t.Errorf("%d users are counted", all.Total)
	}
}
