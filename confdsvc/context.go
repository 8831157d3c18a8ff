package confdsvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Context is a part of the dialplan: its extensions, and those of the contexts that it includes, can be dialled in it.
type Context struct {
	ID                   ID                        `db:"id" json:"id" readOnly:"true"`
	UUID                 string                    `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID           string                    `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                 string                    `db:"name" json:"name" readOnly:"true" doc:"Made from the tenant, type and UUID; other objects name it by it."`
	Label                string                    `db:"label" json:"label" minLength:"1" maxLength:"128" required:"true" or:"name"`
	Type                 string                    `db:"type" json:"type" enum:"internal,incall,outcall,services,others" default:"internal"`
	UserRanges           store.JSON[[]Range]       `db:"user_ranges" json:"user_ranges" default:"[]" maxItems:"1000" doc:"The numbers for users."`
	GroupRanges          store.JSON[[]Range]       `db:"group_ranges" json:"group_ranges" default:"[]" maxItems:"1000" doc:"The numbers for groups."`
	QueueRanges          store.JSON[[]Range]       `db:"queue_ranges" json:"queue_ranges" default:"[]" maxItems:"1000" doc:"The numbers for queues."`
	ConferenceRoomRanges store.JSON[[]Range]       `db:"conference_room_ranges" json:"conference_room_ranges" default:"[]" maxItems:"1000"`
	IncallRanges         store.JSON[[]IncallRange] `db:"incall_ranges" json:"incall_ranges" default:"[]" maxItems:"1000" doc:"The numbers for incoming calls."`
	Description          *string                   `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Enabled              bool                      `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Contexts []ContextRef `json:"contexts" readOnly:"true"`
}

// ContextRef is a context as other objects show it.
type ContextRef struct {
	ID    int64  `db:"id" json:"id"`
	Name  string `db:"name" json:"name"`
	Label string `db:"label" json:"label"`
	crud.Hrefs
}

const contextIncludes crud.Relation[Context, Context] = "confd_context_include"

func init() {
	resources = append(resources, declareContexts)
	words["context"], words["contexts"] = "dialling area", "dialling areas"
	for name, of := range map[string]string{
		"user": "for users", "group": "for groups", "queue": "for queues", "conference_room": "for conference rooms", "incall": "from outside",
	} {
		words["Context."+name+"_ranges"], helps["Context."+name+"_ranges"] = "numbers "+of, ""
	}
	words["Context.type=internal"], words["Context.type=incall"], words["Context.type=outcall"] = "telephones inside", "calls from outside", "calls to the outside"
	words["Context.type=services"] = "codes"
}

func declareContexts(e *crud.Engine) {
	columns := []string{"id", "description", "name", "label", "type"}
	crud.Collect(e, crud.Resource[Context]{
		Path: "contexts", Singular: "context", Param: "context_id", Table: "confd_context", Keys: []string{"id"},
		About: "What can be dialled where: the numbers of an area, those of users, of groups, of incoming and outgoing calls, can be dialled in it.",
		Lists: []string{"label", "type", "user_ranges", "description"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Apart: map[string]func(*Context) []string{
			"user_ranges": rangesApart("user"), "group_ranges": rangesApart("group"), "queue_ranges": rangesApart("queue"),
			"conference_room_ranges": rangesApart("conference"), "incall_ranges": rangesApart("incall"),
		},
		Prepare: prepareContext, Validate: checkContext, Guard: contextIsUnused,
	})
	crud.Link[Context, Context]{
		Relation: contextIncludes, LeftColumn: "context_id", RightColumn: "included_id", Position: "position", Only: []string{"set"},
		LeftShows: []crud.Show{crud.Many(func(c *Context) *[]ContextRef { return &c.Contexts })},
		Set:       &crud.List{By: []string{"id"}, Repeated: "Cannot include same context more than once."},
		Allow:     crud.All(crud.SameTenant, crud.Each(includesNotItself)),
	}.On(e)
	freeRanges(e)
}

// prepareContext sets the end of ranges without one to their start, and gives a new context its name.
func prepareContext(ctx context.Context, c store.Conn, change *crud.Change[Context]) error {
	o := change.New
	o.endRanges()
	if change.Old != nil {
		return relabelled(change, o.Name, &o.Label)
	}
	slug, err := tenant.Slug(ctx, c, change.Tenant)
	o.Name = fmt.Sprintf("ctx-%s-%s-%s", slug, o.Type, o.UUID)
	return err
}

// contextNamed returns a context of any tenant, with its tenant, its type and its ranges alone. The caller does not change it.
func contextNamed(ctx context.Context, c store.Conn, name string) (*Context, error) {
	return transaction.Remember(ctx, "confd_context", name, func() (*Context, error) {
		return store.Get[*Context](ctx, c, `
			SELECT tenant_uuid, type, user_ranges, group_ranges, queue_ranges, conference_room_ranges, incall_ranges FROM confd_context WHERE name = $1`, name)
	})
}

// notForeign refuses to lead calls into another tenant's numbers, by the name of its context, which a field has under a key. A name that no
// context has is accepted: it leads nowhere, or to the telephone system's own. So a caller who knows the whole name of a context, which is
// practically random, can learn that it exists.
func notForeign(ctx context.Context, c store.Conn, tenantUUID, field, key, name string) error {
	in, err := contextNamed(ctx, c, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil && in.TenantUUID != tenantUUID:
		return crud.Missing(field, "Context", key, name)
	}
	return err
}

func includesNotItself(_ context.Context, _ store.Conn, pair *crud.Pair[Context, Context]) error {
	if pair.Left.ID == pair.Right.ID {
		return style.NotPermitted("Cannot include context inside itself.", "context_id", pair.Right.ID)
	}
	return nil
}

// contextUse keeps a context from being deleted while rows of a table name it in their column `context`.
type contextUse struct{ title, table string }

var contextUses = []contextUse{{"Extension", "confd_extension"}, {"Voicemail", "confd_voicemail"}}

func contextIsUnused(ctx context.Context, c store.Conn, change *crud.Change[Context]) error {
	for _, use := range contextUses {
		used, err := store.Select[int64](ctx, c, `SELECT id FROM `+use.table+` WHERE context = $1 LIMIT 1`, change.Old.Name)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			return style.Associated("Context", use.title, "context_id", change.Old.ID, strings.ToLower(use.title)+"_id", used[0])
		}
	}
	return nil
}

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
		Summary: "List the free numbers of a dialling area", Success: http.StatusOK, Reply: rest.ListOf(schema, false), Statuses: []int{404}, Tenanted: true,
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
