package apply

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

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
				one := jobs.LiveAgent{Number: number, State: cmp.Or(memberStates[m.Get("Status")], "busy")}
				if m.Get("Paused") == "1" {
					one.State, one.Reason = "paused", m.Get("PausedReason")
				}
				q.Agents = append(q.Agents, one)
			}
		}
	}
	slices.SortFunc(all, func(a, b jobs.LiveQueue) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
