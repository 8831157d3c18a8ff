package helpers_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// kept is an installation whose backups are written when the test says so.
type kept struct {
	folder string
	write  chan error // what becomes of the next backup
}

// keeping makes the world's service keep backups.
func (w *world) keeping() kept {
	k := kept{filepath.Join(w.t.TempDir(), "backups"), make(chan error)}
	w.service.UseInstallation(helpers.Installation{
		Backups: backup.Folder(k.folder),
		Backup: func(ctx context.Context, to io.Writer, progress func(done, of int64)) error {
			progress(1, 2)
			if _, err := io.WriteString(to, "everything"); err != nil {
				return err
			}
			select {
			case err := <-k.write:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Examine: func(context.Context) (helpers.System, error) {
			return helpers.System{
				Version: "1.2.3", Findings: []doctor.Finding{{Subject: "clock", State: doctor.OK, Text: "right"}},
				Certificates: []helpers.Certificate{}, Places: []helpers.Place{},
			}, nil
		},
	})
	return k
}

// becomes waits until the backup that is made has a state.
func (w *world) becomes(master *resttest.Client, state string) resttest.Answer {
	w.t.Helper()
	for {
		if a := master.Get("/backups").Want(200); a.Text("making.state") == state {
			return a
		}
	}
}

// A backup is made in the background, one at a time, and is there when it is whole; it is read, deleted, and all of that is in the audit.
func TestBackups(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		master := w.as("master", "#")
		master.Get("/backups").Want(501).Says("keeps no backups")
		master.Get("/system").Want(501)
		k := w.keeping()
		for _, sql := range []string{
			`INSERT INTO node (host, data, version, started_at, seen_at, holder) VALUES ('pbx-1', '/data', '1.0', now_utc(), now_utc(), 'a')`,
			`INSERT INTO node (host, data, version, started_at, seen_at, holder) VALUES ('pbx-2', '/data', '1.0', now_utc(), now_utc(), '')`,
			`INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ('main', 'a', now_utc()), ('main manager', 'a', now_utc())`,
		} {
			if _, err := w.db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		a := master.Get("/system").Want(200)
		nodes, _ := a.JSON("nodes").([]any)
		if a.JSON("backup_at") != nil || !strings.Contains(a.Body, `"text":"right"`) || len(nodes) != 2 || nodes[0].(map[string]any)["asterisk"] != "main" ||
			nodes[1].(map[string]any)["host"] != "pbx-2" || nodes[1].(map[string]any)["asterisk"] != nil {
			t.Errorf("the system is %s", a.Body)
		}
		name := master.Do("POST", "/backups", nil).Want(200).Text("name")
		a = w.becomes(master, "running")
		for a.JSON("making.done") != 1.0 { // it tells how far it is a little later
			a = w.becomes(master, "running")
		}
		if a.JSON("total") != 0.0 || a.JSON("making.of") != 2.0 {
			t.Errorf("while it is made: %s", a.Body)
		}
		master.Do("POST", "/backups", nil).Want(409).Says("is being made")
		master.Get("/backups/" + name + "/file").Want(404)
		k.write <- errors.New("no space left on device")
		if a := w.becomes(master, "failed"); a.JSON("total") != 0.0 || a.Text("making.message") != "no space left on device" {
			t.Errorf("when it has failed: %s", a.Body)
		}
		if left, err := os.ReadDir(k.folder); err != nil || len(left) > 0 {
			t.Errorf("a backup that failed has left %v, %v", left, err)
		}
		name = master.Do("POST", "/backups", nil).Want(200).Text("name")
		k.write <- nil
		if a := w.becomes(master, "done"); !strings.Contains(a.Body, `"items":[{"name":"`+name+`","size":10,`) {
			t.Errorf("when it was made: %s", a.Body)
		}
		if a := master.Get("/system").Want(200); !strings.HasPrefix(a.Text("backup_at"), time.Now().UTC().Format("2006-")) {
			t.Errorf("the last backup was made at %s", a.Text("backup_at"))
		}
		if a := master.Do("HEAD", "/backups/"+name+"/file", nil).Want(200); a.Header.Get("Content-Length") != "10" {
			t.Errorf("HEAD: %v", a.Header)
		}
		if a := master.Get("/backups/" + name + "/file").Want(200); a.Body != "everything" || a.Header.Get("Content-Disposition") != "attachment; filename="+name+".zip" {
			t.Errorf("it is %q, %v", a.Body, a.Header)
		}
		master.Do("DELETE", "/backups/"+name, nil).Want(200)
		master.Do("DELETE", "/backups/"+name, nil).Want(404)
		master.Do("POST", "/backups", nil).Want(200)
		w.becomes(master, "running")
		w.service.Close() // the process ends
		if left, err := os.ReadDir(k.folder); err != nil || len(left) > 0 {
			t.Errorf("an interrupted backup has left %v, %v", left, err)
		}
		master.Do("POST", "/backups", nil).Want(503)
		rows, err := store.Select[string](t.Context(), w.db, `SELECT CASE WHEN actor_uuid IS NULL THEN 'nobody ' ELSE 'somebody ' END || action || coalesce(after, '')
			FROM audit WHERE service = 'sysconfd' AND resource = 'backups' AND CAST(tenant_uuid AS text) = $1 ORDER BY id`, w.tenants["master"])
		if got, want := strings.Join(rows, "\n"), strings.Join([]string{
			`somebody make_backup{"state":"running"}`, `nobody make_backup{"state":"failed"}`,
			`somebody make_backup{"state":"running"}`, `nobody make_backup{"state":"done"}`,
			"somebody download_backup", "somebody delete_backup",
			`somebody make_backup{"state":"running"}`, `nobody make_backup{"state":"failed"}`,
		}, "\n"); err != nil || got != want {
			t.Errorf("the audit, %v:\n%s\nwant:\n%s", err, got, want)
		}
	})
}

// A backup has all secrets: neither a right to read, nor one to all of the service, nor another tenant reads it, and no name leads elsewhere.
func TestBackupsAreForThoseWhoMayDoEverything(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db, helpers.Options{})
		k := w.keeping()
		w.write(filepath.Join(k.folder, "a.zip"))
		w.write(filepath.Join(filepath.Dir(k.folder), "secret.zip"))
		w.link("../secret.zip", filepath.Join(k.folder, "link.zip"))
		for _, accesses := range [][]string{
			{"#.read"},
			{"sysconfd.#.read"},
			{"*.*.*.read"},
			{"sysconfd.#"},
			{"sysconfd.backups.#"},
			{"sysconfd.backups.a.download"},
			{"#", "!sysconfd.backups.#"},
			{"#", "!confd.users.7.read"},
			{"auth.#", "confd.#", "sysconfd.#"},
		} {
			w.as("master", accesses...).Get("/backups/a/file").Want(403)
		}
		for _, path := range []string{"/system", "/backups", "/backups/a/file"} {
			w.as("a", "#").Get(path).Want(403).Says("Only the master tenant")
			w.as("master", "#").Get(path, resttest.In(w.tenants["a"])).Want(403)
			w.as("a", "#").Get(path, resttest.In(w.tenants["master"])).Want(401)
			w.plain.Get(path).Want(404)
		}
		w.as("a", "#").Do("POST", "/backups", nil).Want(403)
		w.as("a", "#").Do("DELETE", "/backups/a", nil).Want(403)
		w.plain.Do("POST", "/backups", nil).Want(404)
		w.plain.Do("DELETE", "/backups/a", nil).Want(404)
		master := w.as("master", "#")
		for _, name := range []string{"a.zip", "link", "%2e%2e%2fsecret", "..%2fsecret", "..", "%2e", "a%00", "a%2f", "%2fa", ".a", "A", "%F0%9F%98%80"} {
			for _, method := range []string{"GET", "DELETE"} {
				path := "/backups/" + name + map[string]string{"GET": "/file"}[method]
				if status := master.Do(method, path, nil).Status; status != 404 && status != 400 {
					t.Errorf("%s %s: %d", method, path, status)
				}
			}
		}
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit`); err != nil || n != 0 {
			t.Errorf("what was refused has %d entries, %v", n, err)
		}
		w.as("master", "#").Get("/backups/a/file").Want(200)
		for _, path := range []string{filepath.Join(k.folder, "a.zip"), filepath.Join(filepath.Dir(k.folder), "secret.zip")} {
			if _, err := os.Lstat(path); err != nil {
				t.Error(err)
			}
		}
	})
}
