package helpers

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// Bounds of what one answer about the running telephone system has.
const (
	defaultRows = 100
	maxRows     = 1000
)

// liveOperations tell how the running telephone system is.
func (e *endpoints) liveOperations() []rest.Operation {
	one, zero, longest := int64(1), int64(0), 100
	return []rest.Operation{{
		Method: http.MethodGet, Path: "/asterisk", Access: "sysconfd.asterisk.read", ID: "read_asterisk", Tag: "status",
		Summary: "The state of Asterisk: calls, registered telephones, trunks",
		Description: "What belongs to SIP endpoints of the tenant is told. In the master tenant, all is. " +
			"Each of the lists begins after `offset` rows, and has `limit` of them at most.",
		Query: []rest.Parameter{
			{
				Name: "limit", Schema: &rest.Schema{Type: "integer", Minimum: &one},
				Description: "How many rows of each list, 100 if it is not sent; more than 1000 is taken for that.",
			},
			{Name: "offset", Schema: &rest.Schema{Type: "integer", Minimum: &zero}, Description: "How many rows of each list to skip first."},
			{Name: "endpoint", Schema: &rest.Schema{Type: "string"}, Description: "Only what belongs to the SIP endpoint of this name."},
			{Name: "search", Schema: &rest.Schema{Type: "string", MaxLength: &longest}, Description: "Only rows with this in a name, a number or an address."},
		},
		Success: http.StatusOK, Reply: rest.SchemaOf[jobs.Live](), Statuses: []int{http.StatusNotImplemented, http.StatusServiceUnavailable}, Tenanted: !e.plain,
		Handle: e.live,
	}}
}

func (e *endpoints) live(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	s, err := e.scope(ctx, r)
	if err != nil {
		return reply, err
	}
	limit, err := number(r, "limit", defaultRows, 1)
	if err != nil {
		return reply, err
	}
	offset, err := number(r, "offset", 0, 0)
	if err != nil {
		return reply, err
	}
	is, err := e.telephony.Live(ctx)
	if err != nil {
		return reply, err
	}
	// What cannot be told to be the tenant's is not shown: what is no SIP endpoint, or is one that Asterisk has from elsewhere.
	own := map[string]bool{}
	if !s.all {
		names, err := e.names.Endpoints(ctx, s.tenant)
		if err != nil {
			return reply, err
		}
		for _, name := range names {
			own[name] = true
		}
	}
	endpoint, only := r.Query("endpoint")
	search, _ := r.Query("search")
	search = strings.ToLower(search)
	seen := func(of jobs.Of, said ...string) bool {
		if !s.all && (!of.Generated || !own[of.Endpoint]) || only && of.Endpoint != endpoint {
			return false
		}
		return search == "" || strings.Contains(strings.ToLower(strings.Join(append(said, of.Endpoint), "\n")), search)
	}
	is.Channels = rows(is.Channels, offset, min(limit, maxRows), func(c jobs.Channel) bool { return seen(c.Of, c.Number, c.Name, c.With, c.WithWho) })
	is.Registrations = rows(is.Registrations, offset, min(limit, maxRows), func(c jobs.Registration) bool { return seen(c.Of, c.From, c.Agent) })
	is.Trunks = rows(is.Trunks, offset, min(limit, maxRows), func(t jobs.LiveTrunk) bool { return seen(t.Of, t.At) })
	return rest.Reply{Body: is}, nil
}

// number reads a whole number of the query, which the declaration has checked.
func number(r *rest.Request, name string, otherwise, least int) (int, error) {
	text, sent := r.Query(name)
	if !sent {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, apierr.InvalidField(name, "range", "Must be a whole number of at least %d", least)
	}
	return n, nil
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
