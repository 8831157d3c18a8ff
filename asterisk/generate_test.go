package asterisk_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/check"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

var update = flag.Bool("update", false, "write the golden files")

func generate(tb testing.TB, s *confdsvc.Snapshot) asterisk.Files {
	tb.Helper()
	files, _, err := asterisk.Generate(s, asterisk.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	checkFiles(tb, files)
	return files
}

// checkFiles checks the files as they are checked before they are applied, and reads them back.
func checkFiles(tb testing.TB, files asterisk.Files) map[string]*conf.File {
	tb.Helper()
	for _, wrong := range check.Files(files) {
		tb.Errorf("%s\n%s", wrong, line(files[wrong.File], wrong.Line))
	}
	parsed := map[string]*conf.File{}
	for name, text := range files {
		f, err := conf.Parse(text)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		if len(f.Includes) > 0 {
			tb.Fatalf("%s includes %v", name, f.Includes)
		}
		parsed[name] = f
	}
	return parsed
}

// line returns one line of a text; the first is 1.
func line(text []byte, number int) []byte {
	lines := bytes.Split(text, []byte("\n"))
	if number < 1 || number > len(lines) {
		return nil
	}
	return lines[number-1]
}

// withoutLibrary returns extensions.conf without the sections that are the same everywhere.
func withoutLibrary(tb testing.TB, text []byte) []byte {
	tb.Helper()
	shared, err := os.ReadFile("library/extensions.conf")
	if err != nil {
		tb.Fatal(err)
	}
	f, err := conf.Parse(shared)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	skip := false
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("[")) {
			skip = f.Section(strings.Trim(string(line), "[]\n")) != nil
		}
		if !skip {
			out.Write(line)
		}
	}
	return out.Bytes()
}

// golden is a feature: what it changes in the company, and in which files it shows.
type golden struct {
	files string
	edit  func(s *confdsvc.Snapshot)
}

func goldens(t *testing.T) map[string]golden {
	return map[string]golden{
		"company": {"pjsip.conf extensions.conf voicemail.conf queues.conf features.conf musiconhold.conf res_parking.conf confbridge.conf rtp.conf", func(*confdsvc.Snapshot) {}},
		"teams":   {"extensions.conf pjsip.conf", func(s *confdsvc.Snapshot) { addTeams(t, s) }},
		"fallbacks": {"extensions.conf", func(s *confdsvc.Snapshot) {
			f := &s.Users[0].Fallbacks
			f.Busy, f.NoAnswer = to(t, `{"type": "voicemail", "voicemail_id": 1, "greeting": "busy", "skip_instructions": true}`), to(t, `{"type": "group", "group_id": 1, "ring_time": 12.5}`)
			f.Congestion, f.Fail = to(t, `{"type": "extension", "exten": "102", "context": "`+inside+`"}`), to(t, `{"type": "user", "user_id": 2, "ring_time": 10, "moh_uuid": null}`)
			s.Users[1].Fallbacks.Busy = to(t, `{"type": "hangup", "cause": "busy", "timeout": 5}`)
			s.Users[1].Fallbacks.NoAnswer = to(t, `{"type": "sound", "filename": "tt-weasels", "skip": true, "no_answer": true}`)
			s.Users[1].Fallbacks.Congestion = to(t, `{"type": "custom", "command": "Playback(tt-monkeys)"}`)
			s.Users[1].Fallbacks.Fail = to(t, `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": "1234"}`)
		}},
		"incalls": {"extensions.conf", func(s *confdsvc.Snapshot) {
			s.Incalls[0].CallerIDMode, s.Incalls[0].CallerIDName, s.Incalls[0].GreetingSound = new("prepend"), new("From outside, ${X}"), new("hello-world")
			for i, destination := range []string{`{"type": "none"}`, `{"type": "application", "application": "fax_to_mail", "email": "a@example.org"}`} {
				s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: confdsvc.ID(2 + i), TenantUUID: acme, Destination: *to(t, destination)})
			}
		}},
		"groups": {"extensions.conf queues.conf", func(s *confdsvc.Snapshot) {
			g := s.Groups[0]
			g.MaxCalls, g.IgnoreForward, g.MarkAnsweredElsewhere, g.CallerIDMode, g.CallerIDName = new(int64(3)), true, true, new("overwrite"), new("Sales")
			g.Fallbacks.NoAnswer = to(t, `{"type": "user", "user_id": 1}`)
			g.MusicOnHold = new("moh-acme-1")
			g.Members.Extensions = []confdsvc.GroupNumber{{Exten: "102", Context: inside}, {Exten: "999", Context: inside}, {Exten: "102", Context: theirs}}
			s.Music = []*confdsvc.MOH{{UUID: "m", TenantUUID: acme, Name: "moh-acme-1", Label: "Jazz", Mode: "files"}}
			linear := *g
			linear.ID, linear.UUID, linear.Name, linear.Strategy, linear.MaxCalls = 2, "cccccccc-0000-4000-8000-000000000002", "grp-acme-2", "linear", nil
			linear.Timeout, linear.IgnoreForward, linear.Fallbacks = nil, false, confdsvc.GroupFallbacks{}
			s.Groups = append(s.Groups, &linear)
			s.GroupUsers[linear.UUID] = []confdsvc.ID{2, 1}
		}},
		"keys": {"extensions.conf", func(s *confdsvc.Snapshot) {
			s.Keys = []*confdsvc.FuncKeyTemplate{
				read[confdsvc.FuncKeyTemplate](t, `{"id": 1, "tenant_uuid": "`+acme+`", "keys": {
					"1": {"blf": true, "destination": {"type": "service", "service": "enablednd"}},
					"2": {"blf": true, "destination": {"type": "forward", "forward": "unconditional", "exten": "102"}},
					"3": {"blf": false, "destination": {"type": "forward", "forward": "unconditional", "exten": null}}}}`),
			}
			s.Users[0].FuncKeyTemplateID = new(confdsvc.ID(1))
		}},
		"codes": {"extensions.conf", func(s *confdsvc.Snapshot) {
			for feature, exten := range map[string]string{
				"incallfilter": "*27", "callrecord": "*26", "enablevm": "*90", "phonestatus": "*10", "directoryaccess": "*36", "groupmembertoggle": "_*50.",
				"groupmemberjoin": "_*51.", "groupmemberleave": "_*52.", "recsnd": "*9", "paging": "_*11.", "vmuserpurge": "*92",
			} {
				s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
			}
			s.Groups = append(s.Groups, &confdsvc.Group{ID: 2, UUID: "cccccccc-0000-4000-8000-000000000002", TenantUUID: other, Name: "grp-other-1", Strategy: "all", Enabled: true})
			s.GroupUsers["cccccccc-0000-4000-8000-000000000002"] = []confdsvc.ID{1}
			s.Keys = []*confdsvc.FuncKeyTemplate{
				read[confdsvc.FuncKeyTemplate](t, `{"id": 1, "tenant_uuid": "`+acme+`", "keys": {
					"1": {"blf": true, "destination": {"type": "service", "service": "incallfilter"}},
					"2": {"blf": true, "destination": {"type": "service", "service": "callrecord"}},
					"3": {"blf": true, "destination": {"type": "service", "service": "enablevm"}},
					"4": {"blf": true, "destination": {"type": "service", "service": "phonestatus"}},
					"5": {"blf": true, "destination": {"type": "groupmember", "group_id": 1, "action": "toggle"}},
					"6": {"blf": true, "destination": {"type": "groupmember", "group_id": 1, "action": "join"}},
					"7": {"blf": true, "destination": {"type": "groupmember", "group_id": 2, "action": "leave"}},
					"8": {"blf": true, "destination": {"type": "user", "user_id": 2}},
					"9": {"blf": true, "destination": {"type": "custom", "exten": "102"}},
					"10": {"blf": true, "destination": {"type": "custom", "exten": "200"}},
					"11": {"blf": true, "destination": {"type": "custom", "exten": "777"}},
					"12": {"blf": true, "destination": {"type": "custom", "exten": "DOOR"}},
					"13": {"blf": false, "destination": {"type": "custom", "exten": "778"}},
					"14": {"blf": true, "destination": {"type": "forward", "forward": "busy", "exten": "102"}}}}`),
			}
			s.Users[0].FuncKeyTemplateID = new(confdsvc.ID(1))
		}},
		"calls":  {"confbridge.conf extensions.conf res_parking.conf", func(s *confdsvc.Snapshot) { addCalls(t, s) }},
		"trunks": {"pjsip.conf", func(s *confdsvc.Snapshot) { carrierAt(t, s, "carrier.example") }},
		"transports": {"pjsip.conf", func(s *confdsvc.Snapshot) {
			for name, options := range map[string]string{
				"wss":     `["protocol", "wss"], ["bind", "0.0.0.0:5060"]`,
				"tcp":     `["protocol", "tcp"], ["bind", "0.0.0.0:5060"]`,
				"tls":     `["protocol", "tls"], ["bind", "0.0.0.0:5061"], ["cert_file", "/etc/asterisk/keys/pbx.pem"], ["priv_key_file", "/etc/asterisk/keys/pbx.key"]`,
				"tls-own": `["protocol", "tls"], ["bind", "[::1]:5061"], ["cert_file", "/etc/asterisk/keys/pbx.pem"], ["method", "tlsv1_3"]`,
				"tls-any": `["protocol", "tls"], ["bind", "127.0.0.1:5061"], ["cert_file", "/etc/asterisk/keys/pbx.pem"], ["method", "default"]`,
				"tls-off": `["protocol", "tls"], ["bind", "127.0.0.1:5071"]`,
			} {
				s.Transports = append(s.Transports, read[confdsvc.SIPTransport](t, `{"uuid": "`+name+`", "name": "transport-`+name+`", "options": [`+options+`]}`))
			}
			s.Endpoints[1].Transport = &confdsvc.SIPTransportRef{UUID: "wss", Name: new("transport-wss")}
			s.Endpoints[2].Transport = &confdsvc.SIPTransportRef{UUID: "tls-off", Name: new("transport-tls-off")}
		}},
		"contexts": {"extensions.conf", func(s *confdsvc.Snapshot) {
			s.Contexts = append(s.Contexts,
				&confdsvc.Context{ID: 4, TenantUUID: acme, Name: "ctx-acme-others-1", Label: "Both", Type: "others", Enabled: true},
				&confdsvc.Context{ID: 5, TenantUUID: acme, Name: "ctx-acme-others-2", Label: "Off", Type: "others"})
			s.Includes = map[confdsvc.ID][]confdsvc.ID{4: {1, 5, 3, 4}, 5: {1}}
			s.Extensions[1].Enabled = false
		}},
	}
}

// TestGolden compares what is written for each feature.
func TestGolden(t *testing.T) {
	for name, test := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			s := company(t)
			test.edit(s)
			files := generate(t, s)
			for file := range strings.FieldsSeq(test.files) {
				got := files[file]
				if file == "extensions.conf" {
					got = withoutLibrary(t, got)
				}
				golden := filepath.Join("testdata", name, file)
				if *update {
					if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(golden, got, 0o644); err != nil {
						t.Fatal(err)
					}
					continue
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs from %s, which -update writes anew:\n%s", file, golden, got)
				}
			}
		})
	}
}

func TestStaticFilesIncludeGeneratedOnes(t *testing.T) {
	static, err := asterisk.Static("/var/lib/ringfence/asterisk/generated")
	if err != nil {
		t.Fatal(err)
	}
	files := generate(t, company(t))
	if got, want := slices.Sorted(maps.Keys(static)), slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("static files %v, generated files %v", got, want)
	}
	for name, text := range static {
		f, err := conf.Parse(text)
		if err != nil || len(f.Sections) > 0 || len(f.Includes) != 1 || f.Includes[0].Path != "/var/lib/ringfence/asterisk/generated/"+name || !f.Includes[0].Optional {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// A telephone can speak although nobody chose codecs for it.
func TestCodecs(t *testing.T) {
	s := company(t)
	s.Endpoints[2].Endpoint.V = nil
	f, err := conf.Parse(generate(t, s)["pjsip.conf"])
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"alice": "!all,ulaw", "bob": "!all,ulaw,alaw"} {
		if got := f.Section(name).All("allow"); len(got) != 1 || got[0] != want {
			t.Errorf("%s has the codecs %q", name, got)
		}
	}
}

// A telephone that comes back takes its own place, and may be at as many places as its user has lines, or its line users, unless it is said
// otherwise.
func TestAddressDefaults(t *testing.T) {
	s := company(t)
	s.Endpoints[1].AOR.V = nil
	s.Endpoints[2].AOR.V = [][]string{{"max_contacts", "many"}, {"remove_existing", "no"}, {"remove_unavailable", "no"}, {"qualify_frequency", "0"}}
	s.LineUsers[3] = []confdsvc.ID{2, 1}
	f, err := conf.Parse(generate(t, s)["pjsip.conf"])
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"alice": {"1", "yes", "yes", "60"}, "alice-web": {"2", "yes", "yes", "60"}, "bob": {"2", "no", "no", "0"}}
	seen := 0
	for _, section := range f.Sections {
		if kind, _ := section.Get("type"); kind != "aor" {
			continue
		}
		seen++
		for i, option := range []string{"max_contacts", "remove_existing", "remove_unavailable", "qualify_frequency"} {
			if got := section.All(option); !slices.Equal(got, want[section.Name][i:i+1]) {
				t.Errorf("%s: %s = %q, want %s", section.Name, option, got, want[section.Name][i])
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d aors", seen)
	}
}

func TestSameDataGivesSameBytes(t *testing.T) {
	first := generate(t, company(t))
	for range 20 {
		if again := generate(t, company(t)); !maps.EqualFunc(first, again, bytes.Equal) {
			t.Fatal("the files differ")
		}
	}
}

// A music on hold plays the files of its own folder, wherever that is, and the default music without one.
func TestMusicFolders(t *testing.T) {
	s := company(t)
	s.Music = []*confdsvc.MOH{{UUID: "m", TenantUUID: acme, Name: "moh-acme-1", Mode: "files"}, {UUID: "n", TenantUUID: acme, Name: "moh-acme-2", Mode: "files"}}
	files, _, err := asterisk.Generate(s, asterisk.Options{Music: func(name string) string {
		return map[string]string{"moh-acme-1": "/srv/music/moh-acme-1"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := checkFiles(t, files)["musiconhold.conf"]
	for name, want := range map[string]string{"default": "moh", "moh-acme-1": "/srv/music/moh-acme-1", "moh-acme-2": "moh"} {
		if got, _ := f.Section(name).Get("directory"); got != want {
			t.Errorf("%s: directory %q, want %q", name, got, want)
		}
	}
}

// The names of members are not cut off: Asterisk keeps 79 bytes.
func TestLongMembers(t *testing.T) {
	s := company(t)
	long := strings.Repeat("1234567890", 4)
	s.Groups[0].ID = 1_000_000
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 9, TenantUUID: acme, Exten: long, Context: inside, Enabled: true})
	s.LineExtensions[3] = append(s.LineExtensions[3], 9)
	s.Groups[0].Members.Extensions = []confdsvc.GroupNumber{{Exten: long, Context: inside}}
	members := 0
	for _, v := range checkFiles(t, generate(t, s))["queues.conf"].Section("grp-acme-1").Values {
		if v.Name != "member" {
			continue
		}
		members++
		if name, _, _ := strings.Cut(v.Text, ","); len(name) > 79 {
			t.Errorf("%s has %d bytes", name, len(name))
		}
	}
	if members != 3 {
		t.Errorf("%d members", members)
	}
}

// The lamps of a tenant's function keys are in no context of another tenant: its telephones would watch them.
func TestLampsOfAnotherTenant(t *testing.T) {
	s := company(t)
	goldens(t)["codes"].edit(s)
	f := checkFiles(t, generate(t, s))["extensions.conf"]
	var watch func(name string) []string
	watch = func(name string) (hints []string) {
		for _, v := range f.Section(name).Values {
			if v.Name == "include" {
				hints = append(hints, watch(v.Text)...)
			}
			if exten, hint, is := strings.Cut(v.Text, ",hint,"); is {
				hints = slices.AppendSeq(hints, maps.Values(conf.Watched(exten, hint)))
			}
		}
		return hints
	}
	if len(watch(inside)) < 8 {
		t.Errorf("own: %q", watch(inside))
	}
	if got := watch(theirs); len(got) > 0 {
		t.Errorf("another tenant's telephones watch %q", got)
	}
}

// Asterisk watches no device whose name has more than 79 bytes.
func TestLamps(t *testing.T) {
	s := company(t)
	goldens(t)["codes"].edit(s)
	s.Groups[0].ID = 1_000_000
	s.Keys[0].Keys["5"] = read[confdsvc.FuncKeyTemplate](t, `{"keys": {"5": {"blf": true, "destination": {"type": "groupmember", "group_id": 1000000, "action": "toggle"}}}}`).Keys["5"]
	s.Keys[0].Keys["11"] = read[confdsvc.FuncKeyTemplate](t, `{"keys": {"5": {"blf": true, "destination": {"type": "custom", "exten": "`+strings.Repeat("7", 40)+`"}}}}`).Keys["5"]
	seen := 0
	for _, section := range checkFiles(t, generate(t, s))["extensions.conf"].Sections {
		for _, v := range section.Values {
			exten, hint, is := strings.Cut(v.Text, ",hint,")
			if !is {
				continue
			}
			for _, device := range conf.Watched(exten, hint) {
				seen++
				if strings.HasPrefix(device, "Custom:") && len(device) > 79 {
					t.Errorf("%s has %d bytes", device, len(device))
				}
			}
		}
	}
	if seen < 7 {
		t.Errorf("only %d lamps", seen)
	}
}

// The numbers of many users need a hint for each ten of them, and each is watched as if it had its own. Asterisk compares each hint with every
// other when it reloads the dialplan.
func TestManyLamps(t *testing.T) {
	s := company(t)
	s.Groups[0].RingInUse = false // it watches Alice and Bob
	const many = 1000
	for i := range confdsvc.ID(many) {
		id := i + 1000
		name := fmt.Sprint("many-", id)
		s.Users = append(s.Users, &confdsvc.User{ID: id, UUID: fmt.Sprintf("10000000-0000-4000-8000-%012d", id), TenantUUID: acme})
		s.Lines = append(s.Lines, &confdsvc.Line{ID: id, TenantUUID: acme, Context: inside})
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id, TenantUUID: acme, Exten: fmt.Sprint(id), Context: inside, Enabled: true})
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, `{"uuid": "`+name+`", "tenant_uuid": "`+acme+`", "name": "`+name+`", "auth_section_options": [["username", "`+name+`"], ["password", "secret"]]}`))
		s.UserLines[id], s.LineUsers[id], s.LineExtensions[id], s.LineSIP[id] = []confdsvc.ID{id}, []confdsvc.ID{id}, []confdsvc.ID{id}, name
		s.Keys = append(s.Keys, read[confdsvc.FuncKeyTemplate](t, fmt.Sprintf(`{"id": %d, "tenant_uuid": "%s", "keys": {
			"1": {"blf": true, "destination": {"type": "service", "service": "enablednd"}},
			"2": {"blf": true, "destination": {"type": "forward", "forward": "unconditional", "exten": "%d"}}}}`, id, acme, i), func(k *confdsvc.FuncKeyTemplate) { k.UserID = &id }))
	}
	watched, hints := map[string]string{}, 0
	for _, section := range checkFiles(t, generate(t, s))["extensions.conf"].Sections {
		for _, v := range section.Values {
			if exten, hint, is := strings.Cut(v.Text, ",hint,"); is {
				hints++
				maps.Copy(watched, conf.Watched(exten, hint))
			}
		}
	}
	if hints > 3*many/10+10 || len(watched) != 3*many+4 {
		t.Errorf("%d hints for %d numbers", hints, len(watched))
	}
	for number, device := range map[string]string{
		"1234": "PJSIP/many-1234", "*7351234***25": "Custom:ringfence-dnd-10000000-0000-4000-8000-000000001234",
		"*7351234***21.": "Custom:ringfence-unconditional-10000000-0000-4000-8000-000000001234", alice: "PJSIP/alice&PJSIP/alice-web",
	} {
		if watched[number] != device {
			t.Errorf("%s watches %q", number, watched[number])
		}
	}
}
