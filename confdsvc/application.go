package confdsvc

import (
	"context"
	"encoding/json"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Application is a name under which another program takes calls from Asterisk, or a node in which they wait: see docs/asterisk.md.
type Application struct {
	UUID        string      `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID  string      `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        *string     `db:"name" json:"name" maxLength:"128" example:"Survey"`
	Destination *string     `db:"destination" json:"destination" enum:"node" doc:"Where its calls wait: in a node. Null: nowhere."`
	Options     NodeOptions `prefix:"" json:"destination_options" doc:"Of the destination node; empty without one."`
	crud.Hrefs

	Lines []LineRef `json:"lines" readOnly:"true"`
}

// NodeOptions are those of a node in which calls wait.
type NodeOptions struct {
	Type        *string `db:"type" json:"type" enum:"holding" doc:"What kind of node it is; needed with the destination node."`
	MusicOnHold *string `db:"music_on_hold" json:"music_on_hold" maxLength:"128" names:"moh.name" doc:"What callers hear there: a music, or default."`
	Answer      bool    `db:"answer" json:"answer" default:"false" doc:"Whether calls are answered first."`
}

// MarshalJSON writes an empty object where there is no node.
func (o NodeOptions) MarshalJSON() ([]byte, error) {
	if o.Type == nil {
		return []byte("{}"), nil
	}
	type plain NodeOptions
	return json.Marshal(plain(o))
}

// ApplicationRef is an application as its line shows it.
type ApplicationRef struct {
	UUID string  `db:"uuid" json:"uuid" format:"uuid"`
	Name *string `db:"name" json:"name"`
	crud.Hrefs
}

// ToApplication leads calls to an application.
type ToApplication struct {
	ApplicationUUID string  `json:"application_uuid" required:"true" ref:"applications.uuid" format:"uuid" doc:"The UUID of the application."`
	Name            *string `json:"application_name,omitempty" readOnly:"true" shows:"name" example:"Survey" doc:"The name of the application."`
}

func init() {
	resources = append(resources, declareApplications)
	destinationKinds = append(destinationKinds, kind[ToApplication]("application", "custom"))
}

func declareApplications(e *crud.Engine) {
	columns := []string{"uuid", "name"}
	crud.Collect(e, crud.Resource[Application]{
		Path: "applications", Singular: "application", Param: "application_uuid", Table: "confd_application", Keys: []string{"uuid"},
		About: "Programs that take calls from Asterisk, by their names.", Lists: []string{"name", "destination", "lines"},
		Order: columns, Filters: columns, Search: columns,
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Application]) error {
			if change.New.Destination == nil {
				change.New.Options = NodeOptions{}
			}
			return nil
		},
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[Application]) error {
			if change.New.Destination != nil && change.New.Options.Type == nil {
				return apierr.InvalidField("destination_options.type", "required", "A node needs its type")
			}
			return checkMusic(ctx, c, e, change)
		},
	})
	crud.Link[Line, Application]{
		Table: "confd_line_application", LeftHas: crud.AtMostOne,
		LeftShows:  []crud.Show{crud.One(func(l *Line) **ApplicationRef { return &l.Application })},
		RightShows: []crud.Show{crud.Many(func(o *Application) *[]LineRef { return &o.Lines })},
	}.On(e)
}
