package apply

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/jobs"
)

// memberStates are the states of a member's device, by the numbers that Asterisk has for them.
var memberStates = map[string]string{"0": "free", "1": "free", "4": "away", "5": "away", "6": "ringing", "7": "ringing"}

// queuesOf returns the queues of confd, of the events of QueueStatus. Groups are queues too, and are left out.
func queuesOf(events []ami.Message) (all []jobs.LiveQueue) {
	at := map[int64]int{}
	for _, m := range events {
		name, _ := strings.CutSuffix(m.Get("Queue"), "-linear")
		number, ours := strings.CutPrefix(name, "ringfence-queue-")
		id, err := strconv.ParseInt(number, 10, 64)
		if !ours || err != nil {
			continue
		}
		if _, seen := at[id]; !seen {
			at[id], all = len(all), append(all, jobs.LiveQueue{ID: id, Agents: []jobs.LiveAgent{}})
		}
		q := &all[at[id]]
		switch m.Event() {
		case "QueueEntry":
			q.Waiting, q.Longest = q.Waiting+1, max(q.Longest, seconds(m.Get("Wait")))
		case "QueueMember":
			q.Members++
			if number, agent := strings.CutPrefix(m.Get("Name"), "Agent/"); agent {
				one := jobs.LiveAgent{Number: number, State: cmp.Or(memberStates[m.Get("Status")], "busy"), Since: instant(m.Get("LoginTime"))}
				if m.Get("Paused") == "1" {
					one.State, one.Reason, one.Since = "paused", m.Get("PausedReason"), instant(m.Get("LastPause"))
				}
				q.Agents = append(q.Agents, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b jobs.LiveQueue) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// waitingFamily is where the dialplan keeps which calls wait at switchboards, by {UUID}/{when}: the name of the channel, and with ^ between them
// what else a member is told, and when it came, in seconds since 1970.
const waitingFamily = "ringfence-waiting"

// switchboardsOf returns the switchboards at which calls wait, of what the dialplan keeps. What a dead Asterisk left is of no channel.
func switchboardsOf(kept map[string]string, channels []ami.Message) (all []jobs.LiveSwitchboard) {
	there := map[string]bool{}
	for _, m := range channels {
		there[m.Get("Channel")] = true
	}
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		uuid, _, _ := strings.Cut(key, "/")
		told := strings.Split(kept[key], "^")
		came, err := strconv.ParseInt(told[len(told)-1], 10, 64)
		if err != nil || !there[told[0]] {
			continue
		}
		if len(all) == 0 || all[len(all)-1].UUID != uuid {
			all = append(all, jobs.LiveSwitchboard{UUID: uuid})
		}
		s := &all[len(all)-1]
		s.Waiting, s.Longest = s.Waiting+1, max(s.Longest, time.Now().Unix()-came)
	}
	return all
}
