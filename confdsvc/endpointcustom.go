package confdsvc

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// EndpointCustom is an interface of the telephone system, by its name, which a line or a trunk rings.
type EndpointCustom struct {
	ID              ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID      string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Interface       string  `db:"interface" json:"interface" required:"true" pattern:"^[a-zA-Z0-9#*./_@:-]{1,128}$" example:"Local/1000@default"`
	InterfaceSuffix *string `db:"interface_suffix" json:"interface_suffix" maxLength:"32" example:"/n" doc:"What follows the interface."`
	Enabled         bool    `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Line  *EndpointLine  `json:"line" readOnly:"true"`
	Trunk *EndpointTrunk `json:"trunk" readOnly:"true"`
}

// EndpointCustomRef is a custom endpoint as its line shows it.
type EndpointCustomRef struct {
	ID        int64  `db:"id" json:"id"`
	Interface string `db:"interface" json:"interface" example:"Local/1000@default"`
	crud.Hrefs
}

// EndpointLine is a line as its endpoint shows it.
type EndpointLine struct {
	ID int64 `db:"id" json:"id"`
	crud.Hrefs
}

const lineCustom crud.Relation[Line, EndpointCustom] = "line_endpoint_custom"

func init() { resources = append(resources, declareEndpointsCustom) }

func declareEndpointsCustom(e *crud.Engine) {
	columns := []string{"interface", "id", "context"}
	crud.Collect(e, crud.Resource[EndpointCustom]{
		Path: "endpoints/custom", Singular: "endpoint_custom", Param: "custom_id", Title: "CustomEndpoint", Rel: "endpoint_custom",
		About: "Endpoints of another kind than SIP, as Asterisk names them.", Lists: []string{"interface", "line", "enabled"},
		Table: "confd_endpoint_custom", Keys: []string{"id"},
		Order: columns, Search: columns, Filters: columns,
		Virtual: map[string]string{
			"context": `SELECT l.context FROM {confd_line_endpoint} le JOIN {confd_line} l ON l.id = le.line_id
				WHERE le.custom_id = confd_endpoint_custom.id`,
		},
	})
	crud.Link[Line, EndpointCustom]{
		Relation: lineCustom, Table: "confd_line_endpoint", RightColumn: "custom_id", Calls: "Endpoint", LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne,
		LeftShows: []crud.Show{
			crud.One(func(l *Line) **EndpointCustomRef { return &l.EndpointCustom }),
			crud.One(func(l *UserLine) **EndpointCustomRef { return &l.EndpointCustom }),
		},
		RightShows:  []crud.Show{crud.One(func(x *EndpointCustom) **EndpointLine { return &x.Line })},
		LeftDeleted: crud.Cascade,
		Allow:       crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, notOf[Line]("Trunk", "custom_id", func(o *EndpointCustom) any { return o.ID })),
		MayEnd:      lineCanLoseEndpoint[EndpointCustom](e),
		Changed:     crud.Each(rememberEndpoint[EndpointCustom]),
	}.On(e)
	crud.Nest[Line, EndpointCustom]{Name: "endpoint_custom", Relation: lineCustom, Shown: true}.On(e)
}

// notOf refuses an endpoint that a line, or a trunk, has: whichever its owner is not.
func notOf[O, E any](other, column string, key func(o *E) any) crud.Check[O, E] {
	of := strings.ToLower(other)
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[O, E]) error {
		if pair.RightUnlinked(ctx) {
			return nil
		}
		ids, err := store.Select[int64](ctx, c, "SELECT "+of+"_id FROM confd_"+of+"_endpoint WHERE "+column+" = $1", key(pair.Right))
		if err == nil && len(ids) > 0 {
			err = style.Associated(other, "Endpoint", of+"_id", ids[0], column, key(pair.Right))
		}
		return err
	})
}
