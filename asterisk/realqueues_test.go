package asterisk_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/confdsvc"
)

// queueOf makes a queue with a number and agents, by their ids, and the agents that are not there yet: agent 1 has the number 9001.
func queueOf(t *testing.T, s *confdsvc.Snapshot, id confdsvc.ID, tenant, exten, attributes string, agents ...int64) *confdsvc.Queue {
	t.Helper()
	q := read[confdsvc.Queue](t, fmt.Sprintf(`{"id": %d, "tenant_uuid": "%s", "name": "support", "label": "Support", "enabled": true, "retry_on_timeout": true,
		"extensions": [{"id": %d}]%s}`, id, tenant, 700+id, attributes))
	in := map[string]string{acme: inside, other: theirs}[tenant]
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 700 + id, TenantUUID: tenant, Exten: exten, Context: in, Enabled: true})
	for _, agent := range agents {
		q.Members.Agents = append(q.Members.Agents, confdsvc.QueueAgent{AgentRef: confdsvc.AgentRef{ID: agent}})
		agentOf(s, agent, tenant, fmt.Sprint(9000+agent%100))
	}
	s.Queues = append(s.Queues, q)
	return q
}

func agentOf(s *confdsvc.Snapshot, id int64, tenant, number string) {
	for _, a := range s.Agents {
		if int64(a.ID) == id {
			return
		}
	}
	s.Agents = append(s.Agents, &confdsvc.Agent{ID: confdsvc.ID(id), TenantUUID: tenant, Number: number})
}

const queueOptions = `, "options": [["timeout", "2"], ["retry", "1"], ["strategy", "rrmemory"], ["joinempty", "no"]]`

// Agents log in and out by codes, pause, and stay what they were over a restart of Asterisk; what confd says of queues reaches those who are logged in.
// Another tenant's agents and queues of the same names and numbers are others.
func TestRealQueues(t *testing.T) {
	s := office(t)
	for feature, exten := range map[string]string{"agentstaticlogin": "_*31.", "agentstaticlogoff": "_*32.", "agentstaticlogtoggle": "_*30.", "agentpause": "_*33."} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	for _, e := range s.Endpoints { // who is not asked whether they are there is there at once after a restart
		e.AOR.V = [][]string{{"qualify_frequency", "0"}}
	}
	first := queueOf(t, s, 1, acme, "301", `, "timeout": 4`+queueOptions, 1)
	first.Fallbacks.Congestion = to(t, `{"type": "user", "user_id": 4}`)
	first.Fallbacks.NoAnswer = to(t, `{"type": "queue", "queue_id": 3}`)
	queueOf(t, s, 2, other, "301", queueOptions, 101)
	users := queueOf(t, s, 3, acme, "303", queueOptions+`, "wait_time_threshold": 0`)
	users.Members.Users = []confdsvc.QueueUser{{UserRef: confdsvc.UserRef{ID: 4}}}
	agentOf(s, 2, acme, "9002")
	s.Agents[len(s.Agents)-1].Password = new("4711")
	own := read[confdsvc.FuncKeyTemplate](t, `{"id": 9, "tenant_uuid": "`+acme+`", "keys": {"1": {"blf": true, "destination": {"type": "agent", "agent_id": 1, "action": "toggle"}}}}`)
	own.UserID = new(confdsvc.ID(2))
	s.Keys = append(s.Keys, own)
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alicePhone, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alicePhone, bobPhone, carolPhone, davePhone}
	code := func(p *phone, number string) {
		t.Helper()
		c, got := p.dial(number)
		if got != 200 {
			t.Fatalf("%s dials %s: %d\n%s", p.name, number, got, a.news())
		}
		if strings.HasSuffix(number, "9002") {
			c.press("4711#")
		}
		a.idle()
	}
	has := func(queue, what string) {
		t.Helper()
		wait(t, queue+" has "+what, func() bool { return strings.Contains(a.cli("queue show "+queue), what) }, func() string { return a.cli("queue show") })
	}
	takes := func(who *phone) {
		t.Helper()
		if _, got := alicePhone.dial("301"); got != 200 {
			t.Fatalf("status %d", got)
		}
		wait(t, who.name+" answers", func() bool { return who.count("answers") == 1 }, func() string { return a.cli("queue show") + a.news() })
		a.rest("a call for "+who.name, "answer", all)
	}
	a.rest("the beginning", "answer", all)
	takes(davePhone) // nobody is logged in
	key := "*7352***309001"
	if bobPhone.subscribe(key) != 200 {
		t.Error("there is no lamp of the agent")
	}
	code(bobPhone, "*319001")
	bobPhone.shows(key, "confirmed")
	has("ringfence-queue-1", "Agent/9001 (Local/1@ringfence-agents from PJSIP/bob) ")
	takes(bobPhone)
	code(bobPhone, "*3312")
	has("ringfence-queue-1", "paused:12")
	live, err := a.service.Live(t.Context())
	if err != nil || len(live.Queues.Items) != 3 || len(live.Queues.Items[0].Agents) != 1 || live.Queues.Items[2].Members != 1 {
		t.Fatalf("the queues are %+v, %v", live.Queues.Items, err)
	}
	if one := live.Queues.Items[0].Agents[0]; one.Number+one.State+one.Reason != "9001paused12" || one.Since == nil || time.Since(*one.Since).Abs() > time.Minute {
		t.Errorf("the agent is %+v", one)
	}
	takes(davePhone)
	code(bobPhone, "*33")
	takes(bobPhone)

	// An agent comes to the queue while logged in, and takes over when the other one is not to be disturbed.
	code(carolPhone, "*319002")
	first.Members.Agents = append(first.Members.Agents, confdsvc.QueueAgent{AgentRef: confdsvc.AgentRef{ID: 2}})
	a.set(s)
	a.apply()
	code(bobPhone, "*25")
	takes(carolPhone)
	has("ringfence-queue-1", "Agent/9002")
	code(bobPhone, "*25")

	// Asterisk's restart logs nobody out. A queue becomes linear as another one.
	code(carolPhone, "*337")
	_ = a.process.Process.Kill()
	<-a.ended
	a.boot()
	for _, p := range all {
		p.register(600)
	}
	has("ringfence-queue-1", "paused:7")
	takes(bobPhone)
	first.Options.V[2][1] = "linear"
	a.set(s)
	a.apply()
	takes(bobPhone)
	has("ringfence-queue-1-linear", "paused:7")

	// Who does not answer in time loses the call, which the user of the next queue takes; and who leaves the queue is not rung.
	bobPhone.when("ring")
	if _, got := alicePhone.dial("301"); got != 200 {
		t.Errorf("status %d", got)
	}
	wait(t, "the next queue takes it", func() bool { return davePhone.count("answers") == 1 }, func() string { return a.cli("queue show") + a.news() })
	a.rest("no answer", "answer", all)
	first.Members.Agents = first.Members.Agents[1:]
	a.set(s)
	a.apply()
	takes(davePhone)
	code(carolPhone, "*33")
	takes(carolPhone)
	code(bobPhone, "*309001")
	bobPhone.shows(key, "terminated")
	code(carolPhone, "*329002")
	takes(davePhone)
	if text := a.cli("queue show ringfence-queue-2"); !strings.Contains(text, "No Members") {
		t.Errorf("another tenant's queue has members: %s", text)
	}
}

// A hundred calls come to a queue of ten agents, who are logged in: each is taken once. SIPp is the callers, and the agents.
func TestRealQueueOfTen(t *testing.T) {
	const calls, agents = 100, 10
	s := office(t)
	sipp := newSIPp(t, calls, "agents", "callers")
	var team []int64
	for i := range agents {
		name := fmt.Sprintf("agent%d", i+1)
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, fmt.Sprintf(`{"uuid": "%s", "tenant_uuid": "%s", "name": "%[1]s",
			"auth_section_options": [["username", "%[1]s"], ["password", "x"]], "aor_section_options": [["contact", "sip:%[1]s@127.0.0.1:%[3]d"], ["qualify_frequency", "0"]],
			"endpoint_section_options": [["allow", "!all,ulaw"], ["direct_media", "no"]]}`, name, acme, sipp.ports[0])))
		id := confdsvc.ID(50 + i)
		s.Lines = append(s.Lines, &confdsvc.Line{ID: id, TenantUUID: acme, Context: inside})
		s.LineSIP[id] = name
		team = append(team, int64(i+1))
	}
	queueOf(t, s, 1, acme, "301", `, "options": [["timeout", "10"], ["retry", "1"], ["strategy", "rrmemory"]]`, team...)
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	for _, id := range team {
		a.cli(fmt.Sprintf("database put ringfence-agents/%d at agent%[1]d", id))
	}
	var lines strings.Builder
	lines.WriteString("SEQUENTIAL\n")
	for i := range calls {
		name := []string{"alice", "bob", "carol", "dave"}[i%4]
		fmt.Fprintf(&lines, "%s;301;[authentication username=%[1]s password=secret-%[1]s]\n", name)
	}
	sipp.file("calls.csv", lines.String())
	taking := sipp.begin(0, "-trace_logs", "-log_file", "called")
	calling := sipp.begin(1, "-inf", "calls.csv", "-r", "50", a.at("sip"))
	sipp.end(calling, taking)
	called, err := os.ReadFile(filepath.Join(sipp.folder, "called"))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for line := range strings.Lines(string(called)) {
		by[strings.Fields(line)[0]]++
	}
	total := 0
	for _, n := range by {
		total += n
	}
	if total != calls || len(by) != agents {
		text, _ := json.Marshal(by)
		t.Errorf("%d calls were taken: %s\n%s", total, text, a.cli("queue show"))
	}
	a.idle()
	a.clean("the calls")
}
