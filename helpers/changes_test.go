package helpers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Each change of files is in the audit, with who made it; a refused one is not.
func TestChangesAreAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.names.contexts = map[string][]string{w.tenants["a"]: {"ctx-a"}}
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		a := w.as("a", "sysconfd.#")
		a.Get("/delete_voicemail?name=1001").Want(200)
		a.Get("/delete_voicemail?name=1001").Want(404)
		a.Do("POST", "/move_voicemail?old_mailbox=1002&old_context=ctx-a&new_mailbox=7&new_context=ctx-a", nil).Want(200)
		w.plain.Do("DELETE", "/voicemails_context?context=ctx-a", nil).Want(200)
		type row struct {
			Tenant   string  `db:"tenant_uuid"`
			Actor    *string `db:"actor_uuid"`
			Service  string  `db:"service"`
			Action   string  `db:"action"`
			Resource string  `db:"resource"`
			Object   string  `db:"object"`
		}
		rows, err := store.Select[row](t.Context(), w.db, `SELECT CAST(tenant_uuid AS text) AS tenant_uuid, CAST(actor_uuid AS text) AS actor_uuid,
			service, action, resource, object FROM audit ORDER BY id`)
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i, want := range []row{
			{w.tenants["a"], nil, "sysconfd", "delete_voicemail", "voicemails", "1001@ctx-a"},
			{w.tenants["a"], nil, "sysconfd", "relocate_voicemail", "voicemails", "1002@ctx-a"},
			{w.tenants["master"], nil, "sysconfd", "delete_voicemails_context", "voicemails_context", "ctx-a"},
		} {
			if known := rows[i].Actor != nil; known != (i < 2) {
				t.Errorf("row %d: the actor is known: %t", i, known)
			}
			if rows[i].Actor = nil; rows[i] != want {
				t.Errorf("row %d is %+v, want %+v", i, rows[i], want)
			}
		}
	})
}

// Requests for commands and for the configuration are in the audit, with who made them, and so is what became of commands; a refused
// one is not.
func TestRequestsAreAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db, helpers.Options{Telephony: &system{db: db}})
		a, master := w.as("a", "#"), w.as("master", "#")
		for method, path := range map[string]string{"GET": "/commonconf_apply", "POST": "/exec_request_handlers"} {
			a.Do(method, path, nil).Want(403)
		}
		recorded := func(rows int) {
			for {
				if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit`); err != nil {
					t.Fatal(err)
				} else if n >= rows {
					return
				}
			}
		}
		master.Do("POST", "/exec_request_handlers", `{"ipbx":["core reload","!id"],"context":[{"password":"hunter2"}]}`).Want(200)
		recorded(2)
		w.exec(`{"chown_autoprov_config":["all"]}`)
		recorded(4)
		w.exec(`{"ipbx":["rm -rf /"]}`)
		master.Do("POST", "/commonconf_generate", nil).Want(200)
		master.Do("GET", "/commonconf_apply", nil).Want(200)
		w.plain.Do("POST", "/apply", nil).Want(200)
		w.service.Close()
		master.Do("POST", "/exec_request_handlers", `{"ipbx":["core reload"]}`).Want(503)
		rows, err := store.Select[string](t.Context(), db, `SELECT CASE WHEN actor_uuid IS NULL THEN 'nobody ' ELSE 'somebody ' END || action || ' ' || resource || ' ' || after
			FROM audit WHERE CAST(tenant_uuid AS text) = $1 ORDER BY id`, w.tenants["master"])
		if err != nil {
			t.Fatal(err)
		}
		const exec = ` exec_request_handlers exec_request_handlers `
		if got, want := strings.Join(rows, "\n"), strings.Join([]string{
			"somebody" + exec + `{"commands":["core reload","!id"],"state":"waiting"}`,
			"nobody" + exec + `{"commands":[{"command":"core reload","state":"skipped"},{"command":"!id","state":"refused"}],"state":"completed"}`,
			"nobody" + exec + `{"commands":["chown_autoprov_config"],"state":"waiting"}`,
			"nobody" + exec + `{"commands":[{"command":"chown_autoprov_config","state":"skipped"}],"state":"completed"}`,
			"nobody" + exec + `{"commands":["rm -rf /"],"state":"waiting"}`,
			"nobody" + exec + `{"commands":[{"command":"rm -rf /","state":"refused"}],"state":"completed"}`,
			`somebody commonconf_generate apply {"state":"waiting"}`,
			`somebody commonconf_apply apply {"state":"waiting"}`,
			`nobody apply apply {"state":"waiting"}`,
			"somebody" + exec + `{"commands":["core reload"],"state":"waiting"}`,
			"nobody" + exec + `{"state":"refused"}`,
		}, "\n"); got != want {
			t.Errorf("the audit:\n%s\nwant:\n%s", got, want)
		}
	})
}

// HEAD is as safe as it is anywhere.
func TestHeadChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.unchanged(func() {
			for _, c := range []*resttest.Client{w.plain, w.as("master", "#")} {
				for _, path := range []string{
					"/delete_voicemail?name=1001&context=ctx-a", "/commonconf_apply",
					"/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a",
				} {
					if a := c.Do(http.MethodHead, path, nil).Want(405); a.Header.Get("Allow") == "" {
						t.Errorf("%s: %v", path, a.Header)
					}
				}
			}
		})
	})
}
