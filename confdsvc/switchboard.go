package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Switchboard keeps calls waiting until one of its members takes them.
type Switchboard struct {
	ID         ID     `db:"id" json:"-" readOnly:"true"`
	UUID       string `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string `db:"name" json:"name" required:"true" maxLength:"128" example:"Reception"`
	Timeout    *int64 `db:"timeout" json:"timeout" minimum:"1" maximum:"2147483647" doc:"How long a call waits, in seconds. Null: 3 hours."`
	//nolint:lll // a tag cannot be wrapped
	QueueMusic *string `db:"queue_music_on_hold" json:"queue_music_on_hold" maxLength:"128" names:"moh.name" example:"moh-acme-5f9b2a8e-3c1d-4e7a-9b60-2d8f4c6a1e03" doc:"What callers hear that wait."`
	//nolint:lll // a tag cannot be wrapped
	WaitingRoom *string `db:"waiting_room_music_on_hold" json:"waiting_room_music_on_hold" maxLength:"128" names:"moh.name" example:"moh-acme-5f9b2a8e-3c1d-4e7a-9b60-2d8f4c6a1e03" doc:"What callers hear whom a member has put back."`
	Code        *string `json:"code" readOnly:"true" example:"*381" doc:"What members dial to take the first call. Null: the service code is disabled."`
	crud.Hrefs

	Extensions []ExtensionRef       `json:"extensions" readOnly:"true" doc:"Always empty: incoming calls lead to a switchboard."`
	Incalls    []IncallTo           `json:"incalls" readOnly:"true"`
	Members    SwitchboardUsers     `json:"members" readOnly:"true" doc:"Who takes the calls."`
	Fallbacks  SwitchboardFallbacks `json:"fallbacks" readOnly:"true"`
}

// SwitchboardUsers are the members of a switchboard.
type SwitchboardUsers struct {
	Users []UserRef `json:"users" readOnly:"true"`
}

// SwitchboardFallbacks are where calls go that nobody takes from a switchboard.
type SwitchboardFallbacks struct {
	NoAnswer *Destination `json:"noanswer_destination"`
}

// SwitchboardRef is a switchboard as its users show it.
type SwitchboardRef struct {
	UUID string `db:"uuid" json:"uuid" format:"uuid"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

// ToSwitchboard leads calls to a switchboard.
type ToSwitchboard struct {
	SwitchboardUUID string   `json:"switchboard_uuid" required:"true" ref:"switchboards.uuid" format:"uuid" doc:"The UUID of the switchboard."`
	RingTime        *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	Name            *string  `json:"switchboard_name,omitempty" readOnly:"true" shows:"name" example:"Reception" doc:"The name of the switchboard."`
}

const switchboardMembers crud.Relation[Switchboard, User] = "confd_switchboard_user"

func init() {
	resources = append(resources, declareSwitchboards)
	destinationKinds = append(destinationKinds, kind[ToSwitchboard]("switchboard", ""))
	helps["Switchboard.timeout"] = "How long a call waits, in seconds. Empty: 3 hours."
	words["Switchboard.queue_music_on_hold"], words["Switchboard.waiting_room_music_on_hold"] = "music for who waits", "music for who was put back"
	words["feature=switchboard"] = "take a call from a switchboard"
}

var switchboardDestinations = holds[Switchboard]("of_switchboard_uuid")

func declareSwitchboards(e *crud.Engine) {
	const exten = `SELECT x.exten FROM {confd_destination} d JOIN {confd_incall_extension} ix ON ix.incall_id = d.of_incall_id
		JOIN {confd_extension} x ON x.id = ix.extension_id WHERE d.switchboard_uuid = confd_switchboard.uuid ORDER BY x.id LIMIT 1`
	crud.Collect(e, crud.Resource[Switchboard]{
		Path: "switchboards", Singular: "switchboard", Param: "switchboard_uuid", Table: "confd_switchboard", Keys: []string{"uuid"},
		About: "Where calls wait until a member takes one.", Lists: []string{"name", "members", "timeout", "incalls"},
		Order: []string{"name"}, Filters: []string{"name"}, Search: []string{"name", "exten"}, Virtual: map[string]string{"exten": exten},
		Beside:   []crud.Beside[Switchboard]{switchboardDestinations.beside(e)},
		Nested:   []string{"members"},
		Validate: musicIsKnown[Switchboard](e),
		Present: func(ctx context.Context, c store.Conn, _ string, boards []*Switchboard) error {
			return showCodes(ctx, c, "switchboard", func(code func(number int64) *string) {
				for _, s := range boards {
					s.Code = code(int64(s.ID))
				}
			})
		},
	})
	crud.Part[Switchboard, SwitchboardFallbacks]{
		Path: "fallbacks", ID: "switchboard_fallback", Replaces: true, Field: func(s *Switchboard) *SwitchboardFallbacks { return &s.Fallbacks },
	}.On(e)
	crud.Link[Switchboard, User]{
		Relation: switchboardMembers, Path: "members/users", Only: []string{"set", "set_back"},
		LeftShows:  []crud.Show{crud.Many(func(s *Switchboard) *[]UserRef { return &s.Members.Users })},
		RightShows: []crud.Show{crud.Many(func(u *User) *[]SwitchboardRef { return &u.Switchboards })},
		Set:        &crud.List{ID: "update_switchboard_member_users", By: []string{"uuid"}, Nested: "members.users"},
		SetBack:    &crud.List{Path: "switchboards", ID: "update_user_switchboards", By: []string{"uuid"}, Nested: "switchboards"},
	}.On(e)
	shownByTarget(e, "switchboard_incall", "confd_destination", "switchboard_uuid", func(s *Switchboard) *[]IncallTo { return &s.Incalls })
}
