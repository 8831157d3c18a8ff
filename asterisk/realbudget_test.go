package asterisk_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/confdsvc"
)

// BenchmarkRealApply makes many users with keys live at a real Asterisk, then changes of one of them, while a telephone goes on calling another.
// The times are those of an apply without reading the database; own-cpu-s is also that of the telephones.
func BenchmarkRealApply(b *testing.B) {
	for name, size := range map[string][2]int{"10000": {10_000, 1}, "1000in100": {1000, 100}} {
		b.Run(name, func(b *testing.B) {
			s := crowd(b, size[0], size[1])
			a := startReal(b, s)
			for b.Loop() {
				timed := func(what string, do func()) {
					begin, own, its := time.Now(), cpu(b, "self"), cpu(b, fmt.Sprint(a.process.Process.Pid))
					do()
					b.ReportMetric(time.Since(begin).Seconds(), "s/"+what)
					b.ReportMetric(cpu(b, "self")-own, "own-cpu-s/"+what)
					b.ReportMetric(cpu(b, fmt.Sprint(a.process.Process.Pid))-its, "asterisk-cpu-s/"+what)
				}
				timed("first", a.apply)
				caller, called := a.phone(b, "sip100000"), a.phone(b, "sip100001")
				if got := caller.subscribe("10001"); got != 200 {
					b.Fatalf("a lamp: %d", got)
				}
				laps, stop := make(chan time.Duration), make(chan struct{})
				var calling sync.WaitGroup
				calling.Go(func() {
					longest := time.Duration(0)
					for {
						select {
						case <-stop:
							return
						case laps <- longest:
							longest = 0
							continue
						case <-time.After(50 * time.Millisecond): // or calls would take all that the machine can do
						}
						begin := time.Now()
						call, got := caller.dial("10001")
						if longest = max(longest, time.Since(begin)); got != 200 {
							b.Errorf("a call: %d", got)
							continue
						}
						call.hangUp()
					}
				})
				meanwhile := func(what string, change func()) {
					change()
					<-laps
					timed(what, a.apply)
					b.ReportMetric(float64((<-laps).Milliseconds()), "ms/"+what) // the longest call, also if it is answered later
				}
				meanwhile("ringtime", func() { s.Users[5].RingSeconds = new(int64(17)) })
				meanwhile("name", func() { s.Endpoints[5].Endpoint.V[0][1] = `"Another Name" <10005>` })
				meanwhile("password", func() { s.Endpoints[6].Auth.V[1][1] = "another-secret" })
				meanwhile("user", func() { join(b, s, size[0], 0) })
				close(stop)
				calling.Wait()
				called.hangUpAll()
				timed("force", a.force)
			}
			a.forgive() // on a busy machine it warns of its queues
		})
	}
}

// cpu returns how many seconds of a processor a process has used, itself and its system calls.
func cpu(tb testing.TB, process string) float64 {
	tb.Helper()
	text, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		tb.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	user, err1 := strconv.ParseFloat(fields[12], 64)
	system, err2 := strconv.ParseFloat(fields[13], 64)
	if err1 != nil || err2 != nil {
		tb.Fatalf("%s", text)
	}
	return (user + system) / 100
}

// crowd is an installation of so many users, in so many tenants, each with a mailbox, a telephone, and keys that watch four others and
// two services.
func crowd(tb testing.TB, users, tenants int) *confdsvc.Snapshot {
	tb.Helper()
	s := &confdsvc.Snapshot{
		Slugs: map[string]string{}, Transports: company(tb).Transports, Features: company(tb).Features,
		UserLines: map[confdsvc.ID][]confdsvc.ID{}, LineUsers: map[confdsvc.ID][]confdsvc.ID{}, LineExtensions: map[confdsvc.ID][]confdsvc.ID{}, LineSIP: map[confdsvc.ID]string{}, UserVoicemail: map[confdsvc.ID]confdsvc.ID{},
	}
	for i := range users {
		join(tb, s, i, i*tenants/users)
	}
	const tenant, outgoing = "aaaaaaaa-0000-4000-8000-000000000000", "ctx-t0-outcall"
	s.Contexts = append(s.Contexts, &confdsvc.Context{ID: confdsvc.ID(users + 1), TenantUUID: tenant, Name: outgoing, Type: "outcall", Enabled: true})
	s.Includes, s.TrunkSIP = map[confdsvc.ID][]confdsvc.ID{1: {confdsvc.ID(users + 1)}}, map[confdsvc.ID]string{}
	for i := range manyTrunks {
		id, name := confdsvc.ID(i+1), fmt.Sprint("carrier", i)
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](tb, fmt.Sprintf(`{"uuid": "%s", "tenant_uuid": "%s", "name": "%[1]s",
			"identify_section_options": [["match", "192.0.2.%[3]d"]], "aor_section_options": [["contact", "sip:192.0.2.%[3]d"], ["qualify_frequency", "0"]]}`, name, tenant, i+1)))
		s.Trunks, s.TrunkSIP[id] = append(s.Trunks, &confdsvc.Trunk{ID: id, TenantUUID: tenant}), name
		pattern := confdsvc.ID(users + 1 + i)
		exten := fmt.Sprintf("_0%02dX.", i)
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: pattern, TenantUUID: tenant, Exten: exten, Context: outgoing, Enabled: true})
		s.Outcalls = append(s.Outcalls, read[confdsvc.Outcall](tb, fmt.Sprintf(`{"id": %d, "tenant_uuid": "%s", "name": "out", "enabled": true, "trunks": [{"id": %[1]d}],
			"extensions": [{"id": %[3]d, "exten": "%[4]s", "context": "%[5]s"}]}`, id, tenant, pattern, exten, outgoing)))
	}
	for i := range manyMenus {
		menu := &confdsvc.IVR{ID: confdsvc.ID(i + 1), TenantUUID: tenant, Name: "menu", MenuSound: "vm-options", Timeout: 5, MaxTries: 3}
		for key := range 10 {
			menu.Choices.V = append(menu.Choices.V, *read[confdsvc.IVRChoice](tb, fmt.Sprintf(`{"exten": "%d", "destination": {"type": "user", "user_id": %d}}`, key, key+1)))
		}
		s.Menus = append(s.Menus, menu)
	}
	return s
}

// join adds the user of this number to a tenant, which begins with its first user.
func join(tb testing.TB, s *confdsvc.Snapshot, n, tenant int) {
	tb.Helper()
	id, name := confdsvc.ID(n+1), fmt.Sprintf("sip%d", 100_000+n)
	in, context := fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", tenant), fmt.Sprintf("ctx-t%d-internal", tenant)
	first := s.Slugs[in] == ""
	if first {
		s.Slugs[in] = fmt.Sprint("t", tenant)
		s.Contexts = append(s.Contexts, &confdsvc.Context{ID: id, TenantUUID: in, Name: context, Label: "Inside", Type: "internal", Enabled: true})
	}
	number := fmt.Sprint(10_000 + n)
	s.Users = append(s.Users, &confdsvc.User{ID: id, UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", id), TenantUUID: in, Firstname: "User", CallerID: new(`"User ` + number + `"`)})
	s.Lines = append(s.Lines, &confdsvc.Line{ID: id, TenantUUID: in, Context: context})
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id, TenantUUID: in, Exten: number, Context: context, Enabled: true})
	s.Voicemails = append(s.Voicemails, &confdsvc.Voicemail{ID: id, TenantUUID: in, Name: "Box", Number: number, Context: context, Password: new("1234"), Enabled: true})
	s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](tb, `{"uuid": "`+name+`", "tenant_uuid": "`+in+`", "name": "`+name+`",
		"auth_section_options": [["username", "`+name+`"], ["password", "secret-`+name+`"]], "endpoint_section_options": [["callerid", "\"User `+number+`\" <`+number+`>"], ["allow", "!all,ulaw"]]}`))
	s.UserLines[id], s.LineUsers[id], s.LineExtensions[id], s.LineSIP[id], s.UserVoicemail[id] = []confdsvc.ID{id}, []confdsvc.ID{id}, []confdsvc.ID{id}, name, id
	s.Keys = append(s.Keys, read[confdsvc.FuncKeyTemplate](tb, fmt.Sprintf(`{"id": %d, "tenant_uuid": "%s", "keys": {
		"1": {"blf": true, "destination": {"type": "user", "user_id": 1}}, "2": {"blf": true, "destination": {"type": "user", "user_id": 2}},
		"3": {"blf": true, "destination": {"type": "user", "user_id": 3}}, "4": {"blf": true, "destination": {"type": "user", "user_id": 4}},
		"5": {"blf": true, "destination": {"type": "service", "service": "enablednd"}},
		"6": {"blf": true, "destination": {"type": "forward", "forward": "unconditional", "exten": "%s"}}}}`, id, in, number), func(k *confdsvc.FuncKeyTemplate) { k.UserID = &id }))
}
