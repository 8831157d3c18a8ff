package asterisk_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/check"
)

// What has the name of a section that somebody wrote by hand is left out, with the place of that one: Asterisk would load neither.
func TestNoNameMeetsAHandWrittenOne(t *testing.T) {
	etc := t.TempDir()
	for name, text := range map[string]string{
		"pjsip.conf":        "[basics]\ntype = global\n[alice](!)\ntype = endpoint\n[bob]\ntype = endpoint\n",
		"pjsip_wizard.conf": "[transport-udp]\ntype = wizard\n",
		"queues.conf":       "[general]\n[grp-acme-" + sales + "]\n",
		"extensions.conf":   "[" + public + "]\nexten = 1,1,NoOp()\n",
		"voicemail.conf":    "text\n",
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := company(t)
	s.Groups[0].Name = "grp-acme-" + sales
	taken, faults := asterisk.ReadTaken(etc)
	if len(faults) != 1 || !strings.HasPrefix(faults[0].String(), "file voicemail.conf: Asterisk loads nothing of it") || !strings.Contains(faults[0].Reason, "line 1: is in no section") {
		t.Errorf("faults %v", faults)
	}
	files, left, err := asterisk.Generate(s, asterisk.Options{Taken: taken})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range left {
		if o.Option == "" {
			got = append(got, o.Kind+" "+o.Name+": "+o.Reason)
		}
	}
	slices.Sort(got)
	for i, want := range []string{
		"context From outside: Asterisk's own file " + etc + "/extensions.conf has a section [" + public + "] in line 1",
		"extension 5550100: its context",
		"group Sales: Asterisk's own file " + etc + "/queues.conf has a section [grp-acme-" + sales + "] in line 2",
		"line bob: its endpoint: Asterisk's own file " + etc + "/pjsip.conf has a section [bob] in line 5",
		"section general: Asterisk's own file " + etc + "/queues.conf has a section [general] in line 1, which counts",
		"section global: Asterisk's own file " + etc + "/pjsip.conf has a section [basics] in line 1, which counts",
		"transport transport-udp: Asterisk's own file " + etc + "/pjsip_wizard.conf has a section [transport-udp] in line 1",
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("left out: %s\nwant %d: %s", strings.Join(got, "\n"), i, want)
		}
	}
	pjsip := string(files["pjsip.conf"])
	if strings.Contains(pjsip, "[bob]") || strings.Contains(pjsip, "[global]") || !strings.Contains(pjsip, "[alice]") || !strings.Contains(pjsip, "[system]") {
		t.Error(pjsip)
	}
	if strings.Contains(string(files["extensions.conf"]), "PJSIP/bob") {
		t.Error("the dialplan rings the endpoint that was written by hand")
	}
	if found := check.Files(files); len(found) > 0 {
		t.Error(found)
	}
}

// A number of the dialplan that is refused says that it is not in service, whose it is, and keeps nobody else from being called.
func TestARefusedNumberIsMuted(t *testing.T) {
	s := company(t)
	taken := asterisk.Taken{}
	for _, at := range []string{bob + "@ringfence-users", "101@" + s.Contexts[0].Name, "s@ringfence-user"} {
		taken.Add("extensions.conf", at, "Asterisk would refuse it")
	}
	files, left, err := asterisk.Generate(s, asterisk.Options{Taken: taken})
	if err != nil {
		t.Fatal(err)
	}
	const says = ",1,Goto(ringfence-end,nowhere,1)\n"
	dialplan := string(files["extensions.conf"])
	for _, line := range []string{"exten => " + bob + says, "exten => 101" + says} {
		if strings.Count(dialplan, line) != 1 {
			t.Errorf("%d times %s%s", strings.Count(dialplan, line), line, dialplan)
		}
	}
	if len(left) != 2 || left[0].Kind != "extension" || left[1].Kind != "user" || left[1].TenantUUID != s.Users[1].TenantUUID {
		t.Errorf("left out: %v", left)
	}
	if found := check.Files(files); len(found) > 0 {
		t.Error(found)
	}
}

// Of two objects of one name and type, Asterisk loads none of the type: that is said before it bites.
func TestTwoHandWrittenSections(t *testing.T) {
	etc := t.TempDir()
	if err := os.WriteFile(filepath.Join(etc, "pjsip.conf"), []byte("[trunk]\ntype = endpoint\n[trunk]\ntype = aor\n[trunk](+)\ncontact = sip:x\n[trunk]\ntype = endpoint\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, faults := asterisk.ReadTaken(etc); len(faults) != 1 || !strings.Contains(faults[0].String(), "pjsip.conf (trunk): Asterisk loads nothing of the type endpoint, of nobody") {
		t.Errorf("faults %v", faults)
	}
}

// A real Asterisk goes on with everybody else's telephones if a hand-written section has the name of one.
func TestRealHandWrittenSection(t *testing.T) {
	a := startReal(t, company(t))
	a.spoilFile("pjsip.conf", "[global]\ntype = global\n[bob]\ntype = endpoint\n")
	a.apply()
	a.phone(t, "alice")
	if got := a.cli("pjsip show endpoint bob"); strings.Contains(got, "InAuth") {
		t.Error(got)
	}
	a.clean("the first apply")
}
