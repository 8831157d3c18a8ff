package confdsvc

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Extension is a number, or a pattern of numbers, in a context of the dialplan. It leads to the object that it is associated
// with.
type Extension struct {
	ID         ID     `db:"id" json:"id" readOnly:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Exten      string `db:"exten" json:"exten" required:"true" maxLength:"40" doc:"Digits, * and #; or _ and a pattern."`
	Context    string `db:"context" json:"context" required:"true" maxLength:"128" ref:"contexts.name" owner:"true"`
	Commented  bool   `json:"commented" deprecated:"true" doc:"The reverse of enabled."`
	Enabled    bool   `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Conference *ConferenceRef `json:"conference" readOnly:"true" doc:"The conference; null if there is none."`
	Group      *GroupRef      `json:"group" readOnly:"true" doc:"The group; null if there is none."`
	Incall     *IncallRef     `json:"incall" readOnly:"true" doc:"The incoming call; null if there is none."`
	Lines      []LineRef      `json:"lines" readOnly:"true"`
	Outcall    *OutcallRef    `json:"outcall" readOnly:"true" doc:"The outgoing call; null if there is none."`
	ParkingLot *ParkingLotRef `json:"parking_lot" readOnly:"true" doc:"The parking place; null if there is none."`
	Queue      *QueueRef      `json:"queue" readOnly:"true" doc:"The queue; null if there is none."`
}

// ExtensionRef is an extension as other objects show it.
type ExtensionRef struct {
	ID      int64  `db:"id" json:"id"`
	Exten   string `db:"exten" json:"exten"`
	Context string `db:"context" json:"context"`
	crud.Hrefs
}

func init() { resources = append(resources, declareExtensions) }

func declareExtensions(e *crud.Engine) {
	columns := []string{"exten", "context", "type"}
	crud.Collect(e, crud.Resource[Extension]{
		Path: "extensions", Singular: "extension", Param: "extension_id", Table: "confd_extension", Counted: true, Keys: []string{"id"},
		About: "Numbers that are dialled, each in an area, and where they lead.", Lists: []string{"exten", "context", "lines", "group", "incall", "enabled"},
		Order: columns, SearchText: "search_text", SearchAlso: inContexts(e), Filters: columns,
		Virtual: map[string]string{"type": "SELECT c.type FROM {confd_context} c WHERE c.name = confd_extension.context"},
		Prepare: enableExtension, Validate: checkExtension, Guard: extensionIsFree,
		Load: func(_ context.Context, _ store.Conn, extensions []*Extension) error {
			for _, x := range extensions {
				x.Commented = !x.Enabled
			}
			return nil
		},
	})
}

// inContexts returns the condition for the numbers of the contexts whose name or type has these parts: there are few, each with many numbers.
func inContexts(e *crud.Engine) func(ctx context.Context, parts []string, add func(value any) string) string {
	return func(ctx context.Context, parts []string, add func(value any) string) string {
		has := " LIKE " + add(store.Containing(parts...)) + ` ESCAPE '\'`
		contexts := declaration.ParseSQL("SELECT c.name FROM {confd_context} c WHERE fold(c.name)" + has + " OR c.type" + has)
		return query.Among(e.DB, "context", e.SQL(ctx, contexts, add))
	}
}

// numberThere returns, instead of a new extension, the one that has its number in its context, if the tenant of the object that it
// is for sees it.
func numberThere[L any](e *crud.Engine) func(ctx context.Context, c store.Conn, of *crud.Change[L], x *Extension) (*Extension, error) {
	return func(ctx context.Context, c store.Conn, of *crud.Change[L], x *Extension) (*Extension, error) {
		return firstOf(crud.Of[Extension](e).Select(ctx, c, "exten = $1 AND context = $2 AND "+tenant.Below("tenant_uuid", "$3"),
			x.Exten, x.Context, crud.Of[L](e).TenantOf(of.New)))
	}
}

// nestsNumbers lets a client write an object together with its numbers, with recursive=true: those that are there are used.
func nestsNumbers[L any](e *crud.Engine, relation crud.Relation[L, Extension]) crud.Nest[L, Extension] {
	return crud.Nest[L, Extension]{Name: "extensions", Relation: relation, Many: true, Asked: true, Existing: numberThere[L](e)}
}

func extensionIsFree(ctx context.Context, c store.Conn, change *crud.Change[Extension]) error {
	use, err := useOf(ctx, c, change.Old)
	if err != nil || use == nil {
		return err
	}
	return style.Associated("Extension", use.Owner, "extension_id", change.Old.ID)
}

// The forms of an extension, in a context to dial out of and in any other.
var (
	extenPattern   = regexp.MustCompile(extenForm)
	outcallPattern = regexp.MustCompile(`^_?\+?[*#0-9_XxZzNn\[\].!-]*$`)
)

// enableExtension reads the attribute that older clients send instead of enabled.
func enableExtension(_ context.Context, _ store.Conn, change *crud.Change[Extension]) error {
	if change.Sent.Has("commented") && !change.Sent.Has("enabled") {
		change.New.Enabled = !change.New.Commented
	}
	return nil
}

func checkExtension(ctx context.Context, c store.Conn, change *crud.Change[Extension]) error {
	x, old := change.New, change.Old
	if old != nil && old.Exten == x.Exten && old.Context == x.Context {
		return nil
	}
	in, err := contextNamed(ctx, c, x.Context)
	if err != nil {
		return err
	}
	pattern := extenPattern
	if in.Type == "outcall" {
		pattern = outcallPattern
	}
	wrong := ""
	if !pattern.MatchString(x.Exten) {
		wrong = "String does not match expected pattern"
	} else if !conf.IsExten(x.Exten) {
		wrong = holdsSome
	}
	if wrong != "" {
		e := apierr.New(apierr.Invalid, "exten: ['%s.']", wrong).On("exten")
		e.ID = rest.BareError
		return e
	}
	if err := isUntaken(ctx, c, x); err != nil || old == nil {
		return err
	}
	use, err := useOf(ctx, c, x)
	if err != nil || use == nil {
		return err
	}
	return use.takes(ctx, c, x)
}

// extensionUse is a kind of object that an extension may lead to: one kind at a time.
type extensionUse struct {
	// Kind is its name in refusals, Owner its name if it keeps the extension from being deleted.
	Kind, Owner string
	// Type is the required type of the extension's context, and of the context's ranges that must contain the number; "" means
	// any.
	Type, Ranges string
	// OutsideAtFirst says that the number is checked against the ranges only when it changes, not when the two are joined.
	OutsideAtFirst bool

	table string // that joins it with extensions, by a column extension_id
}

// extensionUses are all kinds, by the relations that join them with extensions.
var extensionUses []extensionUse

// usesExtensions says that a relation joins objects of a kind with the extensions that lead to them.
func usesExtensions[L any](of crud.Relation[L, Extension], use extensionUse) extensionUse {
	use.table = string(of)
	extensionUses = append(extensionUses, use)
	return use
}

// checkExtensionUses panics because of a relation with extensions that is none of the kinds, which every start reports: the others would not
// know that an extension is taken.
func checkExtensionUses(e *crud.Engine) {
	for _, of := range e.Described().Links {
		table := of.Right.Joining
		if of.Right.Path == "extensions" && !slices.ContainsFunc(extensionUses, func(use extensionUse) bool { return use.table == table }) {
			panic(table + " joins something with extensions, and no extensionUse says what they lead to")
		}
	}
}

// fits refuses an extension that another kind of object uses, or whose context or number does not suit this kind.
func fits[L any](use extensionUse) crud.Check[L, Extension] {
	if use.OutsideAtFirst {
		use.Ranges = ""
	}
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[L, Extension]) error {
		if !pair.RightUnlinked(ctx) {
			used, err := useOf(ctx, c, pair.Right)
			if err != nil {
				return err
			}
			if used != nil && used.Kind != use.Kind {
				return style.Associated("Extension", used.Kind, "extension_id", pair.Right.ID)
			}
		}
		return use.takes(ctx, c, pair.Right)
	})
}

// takes refuses an extension whose context is of another type, or whose number is in none of the context's ranges.
func (u extensionUse) takes(ctx context.Context, c store.Conn, x *Extension) error {
	in, err := contextNamed(ctx, c, x.Context)
	if err != nil {
		return err
	}
	if in.Type != u.Type {
		return style.Storedf("ContextType '%s' cannot be associated ('id': %d, 'context': '%s')", in.Type, x.ID, x.Context).On("context").
			Naming("Its ContextType cannot be associated", "extension_id", x.ID, "context", x.Context)
	}
	if u.Ranges == "" || strings.HasPrefix(x.Exten, "_") {
		return nil
	}
	ranges, _ := in.ranges(u.Ranges)
	for _, r := range ranges {
		if r.holds(x.Exten) {
			return nil
		}
	}
	return apierr.New(apierr.Invalid, "Extension '%s' is outside of range for context '%s'", x.Exten, x.Context).On("exten").
		Naming("Extension is outside of range for its context", "extension_id", x.ID, "context", x.Context)
}

// useOf returns the kind of object that uses the extension, or nil.
func useOf(ctx context.Context, c store.Conn, x *Extension) (*extensionUse, error) {
	var each []string
	for i, use := range extensionUses {
		each = append(each, fmt.Sprintf("SELECT %d AS use WHERE EXISTS (SELECT 1 FROM %s WHERE extension_id = $1)", i, use.table))
	}
	found, err := store.Select[int](ctx, c, strings.Join(each, " UNION ALL "), x.ID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &extensionUses[slices.Min(found)], nil
}
