package confdsvc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/changes"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Context is a part of the dialplan: its extensions, and those of the contexts that it includes, can be dialled in it.
type Context struct {
	ID                   int64                     `db:"id" json:"id" readOnly:"true" generated:"true" minimum:"0" maximum:"9007199254740991"`
	UUID                 string                    `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID           string                    `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                 string                    `db:"name" json:"name" readOnly:"true" doc:"Made from the tenant, the type and the UUID; what other objects name the context by."`
	Label                string                    `db:"label" json:"label" minLength:"1" maxLength:"128" required:"true" or:"name"`
	Type                 string                    `db:"type" json:"type" enum:"internal,incall,outcall,services,others" default:"internal"`
	UserRanges           store.JSON[[]Range]       `db:"user_ranges" json:"user_ranges" default:"[]" maxItems:"1000" doc:"The numbers for users."`
	GroupRanges          store.JSON[[]Range]       `db:"group_ranges" json:"group_ranges" default:"[]" maxItems:"1000" doc:"The numbers for groups."`
	QueueRanges          store.JSON[[]Range]       `db:"queue_ranges" json:"queue_ranges" default:"[]" maxItems:"1000" doc:"The numbers for queues."`
	ConferenceRoomRanges store.JSON[[]Range]       `db:"conference_room_ranges" json:"conference_room_ranges" default:"[]" maxItems:"1000" doc:"The numbers for conferences."`
	IncallRanges         store.JSON[[]IncallRange] `db:"incall_ranges" json:"incall_ranges" default:"[]" maxItems:"1000" doc:"The numbers for incoming calls."`
	Description          *string                   `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Enabled              bool                      `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Contexts []ContextRef `json:"contexts" readOnly:"true" doc:"The contexts."`
}

// ContextRef is a context as other objects show it.
type ContextRef struct {
	ID    int64  `db:"id" json:"id"`
	Name  string `db:"name" json:"name"`
	Label string `db:"label" json:"label"`
	crud.Hrefs
}

const contextIncludes crud.Relation[Context, Context] = "confd_context_include"

func init() { resources = append(resources, declareContexts) }

func declareContexts(e *crud.Engine) {
	columns := []string{"id", "description", "name", "label", "type"}
	crud.Collect(e, crud.Resource[Context]{
		Path: "contexts", Singular: "context", Param: "context_id", Table: "confd_context", Keys: []string{"id"},
		About: "Where numbers live: those of users, of groups, of incoming and outgoing calls.",
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
	o.UUID = uuid.NewString()
	slug, err := tenant.Slug(ctx, c, change.Tenant)
	o.Name = fmt.Sprintf("ctx-%s-%s-%s", slug, o.Type, o.UUID)
	return err
}

// contextNamed returns a context of any tenant, with its tenant, its type and its ranges alone. The caller does not change it.
func contextNamed(ctx context.Context, c store.Conn, name string) (*Context, error) {
	return changes.Remember(ctx, "confd_context", name, func() (*Context, error) {
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
