package confdsvc

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// IVR is a menu: callers hear what they may choose, and dial their choice.
type IVR struct {
	ID            ID                      `db:"id" json:"id" readOnly:"true"`
	TenantUUID    string                  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name          string                  `db:"name" json:"name" required:"true" maxLength:"128" example:"Welcome"`
	Description   *string                 `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	GreetingSound *string                 `db:"greeting_sound" json:"greeting_sound" maxLength:"255" names:"sounds.path" example:"welcome"`
	MenuSound     string                  `db:"menu_sound" json:"menu_sound" required:"true" maxLength:"255" names:"sounds.path" example:"vm-options"`
	InvalidSound  *string                 `db:"invalid_sound" json:"invalid_sound" maxLength:"255" names:"sounds.path" example:"pbx-invalid"`
	AbortSound    *string                 `db:"abort_sound" json:"abort_sound" maxLength:"255" names:"sounds.path" example:"vm-goodbye"`
	Timeout       int64                   `db:"timeout" json:"timeout" minimum:"0" maximum:"2147483647" default:"5" doc:"For a choice, in seconds."`
	MaxTries      int64                   `db:"max_tries" json:"max_tries" minimum:"1" maximum:"2147483647" default:"3" doc:"How often a caller may choose."`
	Invalid       *Destination            `json:"invalid_destination" doc:"Where calls go after what is no choice; null: the menu begins anew."`
	TimedOut      *Destination            `json:"timeout_destination" doc:"Where calls go that choose nothing; null: the menu begins anew."`
	Aborted       *Destination            `json:"abort_destination" doc:"Where calls go after the last try; null: they are hung up."`
	Choices       store.JSON[[]IVRChoice] `db:"choices" json:"choices" default:"[]" maxItems:"1000" doc:"What can be chosen."`
	crud.Hrefs

	Incalls []IncallTo `json:"incalls" readOnly:"true"`
}

// IVRChoice is what callers of a menu may dial, and where that leads.
type IVRChoice struct {
	Exten       string      `json:"exten" required:"true" format:"exten" example:"1" doc:"What is dialled: digits, or _ and a pattern."`
	Destination Destination `json:"destination" required:"true"`
}

// ToIVR leads calls to a menu.
type ToIVR struct {
	IVRID ID      `json:"ivr_id" required:"true" ref:"ivr.id" doc:"The number of the menu."`
	Name  *string `json:"ivr_name,omitempty" readOnly:"true" shows:"name" example:"Welcome" doc:"The name of the menu."`
}

func init() {
	resources = append(resources, declareIVR)
	destinationKinds = append(destinationKinds, kind[ToIVR]("ivr", ""))
	docs["IVR.greeting_sound"], docs["IVR.menu_sound"] = "What callers hear once, first.", "What can be chosen."
	docs["IVR.invalid_sound"], docs["IVR.abort_sound"] = "The sound after what is no choice.", "The sound after the last try."
	words["ivr"] = "menu"
	words["IVR.timeout_destination"], words["IVR.invalid_destination"] = "when nothing is chosen", "after a wrong choice"
	words["IVR.abort_destination"] = "after the last try"
	words["IVR.invalid_sound"], words["IVR.abort_sound"], words["IVR.timeout"] = "sound after a wrong choice", "sound after the last try", "seconds for a choice"
	helps["IVR.timeout"], helps["IVR.invalid_sound"], helps["IVR.abort_sound"] = "", "", ""
	words["IVRChoice.exten"], helps["IVRChoice.exten"], helps["IVR.choices"] = "key", "", ""
}

var ivrDestinations = holds[IVR]("of_ivr_id")

func declareIVR(e *crud.Engine) {
	columns := []string{"id", "name", "description"}
	const exten = `SELECT x.exten FROM {confd_destination} d JOIN {confd_incall_extension} ix ON ix.incall_id = d.of_incall_id
		JOIN {confd_extension} x ON x.id = ix.extension_id WHERE d.ivr_id = confd_ivr.id ORDER BY x.id LIMIT 1`
	crud.Collect(e, crud.Resource[IVR]{
		Path: "ivr", Singular: "ivr", Param: "ivr_id", Title: "IVR", Table: "confd_ivr", Keys: []string{"id"},
		About: "Menus: what callers may choose, and where that leads.", Lists: []string{"name", "menu_sound", "choices", "incalls"},
		Order: columns, Filters: columns, Search: append(columns, "exten"), Virtual: map[string]string{"exten": exten},
		Beside:   []crud.Beside[IVR]{ivrDestinations.beside(e)},
		Validate: checkChoices,
	})
	shownByTarget(e, "ivr_incall", "confd_destination", "ivr_id", func(o *IVR) *[]IncallTo { return &o.Incalls })
}

// checkChoices refuses what is chosen twice.
func checkChoices(_ context.Context, _ store.Conn, change *crud.Change[IVR]) error {
	seen := map[string]bool{}
	for i, choice := range change.New.Choices.V {
		if seen[choice.Exten] {
			return apierr.New(apierr.Invalid, "exten '%s' used in more than one choice", choice.Exten).On(fmt.Sprintf("choices[%d].exten", i))
		}
		seen[choice.Exten] = true
	}
	return nil
}
