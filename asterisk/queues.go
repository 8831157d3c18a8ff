package asterisk

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"extensions.conf", 2, "queues", writeQueueCalls},
		part{"queues.conf", 0, "general", func(p *plan, w *conf.Writer) {
			w.Section("general")
			p.writeOptionsOf(w, "queues.conf", "queues/general")
		}},
		part{"queues.conf", 2, "queues", writeQueues},
	)
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, q := range p.Queues {
			for _, x := range p.extensions.among(q.TenantUUID, queueNumbers(q)) {
				add(x.Context, entry{exten: x.Exten, steps: []step{enterQueue(q)}})
			}
		}
	})
	destinations["queue"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToQueue) []step {
		return enters(p.queues.of(tenantUUID, to.QueueID), enterQueue, ringTime(to.RingTime)...)
	})
}

func enterQueue(q *confdsvc.Queue) step {
	return step{"Goto", fmt.Sprintf("ringfence-queues,%d,1", q.ID)}
}

func namedQueue(q *confdsvc.Queue) leftout.Omission {
	return named("queue", q.TenantUUID, q.ID, cmp.Or(text(q.Label), q.Name))
}

func (p *plan) queueFault(q *confdsvc.Queue) string {
	return cmp.Or(off(q.Enabled), p.taken(queueName(q), "queues.conf"))
}

// queueName is what Asterisk calls a queue: two tenants may have queues of one name. Asterisk makes no queue linear that was none, nor the other way: that
// is another queue, and calls that wait in the one before wait there to their end.
func queueName(q *confdsvc.Queue) string {
	name := fmt.Sprintf("ringfence-queue-%d", q.ID)
	if strategy, _ := q.Options.Option("strategy"); strategy == "linear" {
		name += "-linear"
	}
	return name
}

// ringsInUse reports whether a queue rings members who telephone.
func ringsInUse(q *confdsvc.Queue) bool {
	value, _ := q.Options.Option("ringinuse")
	return conf.IsYes(value)
}

func queueNumbers(q *confdsvc.Queue) (ids []confdsvc.ID) {
	for _, x := range q.Extensions {
		ids = append(ids, confdsvc.ID(x.ID))
	}
	return ids
}

// queueUsers returns the members of a queue that are users, in the order of their priorities.
func (p *plan) queueUsers(q *confdsvc.Queue) []*confdsvc.User {
	return p.users.among(q.TenantUUID, ids(q.Members.Users, func(m confdsvc.QueueUser) int64 { return m.ID }))
}

// writeQueueCalls writes what a call to each queue does: it begins at the queue's id, and waits at {id}-wait.
func writeQueueCalls(p *plan, w *conf.Writer) {
	w.Section("ringfence-queues")
	for _, q := range p.Queues {
		id, to := fmt.Sprint(q.ID), q.Fallbacks
		leave := func(why string, to *confdsvc.Destination, otherwise ...step) {
			p.writeEntry(w, entry{exten: id + "-" + why, steps: p.leaveTeam(q.TenantUUID, queueNumbers(q), why, to, otherwise...)})
		}
		p.writeEntry(w, entry{exten: id, about: namedQueue(q).Name, steps: p.enterQueue(q)})
		p.writeEntry(w, entry{exten: id + "-wait", steps: p.waitInQueue(q)})
		leave("noanswer", to.NoAnswer, step{"Hangup", "19"})
		leave("busy", to.Busy, step{"Busy", "10"}, step{"Hangup", "17"})
		leave("congestion", to.Congestion, step{"Congestion", "10"}, step{"Hangup", "34"})
		leave("fail", to.Fail, step{"Congestion", "10"}, step{"Hangup", "34"})
		leave("waits", q.WaitTime, step{"Goto", id + "-wait,1"})
		leave("crowded", q.WaitRatio, step{"Goto", id + "-wait,1"})
	}
}

// leaveRules names the rules of skills that calls would wait by: Asterisk's queues know no skills.
func (p *plan) leaveRules() {
	for _, r := range p.SkillRules {
		if len(r.Rules.V) > 0 {
			p.leave(named("skillrule", r.TenantUUID, r.ID, r.Name), "Asterisk's queues know no skills: calls wait as if there was no rule")
		}
	}
}

// enterQueue prepares a call, and sends it elsewhere if others wait too long, or too many do.
func (p *plan) enterQueue(q *confdsvc.Queue) []step {
	name, id := queueName(q), fmt.Sprint(q.ID)
	var schedule confdsvc.ID
	if len(q.Schedules) > 0 {
		schedule = confdsvc.ID(q.Schedules[0].ID)
	}
	steps := slices.Concat(
		p.enterTeam(namedQueue(q), q.PreprocessSubroutine, schedule, q.Timeout, "q"+id), callerIDRule(q.CallerIDMode, q.CallerIDName),
		[]step{{"Gosub", fmt.Sprintf("ringfence-agent,sync,1(%s,%s)", name, p.teamOf(q))}})
	if q.WaitTimeThreshold != nil && p.lead(q.TenantUUID, q.WaitTime) != nil {
		longer := fmt.Sprintf("$[0${QUEUE_WAITING_COUNT(%s)} > 0 & 0${QUEUEHOLDTIME} > %d]?%s-waits,1", name, *q.WaitTimeThreshold, id)
		steps = append(steps, step{"Set", "RINGFENCE_FOUND=${QUEUE_VARIABLES(" + name + ")}"}, step{"GotoIf", longer})
	}
	if q.WaitRatioThreshold != nil && p.lead(q.TenantUUID, q.WaitRatio) != nil {
		members := "0${QUEUE_MEMBER(" + name + ",logged)}"
		ratio := strconv.FormatFloat(*q.WaitRatioThreshold, 'f', -1, 64)
		crowded := fmt.Sprintf("$[%[2]s > 0 & 0${QUEUE_WAITING_COUNT(%[1]s)} > %[3]s * %[2]s]?%[4]s-crowded,1", name, members, ratio, id)
		steps = append(steps, step{"GotoIf", crowded})
	}
	return append(steps, step{"Goto", id + "-wait,1"})
}

// waitInQueue waits for a member, and goes on where the queue leads if nobody answers, or nobody can.
func (p *plan) waitInQueue(q *confdsvc.Queue) (steps []step) {
	name, id := queueName(q), fmt.Sprint(q.ID)
	options := letters([]choice{
		{q.DTMFHangupCallee, "h"},
		{q.DTMFHangupCaller, "H"},
		{q.DTMFTransferCallee, "t"},
		{q.DTMFTransferCaller, "T"},
		{q.DTMFRecordCallee || q.DTMFRecordToggle, "x"},
		{q.DTMFRecordCaller, "X"},
		{!q.RetryOnTimeout, "n"},
		{q.RingOnHold, "r"},
		{q.IgnoreForward, "i"},
		{q.MarkAnsweredElsewhere, "C"},
	}...)
	if !q.RingOnHold {
		steps = append(steps, step{"Answer", ""}) // who hears music has been answered
	}
	if q.AnnounceHoldTime {
		steps = append(steps, step{"Set", "RINGFENCE_FOUND=${QUEUE_VARIABLES(" + name + ")}"}, step{"Gosub", "ringfence-agent,holdtime,1(0${QUEUEHOLDTIME})"})
	}
	return append(steps,
		step{"Queue", name + "," + options + ",,,${RINGFENCE_LIMIT}"},
		step{"GotoIf", `$["${QUEUESTATUS}" = "TIMEOUT"]?` + id + "-noanswer,1"},
		step{"GotoIf", `$["${QUEUESTATUS}" = "FULL"]?` + id + "-busy,1"},
		step{"GotoIf", `$["${QUEUESTATUS:0:4}" = "JOIN" | "${QUEUESTATUS:0:5}" = "LEAVE"]?` + id + "-congestion,1"},
		step{"Goto", id + "-fail,1"},
	)
}

// team are the agents of a queue that there are, with their penalties.
func (p *plan) team(q *confdsvc.Queue) (all []confdsvc.QueueAgent) {
	for _, m := range q.Members.Agents {
		if p.agents.of(q.TenantUUID, confdsvc.ID(m.ID)) != nil {
			all = append(all, m)
		}
	}
	return all
}

// teamOf returns a word that is another one when a queue has other agents, or these other penalties.
func (p *plan) teamOf(q *confdsvc.Queue) string {
	h := fnv.New64a()
	for _, m := range p.team(q) {
		fmt.Fprintf(h, "%d:%d,", m.ID, m.Penalty)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// soundOptions are the options of a queue that name sounds.
var soundOptions = strings.Fields(`announce periodic-announce queue-callswaiting queue-holdtime queue-minutes queue-reporthold queue-seconds queue-thankyou
	queue-thereare queue-youarenext`)

func writeQueues(p *plan, w *conf.Writer) {
	for _, q := range p.Queues {
		w.Section(queueName(q))
		w.Comment(namedQueue(q).Name)
		if strings.HasSuffix(queueName(q), "-linear") {
			w.Comment("To become linear, or no longer be, a queue is made anew: calls that wait in the one before wait there to their end.")
		}
		if class := p.musicOf(q.TenantUUID, q.MusicOnHold); class != "" {
			w.Set("musicclass", class)
		}
		p.writeQueueOptions(w, q)
		for _, m := range p.membersOf(p.queueUsers(q), ringsInUse(q)) {
			writeMember(w, m)
		}
	}
}

// writeQueueOptions writes the options of a queue, and those that it has while none are stored.
func (p *plan) writeQueueOptions(w *conf.Writer, q *confdsvc.Queue) {
	omit := p.optionOf(namedQueue(q), "options.")
	for _, first := range [][2]string{{"autofill", "yes"}, {"ringinuse", "no"}, {"setqueuevar", "yes"}} {
		if _, stored := q.Options.Option(first[0]); !stored {
			w.Set(first[0], first[1])
		}
	}
	for _, pair := range q.Options.V {
		name, value := pair[0], pair[1]
		switch fault := confdsvc.QueueOptionFault(name, value); {
		case fault != "":
			omit(name, "it "+fault)
		case strings.HasPrefix(name, "monitor-"):
			omit(name, "calls are recorded as their users say")
		case name == "context" && p.contextOf(q.TenantUUID, value) == nil:
			omit(name, notTheirs)
		case name == "context":
			w.Set(name, section(value))
		case slices.Contains(soundOptions, name):
			if sounds := p.soundsOf(q.TenantUUID, value); sounds != "" {
				w.Set(name, sounds)
			} else {
				omit(name, notTheirs)
			}
		default:
			w.Set(name, value)
		}
	}
}

// soundsOf returns a list of sounds as Asterisk is told it, or "" if it must not play one.
func (p *plan) soundsOf(tenantUUID, list string) string {
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		sound := p.sound(tenantUUID, name)
		if sound == "" {
			return ""
		}
		all = append(all, sound)
	}
	return strings.Join(all, ",")
}
