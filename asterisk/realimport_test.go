package asterisk_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/moving/wazo"
)

// What is imported of another platform passes the check, is loaded by Asterisk without a complaint, and its telephones register with what they have.
func TestRealImport(t *testing.T) {
	findAsterisk(t)
	if _, err := exec.LookPath("pg_restore"); err != nil {
		t.Skip("pg_restore, of PostgreSQL's programs, is missing")
	}
	s := importedSnapshot(t)
	files, left, err := asterisk.Generate(s, asterisk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, files)
	for _, l := range left {
		t.Log("left out: ", l)
	}
	a := startReal(t, s)
	a.apply()
	a.clean("the import")
	text, err := os.ReadFile("../moving/wazo/testdata/company-a.logins.json")
	if err != nil {
		t.Fatal(err)
	}
	var logins struct {
		SIP []struct{ Name, Username, Password string }
	}
	if err := json.Unmarshal(text, &logins); err != nil || len(logins.SIP) < 30 {
		t.Fatalf("%d telephones, %v", len(logins.SIP), err)
	}
	for _, l := range logins.SIP {
		p := plugIn(t, overUDP(t, a.at("sip")), a.at("sip"), l.Name, l.Username, l.Password)
		if status := p.register(600); status != 200 {
			t.Errorf("%s registers: %d", l.Name, status)
		}
	}
}

// importedSnapshot is what the sample of moving/wazo is here.
func importedSnapshot(t *testing.T) *confdsvc.Snapshot {
	t.Helper()
	job := &wazo.Job{File: "../moving/wazo/testdata/company-a.dump"}
	t.Cleanup(func() { _ = job.Close() })
	made, err := job.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := backup.Open(t.Context(), made)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	o := backup.Options{Data: data, Database: open.SQLiteScheme + data + "/ringfence.db"}
	_, err = f.Restore(t.Context(), o, false)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := open.Open(t.Context(), o.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s, err := confdsvc.NewSnapshots(db).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
