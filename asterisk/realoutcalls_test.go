package asterisk_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/confdsvc"
)

// outgoing is the context of a company's calls to the outside.
const outgoing = "ctx-acme-outcall-1"

// callsOut lets the telephones of a company call 0 and a number outside, by an outgoing call with these attributes, and with what it does to the number.
func callsOut(t *testing.T, s *confdsvc.Snapshot, attributes, dialling string) {
	t.Helper()
	s.Contexts = append(s.Contexts, &confdsvc.Context{ID: 6, TenantUUID: acme, Name: outgoing, Label: "To outside", Type: "outcall", Enabled: true})
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {6}}
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 600, TenantUUID: acme, Exten: "_0X.", Context: outgoing, Enabled: true})
	s.Outcalls = []*confdsvc.Outcall{read[confdsvc.Outcall](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "out", "enabled": true, `+attributes+`,
		"extensions": [{"id": 600, "exten": "_0X.", "context": "`+outgoing+`", "strip_digits": 1`+dialling+`}]}`)}
}

// startCarriers starts an Asterisk with a company whose telephones call 0 and a number outside by two trunks: telephones stand for their carriers.
func startCarriers(t *testing.T, s *confdsvc.Snapshot) (a *pbxUnderTest, first, second *phone) {
	t.Helper()
	callsOut(t, s, `"ring_time": 20, "trunks": [{"id": 1}, {"id": 2}]`, `, "prefix": "33", "external_prefix": "+"`)
	a = startReal(t, s)
	both := carriers(t, a, s)
	return a, both[0], both[1]
}

// carriers gives a company two trunks, to telephones that stand for their carriers.
func carriers(t *testing.T, a *pbxUnderTest, s *confdsvc.Snapshot) []*phone {
	t.Helper()
	carriers := make([]*phone, 2)
	s.TrunkSIP = map[confdsvc.ID]string{}
	for i := range carriers {
		name := fmt.Sprintf("carrier-%d", i+1)
		carriers[i] = newPhone(t, a.at("sip"), name, name, "")
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, `{"uuid": "`+name+`", "tenant_uuid": "`+acme+`", "name": "`+name+`",
			"aor_section_options": [["contact", "sip:`+name+`@`+carriers[i].wire.sentBy+`"], ["qualify_frequency", "0"]],
			"endpoint_section_options": [["allow", "!all,ulaw"], ["send_diversion", "yes"], ["send_pai", "yes"]]}`))
		s.Trunks = append(s.Trunks, &confdsvc.Trunk{ID: confdsvc.ID(i + 1), TenantUUID: acme})
		s.TrunkSIP[confdsvc.ID(i+1)] = name
	}
	return carriers
}

// Calls to the outside, as two carriers see them: telephones that stand for them answer, are busy, or have no line.
func TestRealOutgoingCalls(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 30)
		u.CallTransferEnabled = new(true)
	}
	alice, bobUser, carolUser := s.Users[0], s.Users[1], s.Users[2]
	alice.OutgoingCallerID, bobUser.OutgoingCallerID = new(`"Sales" <5550199>`), new("anonymous")
	carolUser.CallPermissionPassword = new("77")
	s.CallPermissions = []*confdsvc.CallPermission{
		read[confdsvc.CallPermission](t, `{"id": 5, "tenant_uuid": "`+acme+`", "name": "Dear", "mode": "deny", "enabled": true, "password": "44", "extensions": ["_009X."]}`),
		read[confdsvc.CallPermission](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Premium", "mode": "deny", "enabled": true, "extensions": ["_0090X.", "_["]}`),
		read[confdsvc.CallPermission](t, `{"id": 2, "tenant_uuid": "`+acme+`", "name": "Weather", "mode": "allow", "enabled": true, "extensions": ["009001"]}`),
		read[confdsvc.CallPermission](t, `{"id": 3, "tenant_uuid": "`+acme+`", "name": "Far", "mode": "deny", "enabled": true, "password": "55", "extensions": ["0001X.", "_0001X."]}`),
		read[confdsvc.CallPermission](t, `{"id": 4, "tenant_uuid": "`+acme+`", "name": "Nobody", "mode": "deny", "enabled": true, "extensions": ["0666"]}`),
	}
	s.CallPermissions = append(s.CallPermissions,
		read[confdsvc.CallPermission](t, `{"id": 6, "tenant_uuid": "`+acme+`", "name": "Sales", "mode": "deny", "enabled": true, "extensions": ["0777"]}`))
	s.UserCallPermissions, s.GroupCallPermissions = map[confdsvc.ID][]confdsvc.ID{2: {1, 2, 5}, 3: {3}}, map[string][]confdsvc.ID{sales: {6}}
	a, first, second := startCarriers(t, s)
	s.Outcalls[0].CallPermissions = []confdsvc.OutcallPermission{{CallPermissionRef: confdsvc.CallPermissionRef{ID: 4}}}
	a.set(s)
	a.apply()
	a.clean("the first apply")
	phones := map[string]*phone{}
	all := []*phone{first, second}
	for _, name := range []string{"alice", "bob", "carol", "dave"} {
		phones[name] = a.phone(t, name)
		all = append(all, phones[name])
	}
	rest := func(when string) { t.Helper(); a.rest(when, "answer", all) }
	call := func(who, number string, want int, by *phone) *call {
		t.Helper()
		c, got := phones[who].dial(number)
		if got != want {
			t.Fatalf("%s dials %s: %d, want %d\n%s", who, number, got, want, a.log()[a.read:])
		}
		if by != nil {
			by.saw("rings")
		}
		return c
	}
	sees := func(p *phone, header, want string) {
		t.Helper()
		if c := p.current(); c == nil || !strings.Contains(c.invite.get(header)+" "+c.invite.first, want) {
			t.Errorf("%s: %s is %q, want %q", p.name, header, c.invite.get(header), want)
		}
	}

	call("dave", "01234", 200, first)
	sees(first, "", "sip:+331234@") // stripped, with both prefixes
	sees(first, "From", "<sip:104@")
	rest("a call out")
	call("alice", "01234", 200, first)
	sees(first, "From", `"Sales" <sip:5550199@`)
	rest("a chosen caller ID")
	call("bob", "01234", 200, first)
	sees(first, "From", "anonymous")
	rest("a withheld caller ID")

	first.when("503 Service Unavailable")
	call("dave", "01234", 200, second)
	rest("the second trunk")
	first.when("busy")
	call("dave", "01234", 486, nil)
	first.when("404 Not Found")
	call("dave", "01234", 404, nil)
	if n := second.count("rings"); n > 0 {
		t.Errorf("the second carrier has got %d calls", n)
	}
	first.when("503 Service Unavailable")
	second.when("503 Service Unavailable")
	call("dave", "01234", 503, nil)
	rest("no trunk")

	call("bob", "0666", 403, nil)
	call("dave", "0666", 403, nil)    // of the outgoing call
	call("alice", "0777", 403, nil)   // of a group that she is in
	call("dave", "0777", 200, first)  // he is in none
	call("bob", "009002", 403, nil)   // for good, although other digits lift another refusal of it
	call("bob", "009001", 200, first) // allowed by another
	rest("what a user may not")
	for digits, may := range map[string]bool{"55": true, "77": true, "66": false} {
		c := call("carol", "000123", 200, nil)
		wait(t, "digits are asked for", func() bool { return strings.Contains(a.log()[a.read:], "vm-password") }, func() string { return a.log()[a.read:] })
		c.press(digits + "#")
		if may {
			first.saw("rings")
		} else {
			c.ended()
		}
		rest("the digits " + digits)
	}

	// Whoever sends a call on has the say, and is seen.
	a.store(bob, "unconditional", "009002")
	call("dave", "102", 403, nil)
	a.store(bob, "unconditional", "01234")
	call("dave", "102", 200, first)
	sees(first, "From", "anonymous")
	sees(first, "Diversion", "<sip:102@")
	rest("forwarded")
	a.store(bob, "unconditional", "")
	log := func() string { return a.log()[a.read:] }
	for _, by := range []string{"*1", "*2", "REFER"} { // blind, after asking, and by the telephone itself
		for number, may := range map[string]bool{"009002": false, "01234": true} {
			call("dave", "102", 200, nil)
			phones["bob"].saw("answers")
			wait(t, "that they hear each other", func() bool { return strings.Count(log(), "joined 'simple_bridge'") > 1 }, log)
			if c := phones["bob"].current(); by == "REFER" {
				c.transfer(number, nil)
			} else {
				c.press(by)
				wait(t, "a transfer", func() bool { return strings.Contains(log(), "pbx-transfer") }, log)
				c.press(number)
			}
			if may {
				first.saw("rings")
				sees(first, "From", "anonymous")
			} else {
				wait(t, "a refusal", func() bool { return strings.Contains(log(), "[refused@ringfence-outgoing:") }, log)
				if n := first.count("rings") + second.count("rings"); n > 0 {
					t.Errorf("%s to %s: a carrier is called", by, number)
				}
			}
			rest(by + " to " + number)
		}
	}

	// Whoever has chosen none has the tenant's main number, and each trunk its own format.
	s.PhoneNumbers = []*confdsvc.PhoneNumber{{TenantUUID: acme, Number: "+49301234", Main: true, Shared: true}, {TenantUUID: acme, Number: "+5550199"}}
	s.Trunks[0].OutgoingCallerIDFormat, s.Trunks[1].OutgoingCallerIDFormat = "E164", "national"
	s.Endpoints[len(s.Endpoints)-2].Endpoint.V = append(s.Endpoints[len(s.Endpoints)-2].Endpoint.V, []string{"trust_id_outbound", "yes"})
	a.set(s)
	a.apply()
	call("dave", "01234", 200, first)
	sees(first, "From", "<sip:49301234@")
	rest("the main number")
	call("bob", "01234", 200, first)
	sees(first, "From", "anonymous")
	sees(first, "P-Asserted-Identity", "<sip:49301234@")
	sees(first, "Privacy", "id")
	rest("the main number, withheld")
	first.when("503 Service Unavailable")
	call("dave", "01234", 200, second)
	sees(second, "From", "<sip:0301234@")
	rest("the main number inside the country")
	first.when("503 Service Unavailable")
	call("alice", "01234", 200, second)
	sees(second, "From", `"Sales" <sip:+5550199@`)
	rest("a number of another country")
	s.Outcalls[0].InternalCallerID = true
	a.set(s)
	a.apply()
	call("alice", "01234", 200, first)
	sees(first, "From", "<sip:101@")
	rest("the number inside")
}

// Emergency calls go out whatever keeps others from that, over any trunk, and say where they come from.
func TestRealEmergencyCalls(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 30)
	}
	s.Users[1].OutgoingCallerID = new("anonymous")
	callsOut(t, s, `"trunks": [{"id": 1}, {"id": 2}], "call_permissions": [{"id": 1}], "schedules": [{"id": 1}]`, `, "prefix": "33"`)
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 601, TenantUUID: acme, Exten: "_1XX", Context: outgoing, Enabled: true})
	s.Outcalls[0].Extensions = append(s.Outcalls[0].Extensions, read[confdsvc.Outcall](t, `{"extensions": [{"id": 601, "exten": "_1XX", "context": "`+outgoing+`"}]}`).Extensions...)
	s.CallPermissions = []*confdsvc.CallPermission{
		read[confdsvc.CallPermission](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Nothing", "mode": "deny", "enabled": true, "extensions": ["_X."]}`),
	}
	s.UserCallPermissions = map[confdsvc.ID][]confdsvc.ID{2: {1}}
	s.Schedules = []*confdsvc.Schedule{
		read[confdsvc.Schedule](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Never", "enabled": true, "closed_destination": {"type": "hangup", "cause": "busy"}, "open_periods": []}`),
	}
	s.PhoneNumbers = []*confdsvc.PhoneNumber{{TenantUUID: acme, Number: "+49301234", Main: true, Shared: true}}
	s.Master = other
	s.Emergencies = []*confdsvc.EmergencyNumber{
		read[confdsvc.EmergencyNumber](t, `{"id": 1, "tenant_uuid": "`+other+`", "number": "110", "caller_id": "+1911"}`),
		read[confdsvc.EmergencyNumber](t, `{"id": 2, "tenant_uuid": "`+acme+`", "number": "112"}`),
		read[confdsvc.EmergencyNumber](t, `{"id": 3, "tenant_uuid": "`+acme+`", "number": "112", "context": "`+inside+`", "caller_id": "\"Berlin\" <+49305678>"}`),
		read(t, `{"id": 4, "tenant_uuid": "`+acme+`", "number": "112", "caller_id": "+49891234", "trunks": [{"id": 2}]}`, func(n *confdsvc.EmergencyNumber) {
			n.Users = []confdsvc.UserRef{{ID: 3, UUID: s.Users[2].UUID}}
		}),
	}
	a := startReal(t, s)
	carriers := carriers(t, a, s)
	s.Trunks[1].OutgoingCallerIDFormat = "national"
	s.Endpoints[len(s.Endpoints)-2].AOR.V[1] = []string{"qualify_frequency", "1"}
	a.set(s)
	a.apply()
	a.clean("the first apply")
	first, second := carriers[0], carriers[1]
	phones := map[string]*phone{}
	all := []*phone{first, second}
	for _, name := range []string{"bob", "carol", "dave"} {
		phones[name] = a.phone(t, name)
		all = append(all, phones[name])
	}
	call := func(who, number string, by *phone, from string) {
		t.Helper()
		if _, got := phones[who].dial(number); got != 200 {
			t.Fatalf("%s dials %s: %d\n%s", who, number, got, a.log()[a.read:])
		}
		by.saw("rings")
		if c := by.current(); c == nil || !strings.Contains(c.invite.get("From"), from) || !strings.Contains(c.invite.first, "sip:"+number[len(number)-3:]+"@") {
			t.Errorf("%s dials %s: %q", who, number, c.invite.get("From"))
		}
		a.rest(who+" dials "+number, "answer", all)
	}
	if _, got := phones["dave"].dial("0123"); got != 486 {
		t.Errorf("a call that is none gets %d", got)
	}
	a.rest("a closed schedule", "answer", all)
	a.store(bob, "dnd", "1")
	call("bob", "112", first, `"Berlin" <sip:+49305678@`)
	call("bob", "0112", first, "<sip:+49305678@") // behind the digit of calls to the outside
	call("bob", "110", first, "<sip:+49301234@")  // of the installation, with the tenant's number
	call("carol", "112", second, "<sip:0891234@")
	first.when("503 Service Unavailable")
	call("bob", "112", second, `"Berlin" <sip:0305678@`)
	first.when("404 Not Found")
	call("bob", "110", second, "<sip:0301234@")
	first.when("busy")
	call("dave", "112", second, "<sip:0305678@")
	first.when("silent")
	wait(t, "Asterisk finds the first carrier gone", func() bool {
		is, _ := a.service.Trunk(t.Context(), "carrier-1")
		return is.Reachable != nil && !*is.Reachable
	}, func() string { return a.cli("pjsip show contacts") })
	call("dave", "112", second, "<sip:0305678@")
	if n := first.count("does not answer INVITE"); n > 0 {
		t.Errorf("a carrier that is gone is called %d times", n)
	}
}

// Calls to the outside are limited: at once, within a minute, and by the minutes of a day. The log says so, as the documented filter reads it.
func TestRealCallLimits(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		u.CallTransferEnabled = new(true)
	}
	dave := s.Users[3]
	s.Tenants = []*confdsvc.Tenant{{UUID: acme}}
	s.Emergencies = []*confdsvc.EmergencyNumber{read[confdsvc.EmergencyNumber](t, `{"id": 1, "tenant_uuid": "`+acme+`", "number": "112"}`)}
	a, first, second := startCarriers(t, s)
	limits := []*confdsvc.CallLimits{&s.Tenants[0].CallLimits, &s.Outcalls[0].CallLimits, &s.Trunks[0].CallLimits, &s.Trunks[1].CallLimits, &dave.CallLimits}
	limited := func(one *confdsvc.CallLimits, to confdsvc.CallLimits) {
		t.Helper()
		for _, l := range limits {
			*l = confdsvc.CallLimits{}
		}
		*one = to
		a.set(s)
		a.apply()
		a.clean("limits")
	}
	limited(&s.Trunks[0].CallLimits, confdsvc.CallLimits{MaxCalls: new(int64(1))})
	phones, all := map[string]*phone{}, []*phone{first, second}
	for _, name := range []string{"alice", "bob", "carol", "dave"} {
		phones[name] = a.phone(t, name)
		all = append(all, phones[name])
	}
	rest := func(when string) { t.Helper(); a.rest(when, "answer", all) }
	dial := func(who string, want int) *call {
		t.Helper()
		c, got := phones[who].dial("01234")
		if got != want {
			t.Fatalf("%s dials: %d, want %d\n%s", who, got, want, a.log()[a.read:])
		}
		return c
	}
	told := func(limit, of string) {
		t.Helper()
		a.said("Call limit reached: limit=" + limit + " of=" + of + " tenant=" + acme + " user=")
	}

	dial("dave", 200)
	first.saw("rings")
	dial("carol", 200) // by the next trunk
	second.saw("rings")
	told("max_calls", "trunk-1")
	if _, got := phones["bob"].dial("112"); got != 200 {
		t.Errorf("an emergency call over a full trunk: %d", got)
	}
	first.saw("rings")
	rest("a full trunk")
	dial("carol", 200) // there is room again
	first.saw("rings")
	rest("a trunk with room")

	limited(&dave.CallLimits, confdsvc.CallLimits{MaxCalls: new(int64(1))})
	c := dial("dave", 200)
	dial("dave", 503)
	told("max_calls", "user-"+dave.UUID)
	filter := regexp.MustCompile(`failregex = (.+)`).FindStringSubmatch(documentation(t))
	line := regexp.MustCompile(`(?m)^.*WARNING\[.*Call limit reached.*$`).FindString(a.log()[a.read:])
	found := regexp.MustCompile(strings.ReplaceAll(filter[1], "<HOST>", `\[?(?P<host>[0-9a-fA-F.:]+?)\]?`)).FindStringSubmatch(line)
	if len(found) != 2 || found[1] != "127.0.0.1" {
		t.Errorf("the filter %s finds %q in %s", filter[1], found, line)
	}
	dial("carol", 200) // who has no limit
	c.transfer("102", nil)
	phones["bob"].saw("answers")
	dial("dave", 503) // the call goes on without him, and still is his
	rest("a user's limit")
	dial("dave", 200)
	rest("a user with room")

	limited(&s.Outcalls[0].CallLimits, confdsvc.CallLimits{MaxCallsPerMinute: new(int64(1))})
	for minute := ""; minute != time.Now().Format("1504"); { // once more if the minute has ended meanwhile
		minute = time.Now().Format("1504")
		a.cli("dialplan set global RINGFENCE_BEGAN_outcall-1 0-0")
		dial("carol", 200)
		_, got := phones["bob"].dial("01234")
		if minute == time.Now().Format("1504") && got != 503 {
			t.Fatalf("a second call within a minute: %d", got)
		}
	}
	told("max_calls_per_minute", "outcall-1")
	rest("an outgoing call's limit")

	limited(&s.Tenants[0].CallLimits, confdsvc.CallLimits{MaxMinutesPerDay: new(int64(1))})
	tenant, today := "tenant-"+acme, time.Now().Format("20060102")
	kept := func(key string) string {
		_, value, _ := strings.Cut(strings.TrimSpace(a.cli("database get ringfence-minutes "+key)), "Value: ")
		return value
	}
	a.cli("database put ringfence-minutes day " + today)
	a.cli("database put ringfence-minutes " + tenant + " 58")
	dial("carol", 200).ended()
	wait(t, "the minute is used up", func() bool { n, _ := strconv.Atoi(kept(tenant)); return n >= 60 }, func() string { return kept(tenant) })
	dial("bob", 503)
	told("max_minutes_per_day", tenant)
	rest("a tenant's limit")
	a.cli("database put ringfence-minutes day 20000101")
	dial("bob", 200)
	rest("another day")
	wait(t, "another day begins", func() bool { return kept("day") == today && len(kept(tenant)) == 1 }, func() string { return kept("day") + " " + kept(tenant) })

	limited(&s.Tenants[0].CallLimits, confdsvc.CallLimits{MaxCalls: new(int64(2))})
	var work sync.WaitGroup
	var answered atomic.Int64
	for i := range 12 {
		work.Go(func() {
			if c, _ := all[2+i%4].dial("01234"); c != nil {
				answered.Add(1)
			}
		})
	}
	work.Wait()
	if n := first.count("rings") + second.count("rings"); n > 2 || answered.Load() > 2 {
		t.Errorf("of 12 calls at once the carriers get %d, where 2 may be", n)
	}
	rest("calls at once")
}

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/asterisk.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
