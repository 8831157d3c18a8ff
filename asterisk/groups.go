package asterisk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"extensions.conf", 2, "groups", writeGroups},
		part{"extensions.conf", 2, "group numbers", writeGroupNumbers},
		part{"extensions.conf", 2, "memberships", writeMemberships},
		part{"queues.conf", 1, "groups", writeGroupQueues},
	)
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, g := range p.Groups {
			for _, x := range p.extensions.among(g.TenantUUID, p.GroupExtensions[g.UUID]) {
				add(x.Context, entry{exten: x.Exten, steps: []step{toGroup(g)}})
			}
		}
	})
	destinations["group"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToGroup) []step {
		return enters(p.groups.of(tenantUUID, to.GroupID), toGroup, ringTime(to.RingTime)...)
	})
}

func toGroup(g *confdsvc.Group) step { return step{"Goto", "ringfence-groups," + g.UUID + ",1"} }

func namedGroup(g *confdsvc.Group) leftout.Omission {
	return named("group", g.TenantUUID, g.UUID, g.Label)
}

// strategies are the strategies of queues.conf. A linear group is no queue: Asterisk could change to that strategy only by a restart.
var strategies = map[string]string{
	"all": "ringall", "random": "random", "least_recent": "leastrecent", "fewest_calls": "fewestcalls", "memorized_round_robin": "rrmemory",
	"weight_random": "wrandom",
}

// groupNumbers is the context in which groups ring numbers: {group's id}n{number}. With the UUID the names of members would be cut
// off, since Asterisk keeps 79 bytes of them; and of dashes in a number it takes no notice.
const groupNumbers = "ringfence-group-numbers"

// memberNumber is a number that a group rings, and its name in groupNumbers.
type memberNumber struct {
	confdsvc.GroupNumber
	name string
}

// numbersOf returns the numbers that a group rings and that lead somewhere. The second context of a number adds n2 to the name.
func (p *plan) numbersOf(g *confdsvc.Group) (all []memberNumber) {
	contexts := map[string][]string{} // by number
	for _, n := range g.Members.Extensions {
		isNumber, in := conf.IsExten(n.Exten) && !strings.HasPrefix(n.Exten, "_"), p.contextOf(g.TenantUUID, n.Context)
		if !isNumber || slices.Contains(contexts[n.Exten], n.Context) || in == nil || !p.reaches(in.Name, n.Exten) {
			continue
		}
		contexts[n.Exten] = append(contexts[n.Exten], n.Context)
		name := fmt.Sprintf("%dn%s", g.ID, n.Exten)
		if nth := len(contexts[n.Exten]); nth > 1 {
			name += fmt.Sprintf("n%d", nth)
		}
		all = append(all, memberNumber{n, name})
	}
	return all
}

// memberUsers returns the members of a group that are users, in the order of their priorities.
func (p *plan) memberUsers(g *confdsvc.Group) []*confdsvc.User {
	return p.users.among(g.TenantUUID, p.GroupUsers[g.UUID])
}

// membersOf returns the interfaces of users, each with what tells whether it is in use, if that matters: who is called while they telephone is
// always tried.
func (p *plan) membersOf(users []*confdsvc.User, ringInUse bool) (all [][2]string) {
	for _, u := range users {
		if len(p.devices(u)) > 0 {
			hint := ""
			if !ringInUse {
				hint = "hint:" + u.UUID + "@usersharedlines"
			}
			all = append(all, [2]string{"Local/" + u.UUID + "@usersharedlines", hint})
		}
	}
	return all
}

// writeMember writes a member of a queue in queues.conf.
func writeMember(w *conf.Writer, m [2]string) {
	member := m[0] + ",0"
	if m[1] != "" {
		member += ",," + m[1]
	}
	w.Object("member", member)
}

// members returns the interfaces of a group's members, in the order of their priorities.
func (p *plan) members(g *confdsvc.Group) [][2]string {
	all := p.membersOf(p.memberUsers(g), g.RingInUse)
	for _, n := range p.numbersOf(g) {
		all = append(all, [2]string{"Local/" + n.name + "@" + groupNumbers, ""})
	}
	return all
}

// writeGroups writes what a call to each group does: it begins at the group's UUID, and rings at {UUID}-ring.
func writeGroups(p *plan, w *conf.Writer) {
	w.Section("ringfence-groups")
	for _, g := range p.Groups {
		p.writeEntry(w, entry{exten: g.UUID, about: g.Label, steps: p.enterGroup(g)})
		p.writeEntry(w, entry{exten: g.UUID + "-ring", steps: p.ringGroup(g)})
		p.writeEntry(w, entry{exten: g.UUID + "-noanswer", steps: p.leaveGroup(g, "noanswer", g.Fallbacks.NoAnswer, step{"Hangup", "19"})})
		congested := p.leaveGroup(g, "congestion", g.Fallbacks.Congestion, step{"Congestion", "10"}, step{"Hangup", "34"})
		p.writeEntry(w, entry{exten: g.UUID + "-congestion", steps: congested})
	}
}

// writeGroupNumbers writes how groups ring numbers. What is set there is known only to that part of a call.
func writeGroupNumbers(p *plan, w *conf.Writer) {
	w.Section(groupNumbers)
	for _, g := range p.Groups {
		for _, n := range p.numbersOf(g) {
			// A group in a group multiplies what rings: so it counts as if it was sent on more often.
			steps := []step{{"Set", "__RINGFENCE_MEMBER=1"}, {"Set", "__RINGFENCE_HOPS=$[0${RINGFENCE_HOPS} + 3]"}}
			if g.IgnoreForward {
				steps = append(steps, step{"Set", "__RINGFENCE_NO_FORWARD=1"})
			}
			p.writeEntry(w, entry{exten: n.name, steps: append(steps, step{"Goto", section(n.Context) + "," + n.Exten + ",1"})})
		}
	}
}

// writeMemberships writes the state by which members leave groups: {group's id}-{user's UUID} sets its name. The number of a feature
// code is a group's id.
func writeMemberships(p *plan, w *conf.Writer) {
	w.Section("ringfence-memberships")
	for _, g := range p.Groups {
		for _, u := range p.memberUsers(g) {
			p.writeEntry(w, entry{exten: fmt.Sprintf("%d-%s", g.ID, u.UUID), steps: []step{{"Set", "RINGFENCE_NAME=" + stateLeft(g.ID)}, {"Return", ""}}})
		}
	}
}

// enterTeam prepares a call to a group or a queue: RINGFENCE_LIMIT is for how many seconds it rings, and RINGFENCE_UNTIL until when. member is what
// its members leave. One that rings already, for this call, is no member of its own.
func (p *plan) enterTeam(named leftout.Omission, subroutine *string, schedule confdsvc.ID, timeout *int64, member string) []step {
	limit := fmt.Sprintf(`${IF($["${RINGFENCE_SECONDS}" = ""]?%d:${RINGFENCE_SECONDS})}`, ringSeconds(timeout))
	within := "RINGFENCE_WITHIN_" + member
	return slices.Concat([]step{
		{"GotoIf", `$["${RINGFENCE_MEMBER}${` + within + `}" = "11"]?ringfence-end,member,1`}, {"Set", "__" + within + "=1"}, {"Gosub", "ringfence-hop,s,1"},
	}, p.preprocess(named, subroutine), p.opens(named.TenantUUID, schedule), []step{
		{"Set", "RINGFENCE_MAILBOX="},
		{"Set", "RINGFENCE_LIMIT=" + limit},
		{"Set", "RINGFENCE_UNTIL=$[${EPOCH} + ${RINGFENCE_LIMIT}]"},
		{"Set", "RINGFENCE_SECONDS="},
		{"Set", "GROUP(ringfence-group)=" + named.Key},
		{"Set", "__RINGFENCE_GROUP=" + member},
		{"Set", `__RINGFENCE_CALLER=${IF($["${WAZO_USERUUID}" = ""]?${RINGFENCE_CALLER}:${WAZO_USERUUID})}`},
		{"Gosub", "ringfence-record,s,1(,3)"},
		{"Set", "__RINGFENCE_ANNOUNCED=${RINGFENCE_ANNOUNCES}"},
	})
}

// enterGroup prepares a call to a group.
func (p *plan) enterGroup(g *confdsvc.Group) []step {
	steps := p.enterTeam(namedGroup(g), g.PreprocessSubroutine, p.GroupSchedule[g.UUID], g.Timeout, fmt.Sprint(g.ID))
	if g.MaxCalls != nil && *g.MaxCalls > 0 {
		steps = append(steps, step{"GotoIf", fmt.Sprintf("$[${GROUP_COUNT(%[1]s@ringfence-group)} > %[2]d]?%[1]s-congestion,1", g.UUID, *g.MaxCalls)})
	}
	return slices.Concat(steps, callerIDRule(g.CallerIDMode, g.CallerIDName), p.reachGroup(g))
}

// reachGroup goes on only if somebody can be reached. Asterisk's queues do not know it: for a while after a restart they take every
// telephone for absent.
func (p *plan) reachGroup(g *confdsvc.Group) (steps []step) {
	if len(p.numbersOf(g)) > 0 {
		return []step{{"Goto", g.UUID + "-ring,1"}}
	}
	for _, u := range p.memberUsers(g) {
		if n := len(p.devices(u)); n > 0 { // without any telephone, only what separates the lines is left
			ring := fmt.Sprintf(`$[${LEN(${GOSUB_RETVAL})} >= %d & "${RINGFENCE_CALLER}" != "%s"]?%s-ring,1`, n, u.UUID, g.UUID)
			steps = append(steps, step{"Gosub", "ringfence-devices," + u.UUID + ",1"}, step{"GotoIf", ring})
		}
	}
	return append(steps, step{"Goto", g.UUID + "-congestion,1"})
}

// ringGroup rings the members, and goes on where the group leads if nobody answers, or nobody can.
func (p *plan) ringGroup(g *confdsvc.Group) []step {
	class := p.musicOf(g.TenantUUID, g.MusicOnHold)
	options := ""
	if g.DTMFRecordToggle {
		options = "x"
	}
	if g.Strategy == "linear" {
		return p.ringInOrder(g, class, options)
	}
	steps := []step{}
	if class == "" {
		options += "r" // the caller hears ringing, not music
	} else {
		steps = append(steps, step{"Answer", ""}) // who hears music has been answered
	}
	if g.MarkAnsweredElsewhere {
		options += "C"
	}
	return append(steps,
		step{"Queue", g.Name + "," + options + ",,,${RINGFENCE_LIMIT}"},
		step{"GotoIf", `$["${QUEUESTATUS}" = "TIMEOUT"]?` + g.UUID + "-noanswer,1"},
		step{"Goto", g.UUID + "-congestion,1"},
	)
}

// ringInOrder rings one member after another, again and again.
func (p *plan) ringInOrder(g *confdsvc.Group, class, options string) []step {
	steps := []step{}
	if class == "" {
		options += "r"
	} else {
		options += "m(" + class + ")"
		steps = append(steps, step{"Answer", ""})
	}
	if g.MarkAnsweredElsewhere {
		options += "c"
	}
	seconds, delay := int64(15), int64(5)
	if g.UserTimeout != nil && *g.UserTimeout > 0 {
		seconds = *g.UserTimeout
	}
	if g.RetryDelay != nil {
		delay = *g.RetryDelay
	}
	const left = "${RINGFENCE_LEFT}"
	for _, m := range p.members(g) {
		steps = append(steps,
			step{"Set", "RINGFENCE_LEFT=$[${RINGFENCE_UNTIL} - ${EPOCH}]"},
			step{"GotoIf", "$[" + left + " <= 0]?" + g.UUID + "-noanswer,1"},
			step{"Dial", fmt.Sprintf("%s,${IF($[%s < %d]?%[2]s:%[3]d)},%s", m[0], left, seconds, options)},
		)
	}
	return append(steps, step{"Wait", fmt.Sprintf("${IF($[%s < %d]?%[1]s:%[2]d)}", left, max(1, delay))}, step{"Goto", g.UUID + "-ring,1"})
}

// leaveTeam ends the part that a group, or a queue, with these numbers has of a call, and sends it to a destination, or to the steps in its place.
func (p *plan) leaveTeam(tenantUUID string, numbers []confdsvc.ID, why string, to *confdsvc.Destination, otherwise ...step) []step {
	steps := []step{{"Gosub", "ringfence-record,off,1"}, {"Set", "GROUP(ringfence-group)="}}
	leads := p.lead(tenantUUID, to)
	if leads == nil {
		return append(steps, otherwise...)
	}
	if x := p.firstNumber(tenantUUID, numbers); x != nil {
		steps = append(steps, step{"Gosub", "ringfence-redirect," + why + ",1(" + x.Exten + ")"})
	}
	return append(steps, leads...)
}

func (p *plan) leaveGroup(g *confdsvc.Group, why string, to *confdsvc.Destination, otherwise ...step) []step {
	return p.leaveTeam(g.TenantUUID, p.GroupExtensions[g.UUID], why, to, otherwise...)
}

func writeGroupQueues(p *plan, w *conf.Writer) {
	for _, g := range byName(p.Groups, func(g *confdsvc.Group) string { return g.Name }) {
		if strategies[g.Strategy] == "" {
			continue
		}
		w.Section(g.Name)
		w.Comment(g.Label)
		w.Set("strategy", strategies[g.Strategy])
		if g.UserTimeout != nil {
			w.Set("timeout", fmt.Sprint(*g.UserTimeout))
		}
		if g.RetryDelay != nil {
			w.Set("retry", fmt.Sprint(*g.RetryDelay))
		}
		if class := p.musicOf(g.TenantUUID, g.MusicOnHold); class != "" {
			w.Set("musicclass", class)
		}
		w.Set("autofill", "yes")
		w.Set("ringinuse", yes(g.RingInUse))
		for _, m := range p.members(g) {
			writeMember(w, m)
		}
	}
}
