package helpers_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

const aMOH = "moh-a-11111111-1111-4111-8111-111111111111"

// changes are all requests that change something.
var changes = [][2]string{
	{"GET", "/delete_voicemail?name=1001&context=ctx-a"},
	{"DELETE", "/delete_voicemail?name=1001&context=ctx-a"},
	{"GET", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a"},
	{"POST", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a"},
	{"DELETE", "/voicemails_context?context=ctx-a"},
	{"DELETE", "/moh?name=" + aMOH},
	{"GET", "/commonconf_apply"},
	{"POST", "/commonconf_apply"},
	{"POST", "/commonconf_generate"},
	{"POST", "/apply"},
	{"POST", "/apply/generations/7"},
	{"POST", "/exec_request_handlers"},
	{"POST", "/backups"},
	{"DELETE", "/backups/a"},
	{"GET", "/backups/a/file"}, // which nobody reads who may only read
}

// A token that may only read changes nothing, by GET either. Every operation is either among the changes above or reads.
func TestReadOnlyTokenChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.write(filepath.Join(w.moh, aMOH, "a.wav"))
		changing := map[string]bool{}
		w.unchanged(func() {
			for _, change := range changes {
				path, _, _ := strings.Cut(change[1], "?")
				changing[change[0]+" "+strings.NewReplacer("generations/7", "generations/{generation}", "backups/a", "backups/{backup}").Replace(path)] = true
				for _, access := range []string{"sysconfd.#.read", "sysconfd.*.read", "confd.#", "auth.#"} {
					w.as("master", access).Do(change[0], change[1], nil).Want(403)
				}
				w.as("master", "#", "!sysconfd.#").Do(change[0], change[1], nil).Want(403)
				resttest.At(t, w.gate.Client(), w.gate.URL+"/api/sysconfd").Do(change[0], change[1], nil).Want(401)
			}
		})
		for _, op := range w.service.REST().Operations {
			if reads := op.Public || strings.HasSuffix(op.Access, ".read"); reads == changing[op.Method+" "+op.Path] {
				t.Errorf("%s %s needs %s, and reads: %t", op.Method, op.Path, op.Access, reads)
			}
		}
	})
}

func TestAccessesOfChanges(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for method, want := range map[string]string{
			"GET /delete_voicemail": "sysconfd.voicemails.delete", "DELETE /delete_voicemail": "sysconfd.voicemails.delete",
			"GET /move_voicemail": "sysconfd.voicemails.update", "POST /move_voicemail": "sysconfd.voicemails.update",
			"GET /commonconf_apply": "sysconfd.commonconf.update", "POST /commonconf_apply": "sysconfd.commonconf.update",
		} {
			verb, path, _ := strings.Cut(method, " ")
			w.as("master", "sysconfd.nothing").Do(verb, path, nil).Want(403).Says("Unauthorized for " + want + ":")
			if status := w.as("master", want).Do(verb, path, nil).Status; status == http.StatusForbidden {
				t.Errorf("%s with %s is refused", method, want)
			}
		}
	})
}

// A tenant's folders are reached by its own users and by those of the master tenant. To all others they do not exist.
func TestTenantsAreApart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.names.contexts = map[string][]string{w.tenants["a"]: {"ctx-a"}, w.tenants["b"]: {"ctx-b"}}
		w.names.moh = map[string][]string{w.tenants["a"]: {aMOH}}
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-b", "2001")
		w.mailbox("ctx-gone", "1")
		w.write(filepath.Join(w.moh, aMOH, "a.wav"))
		b := w.as("b", "#")
		w.unchanged(func() {
			for _, call := range [][2]string{
				{"GET", "/delete_voicemail?name=1001&context=ctx-a"},
				{"GET", "/delete_voicemail?name=1001&context=nowhere"},
				{"GET", "/delete_voicemail?name=1&context=ctx-gone"},
				{"DELETE", "/voicemails_context?context=ctx-a"},
				{"DELETE", "/voicemails_context?context=nowhere"},
				{"DELETE", "/moh?name=" + aMOH},
				{"GET", "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-b"},
				{"GET", "/move_voicemail?old_mailbox=2001&old_context=ctx-b&new_mailbox=7&new_context=ctx-a"},
			} {
				if a := b.Do(call[0], call[1], nil).Want(404); a.Body != notFound {
					t.Errorf("%s: %s", call[1], a.Body)
				}
			}
			b.Get("/delete_voicemail?name=1001&context=ctx-a", resttest.In(w.tenants["a"])).Want(401)
			for _, call := range [][2]string{
				{"GET", "/commonconf_apply"},
				{"POST", "/commonconf_apply"},
				{"POST", "/commonconf_generate"},
				{"POST", "/apply"},
				{"GET", "/apply/preview"},
				{"GET", "/apply/11111111-1111-4111-8111-111111111111"},
				{"POST", "/exec_request_handlers"},
				{"GET", "/exec_request_handlers"},
				{"GET", "/exec_request_handlers/11111111-1111-4111-8111-111111111111"},
			} {
				b.Do(call[0], call[1], nil).Want(403).Says("Only the master tenant")
			}
		})
		w.as("a", "#").Do("DELETE", "/moh?name="+aMOH, nil).Want(200)
		w.as("master", "#").Get("/delete_voicemail?name=1&context=ctx-gone").Want(200)
		w.as("master", "#").Get("/delete_voicemail?name=2001&context=ctx-b", resttest.In(w.tenants["a"])).Want(404)
		b.Get("/delete_voicemail?name=2001").Want(200)
	})
}

// Files of what the caller is denied to know of in confd are neither changed, nor told to be there, in whichever tenant.
func TestFilesOfWhatIsDenied(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		w.names.contexts = map[string][]string{w.tenants["a"]: {"ctx-a"}}
		w.names.moh = map[string][]string{w.tenants["a"]: {aMOH}}
		w.names.denied = map[string][]string{"": {"1001", "ctx-a", aMOH}} // the context has a voicemail that is denied
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		w.write(filepath.Join(w.moh, aMOH, "a.wav"))
		w.unchanged(func() {
			for _, tenant := range []string{"a", "master"} {
				for _, path := range []string{
					"GET /delete_voicemail?name=1001", "GET /delete_voicemail?name=1001&context=ctx-a", "DELETE /delete_voicemail?mailbox=1001&context=ctx-a",
					"GET /move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a",
					"POST /move_voicemail?old_mailbox=1002&old_context=ctx-a&new_mailbox=1001&new_context=ctx-a",
					"DELETE /voicemails_context?context=ctx-a", "DELETE /moh?name=" + aMOH,
				} {
					method, path, _ := strings.Cut(path, " ")
					if tenant == "master" && !strings.Contains(path, "_context=") && !strings.Contains(path, "context=") && !strings.Contains(path, "moh") {
						continue // it has no context
					}
					w.as(tenant, "#", "!confd.voicemails.1.read").Do(method, path, nil).Want(404)
				}
			}
		})
		w.as("a", "#", "!confd.voicemails.1.read").Do("DELETE", "/delete_voicemail?name=1002&context=ctx-a", nil).Want(200)
		w.as("a", "#").Do("DELETE", "/delete_voicemail?name=1001", nil).Want(200)
	})
}

// Without a telephone system the endpoints say so.
func TestNoTelephony(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		for _, call := range [][2]string{
			{"GET", "/commonconf_apply"}, {"POST", "/commonconf_generate"}, {"POST", "/apply"}, {"GET", "/apply/preview"},
		} {
			w.plain.Do(call[0], call[1], nil).Want(501).Says("no telephone system")
		}
		w.plain.Get("/apply/11111111-1111-4111-8111-111111111111").Want(404)
	})
}

// Of another auth server's users those may do what concerns the whole installation who act in the tenant that the operator has named, with
// the access for it.
func TestMasterTenantOfAnotherServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db, helpers.Options{Telephony: &system{db: db}})
		theirs := uuid.NewString()
		as := func(master bool, access, in string) *resttest.Client {
			p := w.caller("master", access)
			p.Affiliation = &principal.Affiliation{TenantUUID: theirs, Purpose: "user", Remote: true, Master: master}
			return resttest.To(t, w.service.REST(), helpers.GatedPrefix, p).With(func(r *http.Request) {
				if in != "" { // as the gate does when that server lets the user act there
					*r = *r.WithContext(principal.WithTenant(r.Context(), in))
					r.Header.Set("Wazo-Tenant", in)
				}
			})
		}
		for _, path := range []string{"/commonconf_apply", "/exec_request_handlers", "/apply"} {
			as(true, "sysconfd.#", "").Do("POST", path, nil).Want(200)
			as(true, "sysconfd.#", uuid.NewString()).Do("POST", path, nil).Want(403)
			as(false, "sysconfd.#", "").Do("POST", path, nil).Want(403)
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE CAST(tenant_uuid AS text) = $1`, theirs); err != nil || n != 3 {
			t.Errorf("%d requests are in the audit, %v", n, err)
		}
	})
}
