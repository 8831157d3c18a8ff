package asterisk_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/check"
	"github.com/ringfence/ringfence/confdsvc"
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

// nameInside gives the company's inner context another name, as an import of another platform may bring it.
func nameInside(s *confdsvc.Snapshot, name string) {
	s.Contexts[0].Name = name
	for _, l := range s.Lines {
		if l.Context == inside {
			l.Context = name
		}
	}
	for _, x := range s.Extensions {
		if x.Context == inside {
			x.Context = name
		}
	}
	for _, v := range s.Voicemails {
		v.Context = name
	}
}

// A context whose name the dialplan keeps for something else has a section of another name, and all that leads there leads to that. Its mailboxes stay
// in the folder of its own name.
func TestContextsOfReservedNames(t *testing.T) {
	linesOf := func(name string) ([]string, asterisk.Files) {
		s := company(t)
		addCalls(t, s)
		addTeams(t, s)
		for i, leads := range []string{
			`"type": "extension", "exten": "101"`, `"type": "application", "application": "disa", "pin": "12"`,
			`"type": "application", "application": "callback_disa", "pin": null`, `"type": "application", "application": "directory"`,
			`"type": "application", "application": "voicemail"`, `"type": "voicemail", "voicemail_id": 1, "other": 1`,
		} {
			d := *to(t, `{`+leads+`, "context": "`+name+`"}`)
			s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: confdsvc.ID(10 + i), TenantUUID: acme, Destination: d})
		}
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 90, TenantUUID: acme, Exten: "0612345678", Context: inside, Enabled: true})
		s.LineExtensions[3] = append(s.LineExtensions[3], 90)
		s.Users[1].MobilePhoneNumber = new("0612345678")
		s.Groups[0].Members.Extensions = []confdsvc.GroupNumber{{Exten: "102", Context: name}}
		s.Queues = []*confdsvc.Queue{read[confdsvc.Queue](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "support", "enabled": true, "options": [["context", "`+name+`"]]}`)}
		s.Lines = append(s.Lines, &confdsvc.Line{ID: 4, TenantUUID: acme, Context: inside})
		s.Customs = []*confdsvc.EndpointCustom{{ID: 1, TenantUUID: acme, Interface: "Local/102@" + name, Enabled: true}}
		s.LineCustom, s.LineUsers[4], s.UserLines[2] = map[confdsvc.ID]confdsvc.ID{4: 1}, []confdsvc.ID{2}, []confdsvc.ID{3, 4}
		s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V, []string{"context", name}, []string{"subscribe_context", name})
		s.Includes = map[confdsvc.ID][]confdsvc.ID{2: {1}}
		nameInside(s, name)
		files := generate(t, s)
		var all []string
		for _, file := range []string{"extensions.conf", "pjsip.conf", "queues.conf", "res_parking.conf"} {
			text := files[file]
			if file == "extensions.conf" {
				text = withoutLibrary(t, text)
			}
			all = append(all, strings.Split(string(text), "\n")...)
		}
		slices.Sort(all)
		return all, files
	}
	usual, _ := linesOf(inside)
	if n := strings.Count(strings.Join(usual, "\n"), inside); n < 20 {
		t.Fatalf("the company names its context %d times", n)
	}
	for _, name := range []string{"default", "Anonymous", "xivo-features", "ringfence-users", "globals"} {
		got, files := linesOf(name)
		var want []string
		for _, line := range usual {
			line = strings.ReplaceAll(line, inside, "ringfence-context-"+name)
			for _, box := range []string{"101@", "VoiceMailMain(@", "Directory("} {
				line = strings.ReplaceAll(line, box+"ringfence-context-"+name, box+name)
			}
			want = append(want, line)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			without := func(all, some []string) []string {
				return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(some, line) })
			}
			t.Errorf("%s has %q\nand lacks %q", name, without(got, want), without(want, got))
		}
		if !strings.Contains(string(files["voicemail.conf"]), "\n["+name+"]\n101 => ") {
			t.Errorf("%s: %s", name, files["voicemail.conf"])
		}
	}
}

// A real Asterisk takes calls in a context of such a name, and has its mailboxes.
func TestRealReservedContext(t *testing.T) {
	s := office(t)
	nameInside(s, "default")
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone := a.phone(t, "alice"), a.phone(t, "bob")
	if _, got := alice.dial("102"); got != 200 {
		t.Fatalf("Alice calls Bob: %d", got)
	}
	bobPhone.saw("rings")
	alice.hangUpAll()
	a.idle()
	if _, got := alice.dial("*96104"); got != 200 {
		t.Fatalf("Alice leaves Dave a message: %d", got)
	}
	wait(t, "the folder of Dave's mailbox", func() bool {
		found, _ := filepath.Glob(filepath.Join(a.dir, "spool/voicemail/default/104/*"))
		return len(found) > 0
	}, a.log)
	alice.hangUpAll()
	a.idle()
	if _, got := alice.dial("*36"); got != 200 {
		t.Errorf("Alice looks for a name: %d", got)
	}
	alice.hangUpAll()
	a.idle()
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
