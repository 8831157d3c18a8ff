package helpers

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// defaultRows is how many rows of each list an answer has that was not asked for another number.
const defaultRows = 100

// liveSpec is which rows may be asked for.
var liveSpec = rest.ListSpec{
	Filters: []string{"endpoint", "queue", "switchboard", "agent"},
	Docs: map[string]string{
		"endpoint": "Only what belongs to the SIP endpoint of this name.", "queue": "Only the queue of this number.",
		"switchboard": "Only the switchboard of this UUID.", "agent": "Only queues in which the agent of this number is logged in.",
	},
}

// liveOperations tell how the running telephone system is.
func (e *endpoints) liveOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodGet, Path: "/asterisk", Access: "sysconfd.asterisk.read", ID: "read_asterisk", Tag: "status",
		Summary: "The state of Asterisk: calls, registered telephones, trunks, queues, switchboards",
		Description: "What belongs to SIP endpoints, queues and switchboards of the tenant is told. In the master tenant, all is. " +
			"What confd denies to the token is left out, with the calls of telephones whose user, line or endpoint it is. " +
			"Each of the lists begins after `offset` rows, and has `limit` of them at most, or 100.",
		Query:   slices.DeleteFunc(liveSpec.Parameters(), func(p rest.Parameter) bool { return p.Name == "direction" }), // they have no order
		Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Live](), Statuses: []int{http.StatusNotImplemented, http.StatusServiceUnavailable}, Tenanted: !e.plain,
		Handle: e.live,
	}}
}

func (e *endpoints) live(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	s, err := e.scope(ctx, r)
	if err != nil {
		return reply, err
	}
	asked, err := r.List(liveSpec)
	if err != nil {
		return reply, err
	}
	is, err := e.telephony.Live(ctx)
	if err != nil {
		return reply, err
	}
	of := s.tenant
	if s.all {
		of = ""
	}
	if err := e.leaveOut(ctx, of, &is); err != nil {
		return reply, err
	}
	own, err := e.ownEndpoints(ctx, s)
	if err != nil {
		return reply, err
	}
	only := map[string]string{}
	for _, f := range asked.Filters {
		only[f.Name] = f.Value
	}
	search := store.Fold(asked.Search)
	says := func(said ...string) bool {
		return search == "" || strings.Contains(store.Fold(strings.Join(said, "\n")), search)
	}
	seen := func(of jobs.Of, said ...string) bool {
		theirs, other := !s.all && (!of.Generated || !own[of.Endpoint]), only["queue"]+only["switchboard"]+only["agent"] != ""
		if theirs || other || only["endpoint"] != "" && of.Endpoint != only["endpoint"] {
			return false
		}
		return says(append(said, of.Endpoint)...)
	}
	names, err := e.names.Waiting(ctx, of)
	if err != nil {
		return reply, err
	}
	is.Queues.Items, is.Switchboards.Items = slices.Clone(is.Queues.Items), slices.Clone(is.Switchboards.Items) // what was seen serves others too
	for i := range is.Queues.Items {
		is.Queues.Items[i].Label = names[strconv.FormatInt(is.Queues.Items[i].ID, 10)]
	}
	for i := range is.Switchboards.Items {
		is.Switchboards.Items[i].Label = names[is.Switchboards.Items[i].UUID]
	}
	offset, limit := asked.Offset, cmp.Or(asked.Limit, defaultRows)
	named := func(kind, key string, w jobs.Waits) bool {
		return w.Label != "" && only["endpoint"]+only["queue"]+only["switchboard"] == only[kind] && (only[kind] == "" || only[kind] == key) && says(w.Label)
	}
	is.Queues = rows(is.Queues, offset, limit, func(q jobs.LiveQueue) bool {
		in := only["agent"] == "" || slices.ContainsFunc(q.Agents, func(a jobs.LiveAgent) bool { return a.Number == only["agent"] })
		return in && named("queue", strconv.FormatInt(q.ID, 10), q.Waits)
	})
	is.Switchboards = rows(is.Switchboards, offset, limit, func(s jobs.LiveSwitchboard) bool {
		return only["agent"] == "" && named("switchboard", s.UUID, s.Waits)
	})
	is.Channels = rows(is.Channels, offset, limit, func(c jobs.Channel) bool { return seen(c.Of, c.Number, c.Name, c.With, c.WithWho) })
	is.Registrations = rows(is.Registrations, offset, limit, func(c jobs.Registration) bool { return seen(c.Of, c.From, c.Agent) })
	is.Trunks = rows(is.Trunks, offset, limit, func(t jobs.LiveTrunk) bool { return seen(t.Of, t.At) })
	return rest.Reply{Body: is}, nil
}

// ownEndpoints returns the SIP endpoints of a tenant, or none in the master tenant, which is shown all. What cannot be told to be the tenant's is not
// shown: what is no SIP endpoint, or is one that Asterisk has from elsewhere.
func (e *endpoints) ownEndpoints(ctx context.Context, s scope) (map[string]bool, error) {
	own := map[string]bool{}
	if s.all {
		return own, nil
	}
	names, err := e.names.Endpoints(ctx, s.tenant)
	for _, name := range names {
		own[name] = true
	}
	return own, err
}

// leaveOut leaves out of what runs what the caller of ctx is denied to know of in a tenant, or in all if the tenant is "", and the calls that it has a
// part in.
func (e *endpoints) leaveOut(ctx context.Context, tenantUUID string, is *jobs.Live) error {
	endpoints, waiting, agents, err := e.names.Denied(ctx, tenantUUID)
	if err != nil || len(endpoints)+len(waiting)+len(agents) == 0 {
		return err
	}
	denied, calls := map[string]bool{}, map[string]bool{}
	for _, name := range endpoints {
		denied[name] = true
	}
	for _, c := range is.Channels.Items {
		calls[c.Call] = calls[c.Call] || denied[c.Endpoint]
	}
	is.Channels.Items = without(is.Channels.Items, func(c jobs.Channel) bool { return calls[c.Call] })
	is.Registrations.Items = without(is.Registrations.Items, func(r jobs.Registration) bool { return denied[r.Endpoint] })
	is.Trunks.Items = without(is.Trunks.Items, func(t jobs.LiveTrunk) bool { return denied[t.Endpoint] })
	is.Queues.Items = without(is.Queues.Items, func(q jobs.LiveQueue) bool { return slices.Contains(waiting, strconv.FormatInt(q.ID, 10)) })
	is.Switchboards.Items = without(is.Switchboards.Items, func(s jobs.LiveSwitchboard) bool { return slices.Contains(waiting, s.UUID) })
	for i := range is.Queues.Items {
		q := &is.Queues.Items[i]
		q.Agents = without(q.Agents, func(a jobs.LiveAgent) bool { return slices.Contains(agents, a.Number) })
	}
	return nil
}

// without returns a list without some of its rows. What was seen serves others too, so it stays as it is.
func without[T any](all []T, denied func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), denied)
}

// rows returns some of those that are seen.
func rows[T any](all jobs.Rows[T], offset, limit int, seen func(T) bool) jobs.Rows[T] {
	found := jobs.Rows[T]{Items: []T{}}
	for _, row := range all.Items {
		if !seen(row) {
			continue
		}
		if found.Total >= offset && len(found.Items) < limit {
			found.Items = append(found.Items, row)
		}
		found.Total++
	}
	return found
}
