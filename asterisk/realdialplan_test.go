package asterisk_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/confdsvc"
)

// outsideOf gives the office two carriers, at which a number is dialled behind a 0: telephones stand for them. The first one may call in by its login.
func outsideOf(t *testing.T, a *pbxUnderTest, s *confdsvc.Snapshot) (carriers []*phone) {
	t.Helper()
	callsOut(t, s, `"ring_time": 20, "trunks": [{"id": 1}, {"id": 2}]`, "")
	s.TrunkSIP = map[confdsvc.ID]string{}
	for i := range 2 {
		name := fmt.Sprintf("carrier-%d", i+1)
		carrier := newPhone(t, a.at("sip"), name, name, "secret-"+name)
		e := read[confdsvc.EndpointSIP](t, `{"uuid": "`+name+`", "tenant_uuid": "`+acme+`", "name": "`+name+`", "endpoint_section_options": [["allow", "!all,ulaw"]],
			"aor_section_options": [["contact", "sip:`+name+`@`+carrier.wire.sentBy+`"], ["qualify_frequency", "0"]]}`)
		if i == 0 {
			e.Auth.V = [][]string{{"username", name}, {"password", "secret-" + name}}
		}
		carriers, s.Endpoints = append(carriers, carrier), append(s.Endpoints, e)
		s.Trunks = append(s.Trunks, &confdsvc.Trunk{ID: confdsvc.ID(i + 1), TenantUUID: acme, Context: new(public)})
		s.TrunkSIP[confdsvc.ID(i+1)] = name
	}
	return carriers
}

// What Asterisk writes of each call, and of each event, tells whose it is, which way it goes and by which trunk.
func TestRealRecords(t *testing.T) {
	s := office(t)
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 51, TenantUUID: acme, Exten: "5550101", Context: public, Enabled: true})
	s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: 2, TenantUUID: acme, Destination: *to(t, `{"type": "group", "group_id": 1}`)})
	s.IncallExtensions[2] = []confdsvc.ID{51}
	s.Groups[0].Timeout = new(int64(4))
	a := startReal(t, s)
	carriers := outsideOf(t, a, s)
	a.set(s)
	a.apply()
	first, second := carriers[0], carriers[1]
	phones := map[string]*phone{"carrier": first}
	all := []*phone{first, second}
	for _, name := range []string{"alice", "bob", "dave"} {
		phones[name] = a.phone(t, name)
		all = append(all, phones[name])
	}
	written := 0
	records := func() (lines []string) {
		text, _ := os.ReadFile(a.dir + "/log/cdr-custom/" + cdr.File)
		for line := range strings.Lines(string(text)) {
			r, err := cdr.Parse(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s,%s,%s,%s", r.Direction, r.User, r.Tenant, r.Disposition))
		}
		return lines[min(written, len(lines)):]
	}
	// calls has somebody call, and says what is written of it.
	calls := func(who, number string, want ...string) {
		t.Helper()
		if _, got := phones[who].dial(number); got != 200 {
			t.Fatalf("%s dials %s: %d\n%s", who, number, got, a.log()[a.read:])
		}
		a.rest(who+" dials "+number, "answer", all)
		wait(t, "the records of "+who+" to "+number, func() bool { return slices.Equal(records(), want) }, func() string {
			return strings.Join(records(), "\n") + "\nwanted:\n" + strings.Join(want, "\n")
		})
		written += len(want)
	}
	record := func(direction, user, disposition string) string {
		return fmt.Sprintf("%s,%s,%s,%s", direction, user, acme, disposition)
	}
	calls("alice", "102", record("internal", alice, "ANSWERED"))
	calls("alice", "*10", record("internal", alice, "ANSWERED"))
	calls("carrier", "5550100", record("inbound", alice, "ANSWERED"))
	first.when("503 Service Unavailable")
	calls("dave", "01234", record("outbound", dave, "FAILED"), record("outbound", dave, "ANSWERED"))
	a.store(bob, "unconditional", "01234")
	calls("dave", "102", record("outbound", bob, "ANSWERED"))
	a.store(bob, "unconditional", "")
	phones["bob"].when("busy")
	phones["alice"].when("busy")
	if _, got := phones["carrier"].dial("5550101"); got == 200 {
		t.Error("a group of the busy answers")
	}
	a.rest("a group", "answer", all)
	want := []string{record("inbound", alice, "BUSY"), record("inbound", bob, "BUSY"), record("inbound", "", "NO ANSWER")}
	wait(t, "the records of a group", func() bool {
		return !slices.ContainsFunc(want, func(line string) bool { return !slices.Contains(records(), line) })
	}, func() string { return strings.Join(records(), "\n") })
	for _, line := range records() {
		if !slices.Contains(want, line) {
			t.Errorf("of a call to a group from outside: %s", line)
		}
	}
	a.clean("the records")
	events, _ := os.ReadFile(a.dir + "/log/cel-custom/Master.csv")
	for _, line := range [][3]string{{"internal", alice, ""}, {"inbound", alice, "1"}, {"outbound", dave, "2"}} {
		for _, event := range []string{"ANSWER", "HANGUP"} {
			if event += fmt.Sprintf(",%s,direction=%s tenant=%[1]s user=%[3]s trunk=%[4]s", acme, line[0], line[1], line[2]); !strings.Contains(string(events), event+"\n") {
				t.Errorf("no event %s in\n%s", event, events)
			}
		}
	}
}

// A call lasts as long as the operator lets it, and no longer once it is handed on to somebody else.
func TestRealLongestCall(t *testing.T) {
	s := office(t)
	a := startReal(t, s)
	a.longest = 5 * time.Second
	a.apply()
	alicePhone, bobPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "dave")
	c, status := alicePhone.dial("102")
	if status != 200 {
		t.Fatalf("status %d\n%s", status, a.log())
	}
	c.ended()
	bobPhone.saw("hung up by the other side")
	a.clean("the first call")
	if c, status = alicePhone.dial("102"); status != 200 {
		t.Fatalf("status %d\n%s", status, a.log())
	}
	log := func() string { return a.log()[a.read:] }
	wait(t, "that they hear each other", func() bool { return strings.Count(log(), "joined 'simple_bridge'") > 1 }, log)
	c.transfer("104", nil)
	davePhone.saw("answers")
	davePhone.saw("hung up by the other side")
	a.idle()
	a.clean("the longest call")
}

// A call that runs in circles ends with 482: inside, and by a carrier that sends it back.
func TestRealLoops(t *testing.T) {
	carrier := startCarrier(t)
	if err := os.WriteFile(carrier.dir+"/etc/extensions.conf", []byte("[nothing]\nexten => _X.,1,Dial(PJSIP/5550100@acme)\nsame => n,Hangup(${HANGUPCAUSE})\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	carrier.cli("dialplan reload")
	s := office(t)
	carrierAt(t, s, carrier.at("sip"))
	e := s.Endpoints[len(s.Endpoints)-1]
	e.Endpoint.V, e.Identify.V, e.OutboundAuth = [][]string{{"allow", "!all,ulaw"}}, nil, e.RegistrationAuth
	callsOut(t, s, `"trunks": [{"id": 1}, {"id": 1}]`, "")
	a := startReal(t, s)
	a.apply()
	phones := []*phone{a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "dave")}
	a.store(alice, "unconditional", "102")
	a.store(bob, "unconditional", "101")
	if _, status := phones[2].dial("101"); status != 482 {
		t.Errorf("two users who forward to each other: status %d\n%s", status, a.log()[a.read:])
	}
	a.rest("a circle inside", "answer", phones)

	wait(t, "the trunk is registered", func() bool { return strings.Contains(carrier.cli("pjsip show aor acme"), "Contact:  acme/") }, nil)
	a.store(alice, "unconditional", "05550100")
	carrier.cli("channel originate PJSIP/5550100@acme application Wait 60")
	a.said("PJSIPHangup(")
	carrier.idle()
	a.idle()
	if n := strings.Count(a.log()[a.read:], "app_dial.c: Called"); n > 40 {
		t.Errorf("a call that a carrier sends back is sent out %d times", n)
	}
	a.clean("a circle by a carrier")
}

// A call goes through the subroutine that who is called names, if Asterisk's own file has it, and on without it if it is gone since. No other context
// is called.
func TestRealSubroutine(t *testing.T) {
	s := office(t)
	s.Users[1].PreprocessSubroutine, s.Users[3].PreprocessSubroutine = new("before"), new("before")
	a := startReal(t, s)
	own := a.dir + "/etc/extensions.conf"
	generated, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	write := func(context string) {
		t.Helper()
		text := context + "exten => s,1,Verbose(0,before ${ARG1} ${ARG2} of ${WAZO_TENANT_UUID})\nsame => n,Return()\n"
		if err := os.WriteFile(own, append([]byte(text), generated...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[subroutine-before]\n")
	a.apply()
	phones := []*phone{a.phone(t, "alice"), a.phone(t, "bob")}
	call := func() {
		t.Helper()
		if _, status := phones[0].dial("102"); status != 200 {
			t.Fatalf("status %d\n%s", status, a.log())
		}
	}
	call()
	a.said("before user " + bob + " of " + acme)
	a.rest("a subroutine", "answer", phones)
	write("[before]\n")
	a.cli("dialplan reload")
	call()
	if strings.Contains(a.log()[a.read:], "before user") {
		t.Error("another context is called")
	}
	a.rest("a subroutine that is gone", "answer", phones)
	a.apply()
	call()
	if strings.Contains(a.log()[a.read:], "ringfence-preprocess") {
		t.Error("a subroutine that is not there is asked for")
	}
	a.rest("without a subroutine", "answer", phones)
}
