package wazo_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/moving/wazo"
)

// documented are the accesses that our services need.
func documented(t *testing.T) (out []string) {
	t.Helper()
	auth, err := authsvc.New(authsvc.Options{DB: store.NewLate()})
	if err != nil {
		t.Fatal(err)
	}
	defer auth.Close()
	confd, err := confdsvc.New(confdsvc.Options{DB: store.NewLate()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*rest.Service{auth.REST(), confd} {
		for _, op := range s.Operations {
			if op.Access != "" {
				out = append(out, op.Access)
			}
		}
	}
	return out
}

// Everybody may do what they could do, and nothing more; a policy of a parent that was given where nobody sees it is told.
func TestVerification(t *testing.T) {
	d := &dumpText{t: t, text: sampleText(t)}
	d.add("auth_policy", "uuid", newUUID(1), "name", "wild", "slug", "wild", "tenant_uuid", fournier, "config_managed", "f", "shared", "f")
	for i, access := range []string{
		"confd.user*.read", "confd.users.*.edit", "auth.users.{{ entry_uuid }}.read", "confd.lines.1*.read", "!confd.lin*.*.delete", "confd.lines.#",
		"calld.switch*.*.read", "calld.calls.edit", "calld.calls.#", "!calld.cal*.x.*", "dird.{{ entry_uuid }}.#",
	} {
		d.add("auth_access", "id", fmt.Sprint(900+i), "access", access)
		d.add("auth_policy_access", "policy_uuid", newUUID(1), "access_id", fmt.Sprint(900+i))
	}
	d.add("auth_user_policy", "user_uuid", "a253e12a-25dc-4236-b463-449548f9d0b1", "policy_uuid", newUUID(1)) // David's
	file := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(file, []byte(d.text), 0o600); err != nil {
		t.Fatal(err)
	}
	job := &wazo.Job{File: file, Accesses: documented(t), Verify: true}
	t.Cleanup(func() { _ = job.Close() })
	if _, err := job.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := job.Report.Verification
	if v.Users < 40 || v.Operations < 300 || v.Decided <= int64(v.Users*v.Operations) || v.Allowed == 0 {
		t.Errorf("%d users, %d operations, %d decisions, %d allowed", v.Users, v.Operations, v.Decided, v.Allowed)
	}
	var others []string
	for _, d := range v.Differences {
		if d.Is || strings.Join(d.Users, " ") != "david.thomas" {
			t.Errorf("%+v", d)
		}
		if !strings.HasPrefix(d.Access, "confd.") {
			others = append(others, d.Access)
		}
	}
	if got := strings.Join(others, " "); got != "calld.switchx.x.read" {
		t.Errorf("of other services differ %s", got)
	}
	if len(v.Differences) == 0 {
		t.Error("a denial within a word is wider here, and nothing differs")
	}
	for _, table := range job.Report.Tables {
		if gone := table.Read - table.Kept - table.Left; gone > 0 {
			t.Errorf("%d rows of %s are neither kept nor left out", gone, table.Name)
		}
	}
	want, err := os.ReadFile("testdata/policies.caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	if job.Report.Policies != string(want) {
		t.Errorf("the policies of the configuration are\n%s", job.Report.Policies)
	}
}

// Who was in no group of all users there may do no more here, and is named.
func TestOutsideAllUsers(t *testing.T) {
	text := sampleText(t)
	without := strings.Replace(text, "bb6e22e7-0956-4c61-ac89-bae622dc5c7c\ta253e12a-25dc-4236-b463-449548f9d0b1\n", "", 1) // David's
	if without == text {
		t.Fatal("David is in no group of all users")
	}
	file := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(file, []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	job := &wazo.Job{File: file, Accesses: documented(t), Verify: true}
	t.Cleanup(func() { _ = job.Close() })
	if _, err := job.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := job.Report.Verification; len(v.Differences) > 0 {
		t.Errorf("differences: %+v", v.Differences)
	}
	told := 0
	for _, d := range job.Report.Decisions {
		if strings.HasPrefix(d.Reason, "was not in the group of all users") {
			if told++; d.Object != "david.thomas" {
				t.Errorf("%+v", d)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d are told", told)
	}
}

// A running platform's database gives what its dump does.
func TestFromServer(t *testing.T) {
	needsRestore(t)
	address := storetest.NewDatabase(t, storetest.Server(t), false)
	if out, err := exec.CommandContext(t.Context(), "pg_restore", "--no-owner", "--no-acl", "-d", address, sample).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	running, dumped := &wazo.Job{From: address}, &wazo.Job{File: sample}
	for _, job := range []*wazo.Job{running, dumped} {
		t.Cleanup(func() { _ = job.Close() })
		if _, err := job.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var one, other bytes.Buffer
	if err := running.Report.Print(&one); err != nil {
		t.Fatal(err)
	}
	if err := dumped.Report.Print(&other); err != nil {
		t.Fatal(err)
	}
	if one.String() != other.String() {
		t.Errorf("the reports differ:\n%s\n%s", one.String(), other.String())
	}
	sameRows(t, running, dumped)
	nowhere := &wazo.Job{From: "postgres://nobody:s3cret@localhost:1/x"}
	t.Cleanup(func() { _ = nowhere.Close() })
	if _, err := nowhere.Make(t.Context()); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// A platform that still runs is asked for what the import made of its dump; what has changed there since is told, without values.
func TestCompare(t *testing.T) {
	theirs, ours := imported(t, engines["sqlite"]), imported(t, engines["sqlite"])
	if err := local.Call(t.Context(), theirs.confd, theirs.me, fournier, http.MethodPut, "/users/4", map[string]any{"description": "changed since"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := local.Call(t.Context(), theirs.confd, theirs.me, fournier, http.MethodPost, "/conferences", map[string]any{"name": "New"}, nil); err != nil {
		t.Fatal(err)
	}
	client := func(in installation) *operator.Client {
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(principal.NewContext(r.Context(), in.me))
			if strings.HasPrefix(r.URL.Path, in.confd.Prefix) {
				in.confd.ServeHTTP(w, r)
			} else {
				in.auth.REST().ServeHTTP(w, r)
			}
		})
		return &operator.Client{Server: "http://local", HTTP: &http.Client{Transport: local.Transport{Handler: serve}}}
	}
	c, err := wazo.Compare(t.Context(), client(theirs), client(ours), ours.auth.REST(), ours.confd)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range c.Differences {
		told = append(told, d.List+" "+d.Attribute+" "+d.What+" "+d.Object)
	}
	want := "/api/confd/1.1/conferences  only there 3\n/api/confd/1.1/users description differs a253e12a-25dc-4236-b463-449548f9d0b1"
	if got := strings.Join(told, "\n"); got != want || c.Objects < 300 {
		t.Errorf("of %d objects:\n%s\n%v", c.Objects, got, c.Refused)
	}
}

// wav is a sound that Asterisk plays.
func wav() []byte {
	samples := make([]byte, 1600)
	b := &bytes.Buffer{}
	b.WriteString("RIFF")
	_ = binary.Write(b, binary.LittleEndian, uint32(36+len(samples)))
	b.WriteString("WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16)} {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	_ = binary.Write(b, binary.LittleEndian, uint32(len(samples)))
	b.Write(samples)
	return b.Bytes()
}

// The files of the platform are checked and copied, and copied again without harm.
func TestFiles(t *testing.T) {
	in := imported(t, engines["sqlite"])
	from, to := t.TempDir(), t.TempDir()
	const music = "var/lib/asterisk/moh/moh-fournier-1c7c1723-b6ac-4e73-aab5-c8d8fb99c722/"
	const box = "var/spool/asterisk/voicemail/" + inside + "/100/"
	sounds := "var/lib/wazo/sounds/tenants/" + fournier + "/"
	for name, content := range map[string]string{
		music + "piano été.wav": string(wav()), music + "notes.wav": "no sound", "var/lib/asterisk/moh/moh-gone/a.wav": string(wav()),
		sounds + "menus/noel.wav": string(wav()), sounds + "menus/fr_FR/noel.wav": string(wav()), sounds + "monitor/call.wav": string(wav()),
		box + "INBOX/msg0000.txt": "[message]\n", box + "INBOX/msg0000.wav": string(wav()), box + "unavail.wav": "no sound",
		"var/spool/asterisk/voicemail/gone/1/unavail.wav": string(wav()),
	} {
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(from, box, "INBOX/msg0001.txt")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f := &wazo.Files{
			DB: in.db, From: from, Voicemail: filepath.Join(to, "voicemail"), Recordings: filepath.Join(to, "recordings"),
			Audio: confdsvc.AudioFolders{MOH: audio.Folder(filepath.Join(to, "moh")), Sounds: audio.Folder(filepath.Join(to, "sounds"))},
		}
		if err := f.Copy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(f.Copied); got != "map[music:1 recordings:1 sounds:2 voicemails:2]" {
			t.Errorf("copied %s", got)
		}
		var told bytes.Buffer
		if err := f.Print(&told); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"no music has this folder", "notes.wav", "unavail.wav", "it is no plain file", "no voicemail has this folder"} {
			if !strings.Contains(told.String(), line) {
				t.Errorf("nothing tells of %s:\n%s", line, told.String())
			}
		}
	}
	for _, name := range []string{
		"voicemail/" + inside + "/100/INBOX/msg0000.wav", "moh/moh-fournier-1c7c1723-b6ac-4e73-aab5-c8d8fb99c722/piano__t_.wav", "recordings/" + fournier + "/monitor/call.wav",
	} {
		if content, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(content, wav()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, body := in.get(t, answer{Path: "/api/confd/1.1/sounds/menus", Tenant: fournier}); status != 200 || !strings.Contains(fmt.Sprint(body), "menus/noel") {
		t.Errorf("%d %v", status, body)
	}
}
