package wazo_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/moving/wazo"
)

// A made-up company: testdata/company-a.dump is its database's dump by the platform's own backup, company-a.answers.jsonl.gz is what the platform
// answered about it, and company-a.logins.json its logins.
const sample = "testdata/company-a.dump"

// installation is what became of the sample.
type installation struct {
	db    store.DB
	auth  *authsvc.Service
	confd *rest.Service
	me    *principal.Principal
	job   *wazo.Job
}

// engines are the databases into which the sample is imported.
var engines = map[string]func(t *testing.T, data string) (address string){
	"sqlite": func(_ *testing.T, data string) string { return open.SQLiteScheme + filepath.Join(data, "ringfence.db") },
	"postgres": func(t *testing.T, _ string) string {
		return storetest.NewDatabase(t, storetest.Server(t), true)
	},
}

// imported imports the sample as the command does, and has services on it as a gateway does.
func imported(t *testing.T, database func(t *testing.T, data string) string) installation {
	t.Helper()
	needsRestore(t)
	job := &wazo.Job{File: sample, Program: "test"}
	t.Cleanup(func() {
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := job.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return restored(t, job, database)
}

// restored restores what a job has made, and has services on it.
func restored(t *testing.T, job *wazo.Job, database func(t *testing.T, data string) string) installation {
	t.Helper()
	f, err := backup.Open(t.Context(), filepath.Join(job.Folder(), "backup.zip"))
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	o := backup.Options{Data: data, Database: database(t, data), Program: "test"}
	_, err = f.Restore(t.Context(), o, false)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := open.Open(t.Context(), o.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	box := sealed.New(sealed.Options{File: filepath.Join(data, "sealing-key")})
	if err := errors.Join(db.(store.Migrator).Migrate(t.Context()), box.Prepare(t.Context(), db)); err != nil {
		t.Fatal(err)
	}
	in := installation{db: db, job: job}
	in.auth, err = authsvc.New(authsvc.Options{
		DB: db, Sealer: box, Contents: confdsvc.ContentsOf(db, nil), People: confdsvc.People,
		Settings: authsvc.Settings{Passwords: password.Settings{Params: password.Params{Memory: 64, Time: 1, Threads: 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.auth.Close)
	if _, err := in.auth.Bootstrap(t.Context(), authsvc.Admin{Username: "nobody", File: filepath.Join(data, "admin-credentials")}); err != nil {
		t.Fatal(err)
	}
	in.confd, err = confdsvc.New(confdsvc.Options{DB: db, Installation: in.auth.Installation, Logins: in.auth})
	if err == nil {
		in.me, err = local.Caller(t.Context(), db, "#")
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestSample(t *testing.T) {
	for name, database := range engines {
		t.Run(name, func(t *testing.T) {
			in := imported(t, database)
			t.Run("answers", in.sameAnswers)
			t.Run("logins", in.logins)
			t.Run("telephones", in.telephones)
		})
	}
}

// answer is what the platform answered to a request.
type answer struct {
	Kind, Path, Tenant string
	Status             int
	Body               any
}

func answers(t *testing.T) (all []answer) {
	t.Helper()
	file, err := os.Open("testdata/company-a.answers.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if err := lines.Err(); err != nil || len(all) < 1000 {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	return all
}

// get asks our service what the platform was asked.
func (in installation) get(t *testing.T, a answer) (status int, body any) {
	t.Helper()
	service := in.auth.REST()
	path, isAuth := strings.CutPrefix(a.Path, service.Prefix)
	if !isAuth {
		service, path = in.confd, strings.TrimPrefix(a.Path, in.confd.Prefix)
	}
	err := local.Call(t.Context(), service, in.me, a.Tenant, http.MethodGet, path, nil, &body)
	if refused, ok := errors.AsType[*local.RefusedError](err); ok {
		return refused.Status, nil
	}
	if err != nil {
		t.Fatalf("GET %s: %v", a.Path, err)
	}
	return http.StatusOK, body
}

// login asks for a token, and returns the status.
func (in installation) login(t *testing.T, user, password string, body map[string]any) int {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, in.auth.REST().Prefix+"/token", strings.NewReader(string(text)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	w := httptest.NewRecorder()
	in.auth.REST().ServeHTTP(w, r)
	return w.Code
}

// logins are those of the sample.
type logins struct {
	API []struct {
		UserUUID    string `json:"user_uuid"`
		Username    string
		Password    string
		Email       string
		Status      int
		EmailStatus int `json:"email_status"`
		Refresh     struct {
			ClientID string `json:"client_id"`
			Token    string
		}
	}
	SIP []struct{ Name, Username, Password, Context string }
}

func readLogins(t *testing.T) (all logins) {
	t.Helper()
	text, err := os.ReadFile("testdata/company-a.logins.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.API) < 30 || len(all.SIP) < 30 {
		t.Fatalf("%d logins and %d telephones, %v", len(all.API), len(all.SIP), err)
	}
	return all
}

// Everybody logs in as before, by name and by a confirmed address; the password is then kept as ours are. Who was logged in stays so.
func (in installation) logins(t *testing.T) {
	all := readLogins(t)
	if in.db.Engine() == "postgres" { // it is the same for each; to hash takes time
		all.API = all.API[:5]
	}
	refreshed := 0
	for i, l := range all.API {
		if i%3 > 0 && l.Email != "" && l.Refresh.Token == "" {
			continue // 33 of the 39 differ by name alone
		}
		if got := in.login(t, l.Username, l.Password, map[string]any{}); got != l.Status {
			t.Errorf("%s gets %d, and got %d", l.Username, got, l.Status)
		}
		if l.Email != "" {
			if got := in.login(t, l.Email, l.Password, map[string]any{}); got != l.EmailStatus {
				t.Errorf("%s gets %d, and got %d", l.Email, got, l.EmailStatus)
			}
		}
		if l.Status == http.StatusOK {
			hash, err := store.Get[string](t.Context(), in.db, `SELECT password_hash FROM auth_user WHERE uuid = $1`, l.UserUUID)
			if err != nil || !strings.HasPrefix(hash, "$argon2id$") {
				t.Errorf("the password of %s is not kept as ours are: %v", l.Username, err)
			}
		}
		if r := l.Refresh; r.Token != "" {
			refreshed++
			if got := in.login(t, "", "", map[string]any{"refresh_token": r.Token, "client_id": r.ClientID}); got != http.StatusOK {
				t.Errorf("the refresh token of %s gets %d", l.Username, got)
			}
			shown, err := store.Get[int](t.Context(), in.db, `SELECT count(*) FROM auth_refresh_token WHERE CAST(uuid AS text) = $1`, r.Token)
			if err != nil || shown > 0 {
				t.Errorf("the refresh token of %s is in its row: %v", l.Username, err)
			}
		}
	}
	if refreshed == 0 {
		t.Error("the sample has no refresh token")
	}
	if got := in.login(t, "root", "another", map[string]any{}); got != http.StatusUnauthorized {
		t.Errorf("a wrong password gets %d", got)
	}
}

// Each telephone registers with the name and the password that it has.
func (in installation) telephones(t *testing.T) {
	snapshot, err := confdsvc.NewSnapshots(in.db).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := asterisk.Generate(snapshot, asterisk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pjsip := string(files["pjsip.conf"])
	for _, l := range readLogins(t).SIP {
		for _, line := range []string{"[" + l.Name + "]", "username = " + l.Username, "password = " + l.Password, "context = " + l.Context} {
			if !strings.Contains(pjsip, line+"\n") {
				t.Errorf("telephone %s: there is no line %q", l.Name, line)
			}
		}
	}
}
