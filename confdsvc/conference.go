package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Conference is a room in which all who call it hear each other.
type Conference struct {
	ID                   ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                 *string `db:"name" json:"name" maxLength:"128" example:"Weekly meeting"`
	PreprocessSubroutine *string `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	MaxUsers             int64   `db:"max_users" json:"max_users" minimum:"0" maximum:"2147483647" default:"50" doc:"At once; 0: any number."`
	Record               bool    `db:"record" json:"record" default:"false" doc:"Whether it is recorded."`
	PIN                  *string `db:"pin" json:"pin" maxLength:"80" pattern:"^[0-9]*$" example:"1234" doc:"The digits that participants are asked for."`
	AdminPIN             *string `db:"admin_pin" json:"admin_pin" maxLength:"80" pattern:"^[0-9]*$" example:"4321" doc:"Whoever dials these leads it."`
	QuietJoinLeave       bool    `db:"quiet_join_leave" json:"quiet_join_leave" default:"false" doc:"Whether no sound tells who comes and goes."`
	AnnounceJoinLeave    bool    `db:"announce_join_leave" json:"announce_join_leave" default:"false" doc:"Whether participants say their names first."`
	AnnounceUserCount    bool    `db:"announce_user_count" json:"announce_user_count" default:"false" doc:"Whether who comes hears how many are there."`
	AnnounceOnlyUser     bool    `db:"announce_only_user" json:"announce_only_user" default:"true" doc:"Whether who is alone is told so."`
	MusicOnHold          *string `db:"music_on_hold" json:"music_on_hold" maxLength:"128" names:"moh.name" doc:"What one hears alone: a music, or default."`
	crud.Hrefs

	Extensions []ExtensionRef `json:"extensions" readOnly:"true"`
	Incalls    []IncallTo     `json:"incalls" readOnly:"true"`
}

// ConferenceRef is a conference as its extension shows it.
type ConferenceRef struct {
	ID   ID      `db:"id" json:"id"`
	Name *string `db:"name" json:"name"`
	crud.Hrefs
}

// ToConference leads calls to a conference.
type ToConference struct {
	ConferenceID ID      `json:"conference_id" required:"true" ref:"conferences.id"`
	Name         *string `json:"conference_name,omitempty" readOnly:"true" shows:"name" example:"Weekly meeting" doc:"The name of the conference."`
}

// KeyToConference calls a conference; its lamp says whether somebody is there.
type KeyToConference struct {
	keyHref

	ConferenceID ID `json:"conference_id" required:"true" ref:"conferences.id"`
}

func init() {
	resources = append(resources, declareConferences)
	destinationKinds = append(destinationKinds, kind[ToConference]("conference", ""))
	funcKeyKinds = append(funcKeyKinds, kind[KeyToConference]("conference", ""))
	words["conference"], words["conferences"] = "conference room", "conference rooms"
	words["Conference.max_users"], words["Conference.quiet_join_leave"] = "most people at once", "without sounds of coming and going"
	words["Conference.announce_join_leave"], words["Conference.announce_user_count"] = "participants say their names", "who comes hears how many are there"
	words["Conference.announce_only_user"], words["Conference.admin_pin"] = "who is alone is told so", "PIN of who leads it"
	for _, name := range []string{"quiet_join_leave", "announce_user_count", "announce_only_user"} {
		helps["Conference."+name] = ""
	}
}

const conferenceExtensions crud.Relation[Conference, Extension] = "confd_conference_extension"

var conferenceExtension = usesExtensions(conferenceExtensions, extensionUse{Kind: "conference", Owner: "conference", Type: "internal", Ranges: "conference"})

func declareConferences(e *crud.Engine) {
	columns := []string{"name", "id", "preprocess_subroutine", "exten"}
	const exten = `SELECT x.exten FROM {confd_conference_extension} cx JOIN {confd_extension} x ON x.id = cx.extension_id
		WHERE cx.conference_id = confd_conference.id`
	crud.Collect(e, crud.Resource[Conference]{
		Path: "conferences", Singular: "conference", Param: "conference_id", Table: "confd_conference", Keys: []string{"id"},
		About: "Rooms in which callers hear each other.", Lists: []string{"name", "extensions", "max_users", "pin"},
		Order: columns, Filters: columns, Search: columns, Virtual: map[string]string{"exten": exten}, Nested: []string{"extensions"},
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[Conference]) error {
			if o := change.New; o.PIN != nil && *o.PIN != "" && o.AdminPIN != nil && *o.PIN == *o.AdminPIN {
				return apierr.InvalidField("admin_pin", "unique", "Participants have the same")
			}
			return checkMusic(ctx, c, e, change)
		},
	})
	crud.Link[Conference, Extension]{
		Relation: conferenceExtensions, LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, RightLeads: true,
		LeftShows:  []crud.Show{crud.Many(func(o *Conference) *[]ExtensionRef { return &o.Extensions })},
		RightShows: []crud.Show{crud.One(func(x *Extension) **ConferenceRef { return &x.Conference })},
		Allow:      crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, fits[Conference](conferenceExtension)),
	}.On(e)
	nestsNumbers(e, conferenceExtensions).On(e)
	shownByTarget(e, "conference_incall", "confd_destination", "conference_id", func(o *Conference) *[]IncallTo { return &o.Incalls })
}
