package asterisk_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/confdsvc"
)

// startCarrier starts a second Asterisk, at which the company may register, which calls it, and which answers whom it calls.
func startCarrier(t *testing.T) *pbxUnderTest {
	t.Helper()
	b := bootReal(t)
	text := fmt.Sprintf(`[udp]
type = transport
protocol = udp
bind = %s
[acme]
type = endpoint
context = nothing
aors = acme
auth = acme
allow = !all,alaw,ulaw
[acme]
type = aor
max_contacts = 1
minimum_expiration = 10
[acme]
type = auth
auth_type = userpass
username = acme
password = secret-registration
[acme]
type = identify
endpoint = acme
match = 127.0.0.1
`, b.at("sip"))
	if err := os.WriteFile(b.dir+"/etc/pjsip.conf", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.dir+"/etc/extensions.conf", []byte("[nothing]\nexten => _X.,1,Answer()\nsame => n,Wait(600)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.cli("dialplan reload")
	b.cli("module reload res_pjsip.so")
	b.cli("module reload res_pjsip_endpoint_identifier_ip.so")
	return b
}

// A trunk registers at a carrier, is called by it, tells how it is, and registers no longer when it is gone. Telephones behind its address are
// still telephones.
func TestRealTrunk(t *testing.T) {
	carrier := startCarrier(t)
	s := company(t)
	carrierAt(t, s, carrier.at("sip"))
	e := s.Endpoints[3]
	e.AOR.V = [][]string{{"qualify_frequency", "1"}}
	e.Registration.V = append(slices.DeleteFunc(e.Registration.V, func(pair []string) bool { return pair[0] == "retry_interval" }),
		[]string{"retry_interval", "1"}, []string{"expiration", "12"})
	e.Endpoint.V, e.Identify.V, e.OutboundAuth = [][]string{{"allow", "!all,alaw"}, {"dtmf_mode", "rfc4733"}}, nil, e.RegistrationAuth
	a := startReal(t, s)
	a.apply()
	registered := func(want bool) {
		t.Helper()
		wait(t, fmt.Sprintf("the trunk is registered: %v", want), func() bool {
			return strings.Contains(carrier.cli("pjsip show aor acme"), "Contact:  acme/") == want
		}, func() string { return a.cli("pjsip show registrations") + carrier.cli("pjsip show aor acme") + a.log() })
	}
	registered(true)
	tells := func(up bool) {
		t.Helper()
		var is apply.Trunk
		wait(t, fmt.Sprintf("the status tells that it is registered and answers: %v", up), func() (ok bool) {
			is, _ = a.service.Trunk(t.Context(), "carrier")
			return is.Loaded && is.Registered != nil && *is.Registered == up && is.Reachable != nil && *is.Reachable == up && up == (is.Latency != nil && *is.Latency > 0)
		}, func() string { return fmt.Sprintf("%+v\n%s", is, a.cli("pjsip show endpoint carrier")) })
	}
	tells(true)
	_ = carrier.process.Process.Kill()
	<-carrier.ended
	tells(false)
	carrier.boot()
	registered(true)
	tells(true)
	alice, bob := a.phone(t, "alice"), a.phone(t, "bob")
	byAddress := "PJSIP/acme/sip:5550100@" + a.at("sip")
	calledBy := func(when, dial string) {
		t.Helper()
		carrier.cli("channel originate " + dial + " application Wait 60")
		alice.saw("answers")
		a.rest(when, "answer", []*phone{alice, bob})
		carrier.idle()
	}
	calledBy("a call by the registration", "PJSIP/5550100@acme") // the carrier finds it where it has registered

	// Known by its address, which is that of the telephones too. Asterisk decides when it starts that their names come first.
	e.Registration.V, e.Identify.V = nil, [][]string{{"match", "127.0.0.1"}}
	e.AOR.V = [][]string{{"contact", "sip:" + carrier.at("sip")}}
	a.set(s)
	if job := a.job(); job.State != jobs.Done || !strings.Contains(fmt.Sprint(job.Log), "it reads endpoint_identifier_order only when it starts. Restart it") {
		t.Errorf("the job does not say that Asterisk must start anew: %+v", job)
	}
	registered(false)
	_ = a.process.Process.Kill()
	<-a.ended
	a.boot()
	for _, p := range []*phone{alice, bob} { // it was killed before it had kept where they are
		if status := p.register(600); status != 200 {
			t.Fatalf("%s registers again: %d", p.name, status)
		}
	}
	calledBy("a call from the address", byAddress)

	// A number that a user blocks, however it comes, does not ring there, nor does a call without one. Others do.
	s.PhoneNumbers = append(s.PhoneNumbers, &confdsvc.PhoneNumber{TenantUUID: acme, Number: "+33140000000", Main: true, Shared: true})
	for _, number := range []string{"+33612345678", confdsvc.Anonymous} {
		s.Blocked = append(s.Blocked, &confdsvc.BlocklistNumber{TenantUUID: acme, UserID: int64(s.Users[0].ID), Number: number})
	}
	a.set(s)
	a.apply()
	out := fmt.Sprintf("[out]\nexten => _X.,1,Set(CALLERID(num)=${EXTEN})\nsame => n,Dial(%s)\n", byAddress)
	if err := os.WriteFile(carrier.dir+"/etc/extensions.conf", []byte("[nothing]\nexten => _X.,1,Answer()\nsame => n,Wait(600)\n"+out), 0o600); err != nil {
		t.Fatal(err)
	}
	carrier.cli("dialplan reload")
	for _, from := range []string{byAddress, "Local/33612345678@out", "Local/0033612345678@out", "Local/0612345678@out"} {
		a.news()
		carrier.cli("channel originate " + from + " application Wait 60")
		a.said("[blocked@ringfence-end:1]")
		if alice.count("rings")+alice.count("answers") > 0 {
			t.Errorf("blocked, a call from %s has reached alice: %q", from, alice.log())
		}
	}
	calledBy("a call from another number", "Local/0612345679@out")
	s.Blocked = nil
	a.set(s)
	a.apply()
	calledBy("a call of nobody whom she blocks", byAddress)
	c, status := alice.dial("102")
	if status != 200 {
		t.Fatalf("a telephone behind the trunk's address: status %d\n%s", status, a.log())
	}
	bob.saw("answers")
	c.hangUp()
	a.rest("a telephone behind the trunk's address", "answer", []*phone{alice, bob})

	// Without a context nothing is found, and a trunk that is gone is nobody.
	s.Trunks[0].Context = nil
	a.set(s)
	a.apply()
	carrier.cli("channel originate " + byAddress + " application Wait 60")
	a.said("extension not found in context 'ringfence-closed'")
	if alice.count("rings") > 0 {
		t.Error("a trunk without a context is answered")
	}
	s.Trunks[0].Context = new(public)
	e.Registration.V = [][]string{{"server_uri", "sip:" + carrier.at("sip")}, {"client_uri", "sip:acme@" + carrier.at("sip")}}
	a.set(s)
	a.apply()
	registered(true)
	s.Trunks, s.TrunkSIP = []*confdsvc.Trunk{}, nil
	a.set(s)
	a.apply()
	if got := a.cli("pjsip show registrations"); strings.Contains(got, "carrier") {
		t.Errorf("a trunk that is gone registers still: %s", got)
	}
	registered(false)
	if is, err := a.service.Trunk(t.Context(), "carrier"); err != nil || is.Loaded {
		t.Errorf("a trunk that is gone is %+v, %v", is, err)
	}
	a.clean("the trunk is gone")
}

// When the first of two carriers is lost, calls go out by the second, and its own come in; when the first is back, calls go by it again.
func TestRealSecondTrunk(t *testing.T) {
	s := company(t)
	callsOut(t, s, `"ring_time": 20, "trunks": [{"id": 1}, {"id": 2}]`, "")
	s.TrunkSIP = map[confdsvc.ID]string{}
	both := []*pbxUnderTest{startCarrier(t), startCarrier(t)}
	for i, carrier := range both {
		name, at := fmt.Sprintf("carrier-%d", i+1), carrier.at("sip")
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, `{"uuid": "`+name+`", "tenant_uuid": "`+acme+`", "name": "`+name+`",
			"endpoint_section_options": [["allow", "!all,alaw"]], "aor_section_options": [["qualify_frequency", "1"]],
			"registration_section_options": [["server_uri", "sip:`+at+`"], ["client_uri", "sip:acme@`+at+`"], ["contact_user", "5550100"], ["retry_interval", "1"], ["expiration", "12"]],
			"registration_outbound_auth_section_options": [["username", "acme"], ["password", "secret-registration"]],
			"outbound_auth_section_options": [["username", "acme"], ["password", "secret-registration"]]}`))
		s.Trunks = append(s.Trunks, &confdsvc.Trunk{ID: confdsvc.ID(i + 1), TenantUUID: acme, Context: new(public)})
		s.TrunkSIP[confdsvc.ID(i+1)] = name
	}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	is := func(name string, up bool) {
		t.Helper()
		wait(t, fmt.Sprintf("%s is there: %v", name, up), func() bool {
			trunk, _ := a.service.Trunk(t.Context(), name)
			return trunk.Reachable != nil && *trunk.Reachable == up && (!up || trunk.Registered != nil && *trunk.Registered)
		}, func() string { return a.cli("pjsip show registrations") + a.cli("pjsip show contacts") })
	}
	alice, bob := a.phone(t, "alice"), a.phone(t, "bob")
	phones := []*phone{alice, bob}
	// goesBy calls out by a carrier, and lets it call in.
	goesBy := func(when string, carrier *pbxUnderTest) {
		t.Helper()
		if _, got := alice.dial("0123"); got != 200 {
			t.Fatalf("%s: a call out gets %d\n%s", when, got, a.log()[a.read:])
		}
		if got := carrier.cli("core show channels concise"); !strings.Contains(got, "!123!") {
			t.Errorf("%s: the carrier has %q", when, got)
		}
		a.rest(when+", out", "answer", phones)
		carrier.idle()
		carrier.cli("channel originate PJSIP/5550100@acme application Wait 600")
		alice.saw("answers")
		a.rest(when+", in", "answer", phones)
		carrier.idle()
	}
	is("carrier-1", true)
	is("carrier-2", true)
	goesBy("both are there", both[0])
	_ = both[0].process.Process.Kill()
	<-both[0].ended
	is("carrier-1", false)
	goesBy("the first is lost", both[1])
	both[0].boot()
	is("carrier-1", true)
	goesBy("the first is back", both[0])
}
