package asterisk_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/confdsvc"
)

// job applies what is set, and returns what became of it.
func (a *pbxUnderTest) job() jobs.Job {
	a.t.Helper()
	job, err := a.service.Apply(a.t.Context(), jobs.Options{Wait: true})
	if err != nil {
		a.t.Fatal(err)
	}
	return job
}

// spoilFile breaks one of Asterisk's own files, and returns what mends it. Its complaints are none of the test's.
func (a *pbxUnderTest) spoilFile(name, begin string) (mend func()) {
	a.t.Helper()
	own, err := os.ReadFile(a.dir + "/etc/" + name)
	if err != nil {
		a.t.Fatal(err)
	}
	a.own(name, begin+string(own))
	return func() { a.own(name, string(own)) }
}

// forgive empties the log.
func (a *pbxUnderTest) forgive() {
	a.t.Helper()
	if err := os.Truncate(a.dir+"/log/full", 0); err != nil {
		a.t.Fatal(err)
	}
	a.read = 0
}

// A reload that Asterisk calls a success, and in which it took nothing of a file, takes the change back. Once its own file is mended, an
// apply brings what is stored, also after a restart, and if no generated file has changed.
func TestRealBrokenFiles(t *testing.T) {
	s := company(t)
	s.Music = []*confdsvc.MOH{{UUID: "m", TenantUUID: acme, Name: "moh-acme-1", Label: "Jazz", Mode: "files"}}
	a := startReal(t, s)
	if err := os.WriteFile(a.dir+"/data/moh/silence.ulaw", make([]byte, 160), 0o600); err != nil {
		t.Fatal(err)
	}
	a.apply()
	a.phone(t, "bob")
	secret := func(text string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, pair := range s.Endpoints[2].Auth.V {
			if pair[0] == "password" {
				pair[1] = text
			}
		}
	}
	registers := func(when, password string) {
		t.Helper()
		p := plugIn(t, overUDP(t, a.at("sip")), a.at("sip"), "bob", "bob", password)
		if status := p.register(600); status != 200 {
			t.Errorf("%s: status %d", when, status)
		}
	}
	for file, test := range map[string]struct{ begin, says string }{
		"pjsip.conf":     {"[broken\n", "Asterisk has not loaded pjsip.conf"},
		"queues.conf":    {"no section\n", "Asterisk has not loaded queues.conf"},
		"voicemail.conf": {"no section\n", "Asterisk has not loaded voicemail.conf"},
	} {
		mend := a.spoilFile(file, test.begin)
		secret("new of " + file)
		s.Groups[0].RingInUse = !s.Groups[0].RingInUse
		s.Groups[0].Label += "x"
		s.Voicemails[0].Password = new(fmt.Sprint(1000 + len(file)))
		s.Music[0].Label += "x"
		if job := a.job(); job.State != jobs.RolledBack || !strings.Contains(job.Message, test.says) || !strings.Contains(fmt.Sprint(job.Log), "etc/"+file) {
			t.Errorf("%s: %s %s\n%v", file, job.State, job.Message, job.Log)
		}
		mend()
		a.apply()
		registers(file, "new of "+file)
	}
	secret("secret-bob")
	a.apply()
	mend := a.spoilFile("musiconhold.conf", "[broken\n") // of it Asterisk cannot be asked
	s.Music[0].Name = "moh-acme-2"
	secret("new, although the music is broken")
	if job := a.job(); job.State != jobs.Failed || !strings.Contains(job.Message, "the files are live, but file musiconhold.conf: Asterisk loads nothing of it: "+a.dir) {
		t.Errorf("music: %s %s", job.State, job.Message)
	}
	registers("the music is broken", "new, although the music is broken")
	mend()
	secret("secret-bob")
	a.apply()
	for _, file := range []string{"pjsip.conf", "queues.conf", "voicemail.conf", "musiconhold.conf", "extensions.conf"} {
		mend := a.spoilFile(file, "[broken\n")
		_ = a.process.Process.Kill()
		<-a.ended
		a.boot()
		if job := a.job(); job.State != jobs.Failed || !strings.Contains(fmt.Sprint(job.Log, job.LeftOut), file) {
			t.Errorf("%s after a restart: %s %s\n%v", file, job.State, job.Message, job.Log)
		}
		mend()
		if job := a.job(); job.State != jobs.Done || len(job.Files) > 0 {
			t.Errorf("%s mended: %s %s, %v", file, job.State, job.Message, job.Files)
		}
		registers(file+" mended", "secret-bob")
	}
	for command, want := range map[string]string{"queue show": "grp-", "voicemail show users": "101", "moh show classes": "moh-acme-2", "dialplan show ringfence-users": "Gosub"} {
		if got := a.cli(command); !strings.Contains(got, want) {
			t.Errorf("%s: %s", command, got)
		}
	}
	a.forgive()
}

// A telephone that Asterisk refuses is left out, with what its log says, and the others are live; mended, it is there.
func TestRealFaultyTelephone(t *testing.T) {
	s := company(t)
	a := startReal(t, s)
	a.apply()
	fault := "[bob]\ntype = endpoint\nnosuch = 1\n"
	a.spoil = func(files asterisk.Files) {
		files["pjsip.conf"] = []byte(strings.Replace(string(files["pjsip.conf"]), "[bob]\ntype = endpoint\n", fault, 1))
	}
	job := a.job()
	if job.State != jobs.Done || len(job.LeftOut.Items) == 0 || !strings.Contains(job.LeftOut.Items[0].String(), "line 3 (bob)") || !strings.Contains(job.LeftOut.Items[0].Reason, "nosuch") {
		t.Errorf("%s %s\n%v\n%v", job.State, job.Message, job.LeftOut, job.Log)
	}
	a.phone(t, "alice")
	fault = "[bob]\ntype = endpoint\n"
	if job := a.job(); job.State != jobs.Done || len(job.LeftOut.Items) > 0 {
		t.Errorf("mended: %s %s\n%v", job.State, job.Message, job.LeftOut)
	}
	a.phone(t, "bob")
	faulty := true
	a.spoil = func(files asterisk.Files) {
		if faulty {
			files["extensions.conf"] = []byte(strings.Replace(string(files["extensions.conf"]), "Gosub(ringfence-user,s,1("+bob, "Goto(gone,"+bob, 1))
		}
	}
	if job := a.job(); job.State != jobs.Done || len(job.LeftOut.Items) == 0 || !strings.HasPrefix(job.LeftOut.Items[0].String(), "user "+bob) {
		t.Errorf("a fault in the dialplan: %s %s\n%v\n%v", job.State, job.Message, job.LeftOut, job.Log)
	}
	faulty = false
	if job := a.job(); job.State != jobs.Done || len(job.LeftOut.Items) > 0 {
		t.Errorf("mended: %s %s\n%v", job.State, job.Message, job.LeftOut)
	}
	a.forgive()
}
