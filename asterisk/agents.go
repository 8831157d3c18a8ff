package asterisk

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"extensions.conf", 2, "agents", writeAgents},
		part{"extensions.conf", 2, "agents by number", writeAgentNumbers},
		part{"extensions.conf", 2, "agents of queues", writeTeams},
	)
}

// agentFeatures are the features by which an agent logs in and out, by what a function key does.
var agentFeatures = map[string]string{"login": "agentstaticlogin", "logout": "agentstaticlogoff", "toggle": "agentstaticlogtoggle"}

// agentDevice is the device that is in use while an agent is logged in.
func agentDevice(a *confdsvc.Agent) string { return fmt.Sprintf("Custom:ringfence-agent-%d", a.ID) }

func namedAgent(a *confdsvc.Agent) leftout.Omission {
	return named("agent", a.TenantUUID, a.ID, cmp.Or(strings.TrimSpace(text(a.Firstname)+" "+text(a.Lastname)), a.Number))
}

// writeAgents writes what rings each agent, by the id: queues have Local/{id}@ringfence-agents as their member.
func writeAgents(p *plan, w *conf.Writer) {
	w.Section("ringfence-agents")
	for _, a := range p.Agents {
		steps := append(p.preprocess(namedAgent(a), a.PreprocessSubroutine), []step{
			{"Gosub", fmt.Sprintf("ringfence-agent,ring,1(%d,%s)", a.ID, a.TenantUUID)}, {"Hangup", "${GOSUB_RETVAL}"},
		}...)
		p.writeEntry(w, entry{exten: fmt.Sprint(a.ID), about: namedAgent(a).Name, steps: steps})
	}
}

// dialledForm is a password that a telephone can dial.
var dialledForm = regexp.MustCompile(`^[0-9*#]{1,40}$`)

// writeAgentNumbers writes the agents of each tenant by their numbers, as they log in. An agent whose password no telephone can dial does not.
func writeAgentNumbers(p *plan, w *conf.Writer) {
	byTenant := map[string][]*confdsvc.Agent{}
	for _, a := range p.Agents {
		byTenant[a.TenantUUID] = append(byTenant[a.TenantUUID], a)
	}
	for _, tenant := range slices.Sorted(maps.Keys(byTenant)) {
		w.Section("ringfence-agents-" + tenant)
		for _, a := range byTenant[tenant] {
			password := text(a.Password)
			if password != "" && !dialledForm.MatchString(password) {
				p.optionOf(namedAgent(a), "")("password", "no telephone can dial it, so the agent cannot log in: it may have 40 of 0 to 9, * and #")
				continue
			}
			p.writeEntry(w, entry{exten: a.Number, steps: []step{
				{"Set", fmt.Sprintf("RINGFENCE_AGENT=%d", a.ID)},
				{"Set", "RINGFENCE_SECRET=" + password},
				{"Set", "RINGFENCE_AGENT_NAME=Agent/" + a.Number},
				{"Return", ""},
			}})
		}
	}
}

// writeTeams writes the agents of queues: the name of a queue in Asterisk does something with each of its agents, {id} of an agent with each of their
// queues, and {queue}a{agent} says that this is one of its agents. What is done is the extension of ringfence-agent that the first argument names.
func writeTeams(p *plan, w *conf.Writer) {
	w.Section("ringfence-teams")
	ofAgent := map[int64][]step{}
	for _, q := range p.Queues {
		var of []step
		for _, m := range p.team(q) {
			each := step{"Gosub", fmt.Sprintf("ringfence-agent,${ARG1},1(%d,%s,%d)", m.ID, queueName(q), m.Penalty)}
			of, ofAgent[m.ID] = append(of, each), append(ofAgent[m.ID], each)
			p.writeEntry(w, entry{exten: fmt.Sprintf("%sa%d", queueName(q), m.ID), steps: []step{{"Return", ""}}})
		}
		p.writeEntry(w, entry{exten: queueName(q), steps: append(of, step{"Return", ""})})
	}
	for _, a := range p.Agents {
		p.writeEntry(w, entry{exten: fmt.Sprint(a.ID), steps: append(ofAgent[int64(a.ID)], step{"Return", ""})})
	}
}
