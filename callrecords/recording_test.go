package callrecords_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// record puts a file into a tenant's folder, and returns its name.
func (w *world) record(tenant, name string, age time.Duration) string {
	w.tb.Helper()
	path := filepath.Join(w.folder, w.tenants[tenant], name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("RIFF "+name), 0o600); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
		w.tb.Fatal(err)
	}
	return name
}

func (w *world) recorded(name string) func(r *cdr.Record) {
	return func(r *cdr.Record) { r.Recording = name }
}

// A recording is heard by who may, each time with an entry in the audit, is deleted once, and is nobody else's by any path or name.
func TestRecordings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		name := w.record("a", "call-20261128-101500-1700000000.1.wav", 0)
		w.record("a", "secret.wav", 0)
		w.record("c", "call-20261128-101500-1700000000.2.wav", 0)
		hostile := []string{"../" + w.tenants["c"] + "/call-20261128-101500-1700000000.2.wav", "secret.wav", "call-20261128-101500-x/../../x.wav", ""}
		w.keep(w.call("a", "ada", "bob", w.recorded(name)), w.call("a", "bob", "ada", w.recorded(name))) // a file belongs to one call
		for _, one := range hostile {
			w.keep(w.call("a", "ada", "bob", w.recorded(one)))
		}
		w.keep(w.call("a", "ada", "bob", w.recorded("call-20261128-101500-1700000000.9.wav"), func(r *cdr.Record) { r.Answer = time.Time{} }))
		calls := w.as("", "a", "call-logd.cdr.read").Get("/cdr?order=start&direction=asc").List().Items
		var one resttest.Object
		for i, call := range calls {
			recordings := call["recordings"].([]any)
			if (len(recordings) > 0) != (i == 0) {
				t.Fatalf("call %d has %v", i, recordings)
			}
			if i == 0 {
				one = recordings[0].(map[string]any)
			}
		}
		if one["filename"] != name || one["deleted"] != false {
			t.Errorf("it is %v", one)
		}
		id, uuid := fmt.Sprint(calls[0]["id"]), one.Text("uuid")
		path := "/cdr/" + id + "/recordings/" + uuid + "/media"
		const hear = "call-logd.cdr.*.recordings.*.media.read"
		heard := func() int {
			n, err := store.Get[int](t.Context(), w.db, `SELECT count(*) FROM audit WHERE resource = 'cdr/recordings' AND object = $1 AND action LIKE 'read_%'`, id+"/"+uuid)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for _, refused := range []struct {
			c      *resttest.Client
			path   string
			status int
		}{
			{w.as("", "c", "#"), path, http.StatusNotFound},
			{w.as("", "b", "#"), path, http.StatusNotFound},
			{w.as("", "a", "call-logd.cdr.read"), path, http.StatusForbidden},
			{w.as("", "a", hear, "!call-logd.cdr."+id+".read"), path, http.StatusNotFound},
			{w.as("", "a", hear, "!call-logd.users."+w.users["bob"].UUID+".cdr.read"), path, http.StatusNotFound},
			{w.as("", "a", hear, "!call-logd.cdr."+id+".recordings.#"), path, http.StatusForbidden},
			{w.as("", "a", hear), "/cdr/0" + id + "/recordings/" + uuid + "/media", http.StatusNotFound},
			{w.as("", "a", hear, "!call-logd.cdr.*.recordings."+uuid+".#"), "/cdr/" + id + "/recordings/" + strings.ToUpper(uuid) + "/media", http.StatusForbidden},
			{w.as("", "a", hear), "/cdr/" + fmt.Sprint(calls[1]["id"]) + "/recordings/" + uuid + "/media", http.StatusNotFound},
			{w.as("", "a", hear), "/cdr/" + id + "/recordings/" + name + "/media", http.StatusNotFound},
			{w.as("cem", "c", "#"), "/users/me" + path, http.StatusNotFound},
			{w.as("", "a", "#"), "/users/me" + path, http.StatusNotFound}, // who had no part in it
			{w.as("bob", "a", "#", "!call-logd.cdr."+id+".recordings.#"), "/users/me" + path, http.StatusNotFound},
			{w.as("bob", "a", "#", "!call-logd.users.me.cdr."+id+".recordings.#"), path, http.StatusNotFound},
			{w.as("", "a", "#", "!call-logd.users."+w.users["ada"].UUID+".cdr.*.recordings.#"), path, http.StatusNotFound},
		} {
			refused.c.Get(refused.path).Want(refused.status)
		}
		if n := heard(); n != 0 {
			t.Errorf("what was refused is heard %d times", n)
		}
		for i, c := range []*resttest.Client{w.as("", "a", hear), w.as("", "master", hear), w.as("bob", "a", "call-logd.users.me.cdr.*.recordings.*.media.read")} {
			at := path
			if i == 2 {
				at = "/users/me" + path
			}
			got := c.With(resttest.Header("Accept", "audio/wav")).Get(at).Want(http.StatusOK)
			if got.Body != "RIFF "+name || got.Header.Get("Content-Type") != "audio/wav" || !strings.Contains(got.Header.Get("Content-Disposition"), name) {
				t.Errorf("%d: %q %v", i, got.Body, got.Header)
			}
			if n := heard(); n != i+1 {
				t.Errorf("the audit tells of %d times, want %d", n, i+1)
			}
		}

		w.as("", "a", hear).Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		drop := w.as("", "a", "call-logd.cdr.*.recordings.*.media.delete")
		drop.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		drop.Do(http.MethodDelete, path, nil).Want(http.StatusNotFound)
		w.as("", "a", hear).Get(path).Want(http.StatusNotFound)
		w.keep(w.call("a", "ada", "bob", w.recorded(name)))
		if got := w.as("", "a", "call-logd.cdr.*.read").Get("/cdr/" + id).Object()["recordings"].([]any); len(got) != 1 || got[0].(map[string]any)["deleted"] != true {
			t.Errorf("what was deleted is shown as %v", got)
		}
	})
}

// Files go that are deleted, whose calls are kept no more, or of which no call has told for a day; others stay.
func TestSweptRecordings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		file := func(n int) string { return fmt.Sprintf("call-20261128-101500-1700000000.%d.wav", n) }
		const day = 25 * time.Hour
		known, deleted, old := w.record("a", file(1), day), w.record("a", file(2), 0), w.record("a", file(3), day)
		lost, fresh, other := w.record("a", file(4), day), w.record("a", file(5), 0), w.record("a", "20261128-conference-1.wav", day)
		w.keep(w.call("a", "ada", "bob", w.recorded(known)), w.call("a", "ada", "bob", w.recorded(deleted)))
		w.keep(w.call("a", "ada", "bob", w.recorded(old), func(r *cdr.Record) {
			r.Start = r.Start.AddDate(0, 0, -10)
			r.Answer, r.End = r.Start, r.Start
		}))
		if _, err := w.db.Exec(t.Context(), `UPDATE call_recording SET deleted = true WHERE filename = $1`, deleted); err != nil { // and then the process died
			t.Fatal(err)
		}
		w.as("", "a", "#").Do(http.MethodPut, "/retention", resttest.Object{"cdr_days": 5}).Want(http.StatusNoContent)
		if err := w.service.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.service.SweepFiles(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, stays := range map[string]bool{known: true, deleted: false, old: false, lost: false, fresh: true, other: true} {
			if _, err := os.Stat(filepath.Join(w.folder, w.tenants["a"], name)); (err == nil) != stays {
				t.Errorf("%s: %v, it stays: %v", name, err, stays)
			}
		}
	})
}
