package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/made"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/selfsigned"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// healthy returns an installation without a problem, on each database.
func healthy(t *testing.T, engine string) (Installation, store.DB) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	i := Installation{Data: data, Database: "sqlite://" + filepath.Join(data, "ringfence.db"), PublicURL: "https://pbx.example.com:8443", Config: &Config{Admin: "off"}}
	certificate, err := selfsigned.Open(filepath.Join(data, "tls"), selfsigned.Options{Names: []string{"pbx.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	certificate.Close()
	if engine == "postgres" {
		i.Database = storetest.PostgresDSN(t)
	}
	db, err := open.Open(t.Context(), i.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.(store.Migrator).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sealed.New(sealed.Options{File: filepath.Join(data, "sealing-key")}).Prepare(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return i, db
}

// find fails the test unless a finding of this subject and state has the text, and advice unless it is OK.
func find(t *testing.T, findings []Finding, subject string, state State, text string) {
	t.Helper()
	if !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Subject == subject && f.State == state && strings.Contains(f.Text, text) && (f.Advice != "") == (state != OK)
	}) {
		t.Errorf("nothing says that %q is %q with %q:\n%+v", subject, state, text, findings)
	}
}

func TestHealthy(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			i, _ := healthy(t, engine)
			findings := Examine(t.Context(), i)
			for _, f := range findings {
				if f.State == Problem || f.State == Warning && f.Subject != "disk space" || f.Advice != "" && f.State == OK {
					t.Errorf("%+v", f)
				}
			}
			for _, subject := range []string{"data folder", "database", "schema", "clock", "sealing key", "certificate", "admin API", "Asterisk"} {
				find(t, findings, subject, OK, "")
			}
		})
	}
}

// What is stored and is not in Asterisk's files is named, unless the schema is not this program's.
func TestLeftOut(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			i, _ := healthy(t, engine)
			var left []leftout.Omission
			var failure error
			i.Telephony = func(ctx context.Context, db store.DB) ([]leftout.Omission, *conf.Dialplan, error) {
				if _, err := store.Get[int](ctx, db, "SELECT count(*) FROM confd_line"); err != nil {
					t.Error(err)
				}
				return left, nil, failure
			}
			find(t, i.database(t.Context()), "telephony", OK, "have all that is stored")
			left = []leftout.Omission{{Kind: "line", Key: "12", Name: "ada", Reason: "its endpoint has no login"}, {Kind: "line", Key: "13", Reason: "its user is disabled"}}
			find(t, i.database(t.Context()), "telephony", Warning, "line 12 (ada): its endpoint has no login\n  line 13: its user is disabled")
			failure = errors.New("permission denied")
			find(t, i.database(t.Context()), "telephony", Warning, "permission denied")
		})
	}
}

// asNobody does something with the rights that nobody has to files.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give rights up")
	}
	done := make(chan struct{})
	go func() { // the thread is not used again
		defer close(done)
		runtime.LockOSThread()
		if err := errors.Join(unix.Setfsgid(65534), unix.Setfsuid(65534)); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

// Whether the gateway can change the files of Asterisk is tried, down to the mailboxes, and leaves nothing behind.
func TestAsterisksFolders(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "spool") //nolint:usetesting // nobody may enter that
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	box := filepath.Join(folder, "ctx", "101")
	if err := errors.Join(os.MkdirAll(filepath.Join(box, "INBOX"), 0o755), os.Chmod(folder, 0o777), os.Chmod(filepath.Dir(box), 0o777), os.Chmod(box, 0o777)); err != nil {
		t.Fatal(err)
	}
	i := Installation{Folders: []string{folder, filepath.Join(folder, "missing")}}
	asNobody(t, func() { find(t, i.asterisks(), "Asterisk's folders", OK, folder) })
	for _, at := range []string{box, filepath.Dir(box), folder} {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
		asNobody(t, func() { find(t, i.asterisks(), "Asterisk's folders", Problem, at) })
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestFiles(t *testing.T) {
	i, _ := healthy(t, "sqlite")
	key := filepath.Join(i.Data, "sealing-key")
	if err := os.Chmod(key, 0o640); err != nil {
		t.Fatal(err)
	}
	find(t, i.folder(), "data folder", Problem, key)
	if said := i.database(t.Context()); slices.ContainsFunc(said, func(f Finding) bool { return f.State == Problem }) {
		t.Errorf("it is said twice: %+v", said)
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(i.Data, "access.log")
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	find(t, i.folder(), "data folder", OK, "") // the folder is closed
	if err := os.Chmod(i.Data, 0o755); err != nil {
		t.Fatal(err)
	}
	find(t, i.folder(), "data folder", Problem, log)
	if err := os.Mkdir(filepath.Join(i.Data, backup.Unfinished), 0o700); err != nil {
		t.Fatal(err)
	}
	find(t, i.folder(), "data folder", Problem, "a restore has not ended")
	i.Data = "/nowhere"
	find(t, i.folder(), "data folder", Warning, "is missing")
	for free, state := range map[uint64]State{0: Problem, noSpace: Warning, littleSpace: OK} {
		if f := spaceFinding("", "", free); f.State != state {
			t.Errorf("%d bytes: %+v", free, f)
		}
	}
}

func TestDatabase(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			i, db := healthy(t, engine)
			if err := os.Rename(filepath.Join(i.Data, "sealing-key"), filepath.Join(i.Data, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			find(t, i.database(t.Context()), "sealing key", Problem, "missing")
			i.SealingKeys = "hush"
			findings := i.database(t.Context())
			find(t, findings, "sealing key", Problem, "")
			for _, f := range findings {
				if strings.Contains(f.Text, "hush") {
					t.Errorf("a secret is shown: %+v", f)
				}
			}
			for version, want := range map[string]State{"99999": Problem} {
				if _, err := db.Exec(t.Context(), "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES ("+version+", true)"); err != nil {
					t.Fatal(err)
				}
				find(t, i.database(t.Context()), "schema", want, "version "+version)
			}
			if _, err := db.Exec(t.Context(), "DELETE FROM "+migrations.Table+" WHERE version_id > 32"); err != nil {
				t.Fatal(err)
			}
			find(t, i.database(t.Context()), "schema", Warning, "version 32")
		})
	}
	find(t, Installation{Database: "sqlite:///nowhere/x.db"}.database(t.Context()), "database", Warning, "missing")
	unreachable := Installation{Database: "postgres://x:hush@127.0.0.1:1/x"}.database(t.Context())
	find(t, unreachable, "database", Problem, "connecting")
	if text := unreachable[0].Text; strings.Contains(text, "hush") || strings.Contains(text, "\n") || strings.Count(text, "refused") != 1 {
		t.Errorf("a secret is shown, or the same twice: %+v", unreachable)
	}
}

// What the gateway would refuse to start with is a problem, and the advice is for a file.
func TestLostFile(t *testing.T) {
	i, db := healthy(t, "sqlite")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(i.Database, "sqlite://")
	advice := func(state State, text, advice string) {
		t.Helper()
		findings := i.database(t.Context())
		if find(t, findings, "database", state, text); !strings.Contains(findings[0].Advice, advice) {
			t.Errorf("the advice is %q", findings[0].Advice)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, strings.Repeat("no database ", 1000))
	advice(Problem, "damaged", "restore a backup")
	write(file, "")
	find(t, i.database(t.Context()), "schema", Warning, "no gateway has ever used")
	names := filepath.Join(i.Data, "databases")
	write(names, "other.db\n")
	known, err := made.Of(i.Data, i.Database)
	if err == nil {
		err = known.Remember(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	write(file, "")
	advice(Problem, "is empty, and the data folder says that it was made", "ringfence restore")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	advice(Problem, "is missing, and the data folder says that it was made", "ringfence restore")
	write(names, "other.db\n")
	advice(Warning, "missing", "the first start")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	advice(Problem, "unable to open", "let the gateway's user read")
}

func TestClock(t *testing.T) {
	now := time.Now()
	for skew, state := range map[time.Duration]State{0: OK, time.Second: OK, -time.Second: OK, 3 * time.Second: Warning, -3 * time.Second: Warning, time.Hour: Problem, -time.Hour: Problem} {
		if f := clockFinding(now.Add(skew), now, now); f.State != state {
			t.Errorf("%v: %+v", skew, f)
		}
	}
}

func TestCertificates(t *testing.T) {
	at := func(now time.Time, name string) string {
		folder := t.TempDir()
		s, err := selfsigned.Open(folder, selfsigned.Options{Names: []string{name}, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return filepath.Join(folder, "certificate.pem")
	}
	life := 397 * 24 * time.Hour
	for _, tt := range []struct {
		file, url string
		state     State
		text      string
	}{
		{at(time.Now(), "pbx.example.com"), "https://pbx.example.com", OK, "valid until"},
		{at(time.Now(), "pbx.example.com"), "https://other.example.com", Problem, "not for other.example.com"},
		{at(time.Now().Add(-life-time.Hour), "x"), "", Problem, "expired"},
		{at(time.Now().Add(-life+24*time.Hour), "x"), "", Warning, "expires"},
		{at(time.Now().Add(48*time.Hour), "x"), "", Problem, "valid only from"},
		{"/nowhere.pem", "", Problem, "no such file"},
		{os.Args[0], "", Problem, "no certificate"},
	} {
		if f := certificate("certificate", tt.file, tt.url, false); f.State != tt.state || !strings.Contains(f.Text, tt.text) {
			t.Errorf("%+v, want %s %q", f, tt.state, tt.text)
		}
	}
}

func TestAdminAPI(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "admin.sock")
	if err := os.WriteFile(socket, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	for address, state := range map[string]State{
		"off": OK, "unix//nowhere/admin.sock|0600": OK, "unix/" + socket: Problem, "localhost:2019": Warning, "127.0.0.1:2019": Warning, "[::1]:2019": Warning,
		":2019": Problem, "0.0.0.0:2019": Problem, "[::]:2019": Problem, "192.0.2.7:2019": Problem, "pbx.example.com:2019": Problem, "": Problem,
	} {
		if f := (&Config{Admin: address}).admin(""); f.State != state {
			t.Errorf("%s: %+v", address, f)
		}
	}
}

// A gateway whose socket is elsewhere, or was deleted, can be neither reloaded nor stopped by a command.
func TestMissingSocket(t *testing.T) {
	c := &Config{Admin: "unix/" + filepath.Join(t.TempDir(), "admin.sock") + "|0600"}
	find(t, []Finding{c.admin("")}, "admin API", OK, "")
	find(t, []Finding{c.admin("17")}, "admin API", Problem, "is missing, although the gateway runs (process 17)")
}

// A port below 1024 is refused to a user, which does not mean that somebody has it.
func TestRefusedPort(t *testing.T) {
	err := error(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)})
	find(t, []Finding{taken("port :443", err, "")}, "port :443", Warning, "may not listen")
	find(t, []Finding{taken("port :443", err, "17")}, "port :443", Warning, "no gateway answers there, although one runs")
	err = &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	find(t, []Finding{taken("port :443", err, "")}, "port :443", Problem, "another program listens")
}

func TestPorts(t *testing.T) {
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer gateway.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := silent.Addr().String()
	_ = silent.Close()
	for _, tt := range []struct {
		address, holder string
		state           State
	}{
		{gateway.URL, "17", OK},
		{other.URL, "", Problem},
		{other.URL, "17", Warning},
		{"http://" + free, "", OK},
		{"http://" + free, "17", Problem},
	} {
		scheme, address, _ := strings.Cut(tt.address, "://")
		if f := port(t.Context(), Listener{Scheme: scheme, Address: address}, tt.holder); f.State != tt.state {
			t.Errorf("%s with %q: %+v", tt.address, tt.holder, f)
		}
	}
	for address, state := range map[string]State{strings.TrimPrefix(other.URL, "http://"): OK, free: Problem, "unix//nowhere.sock": Problem} {
		if f := upstream(t.Context(), address); f.State != state {
			t.Errorf("%+v", f)
		}
	}
}

func TestAsterisk(t *testing.T) {
	pbx := amitest.New(t)
	o := pbx.Options()
	find(t, []Finding{Installation{Manager: o}.manager(t.Context(), nil)}, "Asterisk", OK, "accepts the login")
	for read, state := range map[string]State{"system,user,cdr": OK, "all": OK, "system,user": Warning} {
		pbx.Handle("Command", func(c *amitest.Session, a ami.Message) {
			c.Respond(a, "Success", "Output", "       username: ringfence", "Output", "      read perm: "+read, "Output", "     write perm: cdr")
		})
		find(t, []Finding{Installation{Manager: o}.manager(t.Context(), nil)}, "Asterisk", state, "accepts the login")
	}
	dialplan := &conf.Dialplan{Contexts: []*conf.DialplanContext{{Steps: []conf.Step{{Exten: "1", App: "ReceiveFAX"}, {Exten: "1", App: "Hangup"}}}}}
	for has, state := range map[string]State{"Goto: x|Hangup: x": Warning, "Goto: x|Hangup: x|ReceiveFAX: x": OK, "No such command": OK} {
		pbx.Handle("Command", func(c *amitest.Session, a ami.Message) {
			fields := []string{}
			for line := range strings.SplitSeq(has, "|") {
				fields = append(fields, "Output", line)
			}
			c.Respond(a, "Success", fields...)
		})
		f := Installation{Manager: o}.manager(t.Context(), dialplan)
		if f.State != state || state == Warning && !strings.Contains(f.Text, "has no ReceiveFAX: calls") {
			t.Errorf("of an Asterisk that has %s: %+v", has, f)
		}
	}
	o.Secret = "wrong"
	find(t, []Finding{Installation{Manager: o}.manager(t.Context(), nil)}, "Asterisk", Problem, "refuses")
	find(t, []Finding{Installation{Manager: ami.Options{Address: "127.0.0.1:1"}}.manager(t.Context(), nil)}, "Asterisk", Problem, "cannot be reached")
	find(t, []Finding{Installation{Manager: ami.Options{Address: "192.0.2.7:5038"}}.manager(t.Context(), nil)}, "Asterisk", Problem, "unencrypted")
}

func TestRunning(t *testing.T) {
	i := Installation{Data: t.TempDir()}
	if holder := i.running(); holder != "" {
		t.Errorf("process %s runs", holder)
	}
	if left, err := os.ReadDir(i.Data); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
	lock, err := private.TryLock(filepath.Join(i.Data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if holder := i.running(); holder == "" {
		t.Error("nobody runs")
	}
	_ = lock.Close()
	if holder := i.running(); holder != "" {
		t.Errorf("process %s still runs", holder)
	}
}

func TestReadConfig(t *testing.T) {
	c, err := ReadConfig([]byte(`{"admin":{"listen":"{x}:2019"},"apps":{"http":{"servers":{
		"a":{"listen":["ringfence_tcp/127.0.0.1:80","udp/:53","unix//x.sock"],"routes":[{"handle":[{"handler":"subroute","routes":[{"handle":[
			{"handler":"reverse_proxy","upstreams":[{"dial":"127.0.0.1:1"},{"dial":"{http.request.host}:1"},{"dial":"127.0.0.1:1"}]}]}]}]}]},
		"b":{"listen":[":443"],"tls_connection_policies":[{}]}}},
		"tls":{"certificates":{"load_files":[{"certificate":"{x}.pem","key":"k"}]}}}}`), "off", strings.NewReplacer("{x}", "y").Replace)
	want := &Config{Admin: "y:2019", Listen: []Listener{{"http", "127.0.0.1:80", ""}, {"https", ":443", ""}}, Upstreams: []string{"127.0.0.1:1"}, Certificates: []Pair{{"y.pem", "k"}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := ReadConfig([]byte(`{"admin":{"disabled":true,"listen":":1"}}`), "x", strings.Clone); err != nil || c.Admin != "off" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ReadConfig([]byte("junk"), "", strings.Clone); err == nil {
		t.Error("junk is read")
	}
}

// A host without music is told what callers hear, where there is an Asterisk.
func TestMusic(t *testing.T) {
	for _, with := range []int{0, 1} {
		i := Installation{Music: []string{filepath.Join(t.TempDir(), "moh"), filepath.Join(t.TempDir(), "moh")}}
		find(t, []Finding{i.music()}, "music on hold", Warning, "no file is in "+i.Music[0]+" or "+i.Music[1])
		if err := os.MkdirAll(filepath.Join(i.Music[with], "moh-acme-1"), 0o755); err != nil {
			t.Fatal(err)
		}
		find(t, []Finding{i.music()}, "music on hold", Warning, "no file is in")
		if err := os.WriteFile(filepath.Join(i.Music[with], "tune.wav"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		find(t, []Finding{i.music()}, "music on hold", OK, i.Music[with]+" has files")
	}
}
