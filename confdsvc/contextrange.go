package confdsvc

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Range is a range of numbers, including both ends. The numbers are texts of one length: 0100 is not 100.
type Range struct {
	Start string `json:"start" required:"true" pattern:"^[0-9]+$" maxLength:"16" example:"1000" doc:"The first number."`
	End   string `json:"end" pattern:"^[0-9]+$" maxLength:"16" example:"1999" doc:"The start, unless it is sent."`
}

// IncallRange is a range of numbers for incoming calls. Only the last did_length digits of a number count, or all of them if it
// is 0.
type IncallRange struct {
	Range
	DIDLength int64 `json:"did_length" minimum:"0" maximum:"40" default:"0" doc:"How many of the last digits of a number are significant."`
}

// numberForm is the form of a number that a range can hold, and maxRanges how many ranges of one type a context has at most.
var numberForm = regexp.MustCompile(`^[0-9]{1,16}$`)

const maxRanges = 1000

func (r Range) holds(exten string) bool {
	return len(exten) == len(r.Start) && r.Start <= exten && exten <= r.End
}

func (r IncallRange) holds(exten string) bool {
	if n := int(r.DIDLength); n > 0 && n < len(exten) {
		exten = exten[len(exten)-n:]
	}
	return r.Range.holds(exten)
}

// plainRanges are the ranges of one type that have no did_length, and the field that holds them.
type plainRanges struct {
	of, field string
	list      *[]Range
}

// plain returns the context's ranges of all types but incall.
func (o *Context) plain() []plainRanges {
	return []plainRanges{
		{"user", "user_ranges", &o.UserRanges.V},
		{"group", "group_ranges", &o.GroupRanges.V},
		{"queue", "queue_ranges", &o.QueueRanges.V},
		{"conference", "conference_room_ranges", &o.ConferenceRoomRanges.V},
	}
}

// ranges returns a context's ranges of one type: user, group, queue, conference or incall. ok is false if there is no such type.
func (o *Context) ranges(of string) (all []IncallRange, ok bool) {
	if of == "incall" {
		return o.IncallRanges.V, true
	}
	for _, some := range o.plain() {
		if some.of != of {
			continue
		}
		for _, r := range *some.list {
			all = append(all, IncallRange{Range: r})
		}
		return all, true
	}
	return nil, false
}

// endRanges sets the end of ranges without one to their start.
func (o *Context) endRanges() {
	for _, some := range o.plain() {
		for i := range *some.list {
			(*some.list)[i].setEnd()
		}
	}
	for i := range o.IncallRanges.V {
		o.IncallRanges.V[i].setEnd()
	}
}

func (r *Range) setEnd() { r.End = cmp.Or(r.End, r.Start) }

func checkContext(_ context.Context, _ store.Conn, change *crud.Change[Context]) error {
	for _, some := range change.New.plain() {
		for i, r := range *some.list {
			if err := r.check(some.field, i); err != nil {
				return err
			}
		}
	}
	for i, r := range change.New.IncallRanges.V {
		if err := r.check("incall_ranges", i); err != nil {
			return err
		}
	}
	return nil
}

func (r Range) check(field string, at int) error {
	switch {
	case len(r.Start) != len(r.End):
		return apierr.InvalidField(fmt.Sprintf("%s[%d].end", field, at), "length", "Must be as long as the start")
	case r.Start > r.End:
		return apierr.InvalidField(fmt.Sprintf("%s[%d].end", field, at), "range", "Must not be before the start")
	}
	return nil
}

// rangesApart returns the paths by which a client reads the ranges of one type.
func rangesApart(of string) func(*Context) []string {
	return func(*Context) []string { return []string{"ranges." + of} }
}

// freeRanges declares GET /contexts/{id}/ranges/{type}: the numbers, as ranges, of the context's ranges of that type that no
// extension of the context has or, with availability=all, the ranges themselves.
func freeRanges(e *crud.Engine) {
	const path = "/contexts/{context_id}/ranges/{range_type}"
	schema := rest.SchemaOf[Range]()
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: path, Access: "confd.contexts.{context_id}.ranges.{range_type}.read", ID: "list_contexts_range", Tag: "contexts",
		Summary: "List the free numbers of a context", Success: http.StatusOK, Reply: rest.ListOf(schema, false), Statuses: []int{404}, Tenanted: true,
		Query: []rest.Parameter{{
			Name: "availability", Description: "available: without the numbers that are taken; all: with them.",
			Schema: &rest.Schema{Type: "string", Enum: []string{"available", "all"}},
		}},
		Handle: e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
			availability, err := r.Choice("availability")
			if err != nil {
				return nil, err
			}
			o, err := crud.Of[Context](e).Find(ctx, c, scope, r.Param("context_id"))
			if err != nil {
				return nil, err
			}
			ranges, ok := o.ranges(r.Param("range_type"))
			if !ok {
				return nil, apierr.New(apierr.NotFound, "A context has no ranges of this type")
			}
			var taken []string
			if availability != "all" {
				if taken, err = store.Select[string](ctx, c, `SELECT exten FROM confd_extension WHERE context = $1`, o.Name); err != nil {
					return nil, err
				}
			}
			var free []Range
			for _, one := range ranges {
				free = append(free, one.without(taken)...)
			}
			return rest.Listed(free), nil
		}),
	})
}

// without returns the rest of the range when numbers are removed from it.
func (r IncallRange) without(taken []string) []Range {
	var held []uint64
	for _, exten := range taken {
		if r.holds(exten) {
			if n, err := strconv.ParseUint(exten[len(exten)-len(r.Start):], 10, 64); err == nil {
				held = append(held, n)
			}
		}
	}
	slices.Sort(held)
	next, _ := strconv.ParseUint(r.Start, 10, 64) // the schema has at most 16 digits
	last, _ := strconv.ParseUint(r.End, 10, 64)
	var out []Range
	between := func(from, to uint64) {
		if from <= to {
			out = append(out, Range{Start: fmt.Sprintf("%0*d", len(r.Start), from), End: fmt.Sprintf("%0*d", len(r.Start), to)})
		}
	}
	for _, n := range slices.Compact(held) {
		if n > 0 {
			between(next, n-1)
		}
		next = n + 1
	}
	between(next, last)
	return out
}
