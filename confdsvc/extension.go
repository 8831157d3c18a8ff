package confdsvc

import (
	"context"
	"regexp"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Extension is a number, or a pattern of numbers, in a context of the dialplan. It leads to the object that it is associated
// with.
type Extension struct {
	ID         int64  `db:"id" json:"id" readOnly:"true" generated:"true" minimum:"0" maximum:"9007199254740991"`
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
	ParkingLot *ParkingLotRef `json:"parking_lot" readOnly:"true" doc:"The parking lot; null if there is none."`
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
		About: "Numbers in contexts.", Lists: []string{"exten", "context", "lines", "group", "incall", "enabled"},
		Order: columns, Search: columns, Filters: columns,
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

// numberThere returns, instead of a new extension, the one that has its number in its context, if the tenant of the object that it
// is for sees it.
func numberThere[L any](e *crud.Engine) func(ctx context.Context, c store.Conn, of *crud.Change[L], x *Extension) (*Extension, error) {
	return func(ctx context.Context, c store.Conn, of *crud.Change[L], x *Extension) (*Extension, error) {
		return firstOf(crud.Of[Extension](e).Select(ctx, c, "exten = $1 AND context = $2 AND "+tenant.Below("tenant_uuid", "$3"),
			x.Exten, x.Context, crud.Of[L](e).TenantOf(of.New)))
	}
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
	if x.Exten == "" || !pattern.MatchString(x.Exten) {
		e := apierr.New(apierr.Invalid, "exten: ['String does not match expected pattern.']").On("exten")
		e.ID = rest.BareError
		return e
	}
	if old == nil {
		return nil
	}
	use, err := useOf(ctx, c, x)
	if err != nil || use == nil {
		return err
	}
	return use.takes(ctx, c, x)
}
