package confdsvc

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// Line joins an endpoint, the numbers that ring it, and its users.
type Line struct {
	ID                    ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID            string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name                  *string `db:"name" computed:"true" json:"name" readOnly:"true" doc:"The endpoint's."`
	Protocol              *string `db:"protocol" computed:"true" json:"protocol" readOnly:"true" example:"sip" doc:"The endpoint's: sip, sccp or custom."`
	DeviceID              *string `json:"device_id" readOnly:"true" doc:"The device that the telephone is set up as; null if there is none."`
	DeviceSlot            int64   `db:"device_slot" computed:"true" json:"device_slot" readOnly:"true" doc:"The place of the telephone on its device."`
	ProvisioningExtension string  `db:"provisioning_extension" computed:"true" json:"provisioning_extension" readOnly:"true" example:"123456"`
	Context               string  `db:"context" json:"context" required:"true" maxLength:"128" ref:"contexts.name" owner:"true"`
	ProvisioningCode      string  `db:"provisioning_code" json:"provisioning_code" pattern:"^[0-9]{6}$" example:"123456" doc:"Random when it is not sent."`
	Position              int64   `db:"position" json:"position" minimum:"1" maximum:"2147483647" default:"1"`
	CallerIDName          *string `db:"caller_id_name" computed:"true" json:"caller_id_name" maxLength:"4096" doc:"The name in callerid of its SIP endpoint."`
	CallerIDNum           *string `db:"caller_id_num" computed:"true" json:"caller_id_num" maxLength:"80" pattern:"^[0-9]+$" example:"1000" doc:"The number."`
	Registrar             string  `db:"registrar" json:"registrar" maxLength:"128" names:"registrars.id" default:"default" doc:"The id of the registrar."`
	IsWebRTC              bool    `json:"is_webrtc" readOnly:"true" doc:"Whether it is for WebRTC."`
	crud.Hrefs

	Application    *ApplicationRef    `json:"application" readOnly:"true"`
	EndpointSIP    *EndpointSIPRef    `json:"endpoint_sip" readOnly:"true"`
	EndpointSCCP   *EndpointSCCPRef   `json:"endpoint_sccp" readOnly:"true"`
	EndpointCustom *EndpointCustomRef `json:"endpoint_custom" readOnly:"true"`
	Extensions     []ExtensionRef     `json:"extensions" readOnly:"true"`
	Users          []UserRef          `json:"users" readOnly:"true"`

	mainUser *User // the user who is made with the line
}

// LineRef is a line as an extension shows it.
type LineRef struct {
	ID   int64   `db:"id" json:"id"`
	Name *string `db:"name" json:"name"`
	crud.Hrefs
}

// EndpointSCCPRef is an SCCP endpoint as its line shows it. This service has none: lines show null.
type EndpointSCCPRef struct {
	ID int64 `json:"id"`
	crud.Hrefs
}

const lineExtensions crud.Relation[Line, Extension] = "confd_line_extension"

func init() { resources = append(resources, declareLines) }

var lineExtension = usesExtensions(lineExtensions, extensionUse{Kind: "user", Owner: "line", Type: "internal", Ranges: "user"})

// lineProtocols is the view of all lines' endpoints.
var lineProtocols = crud.Source{
	Table: "confd_line_protocol",
	Query: `SELECT le.line_id, CASE WHEN le.sip_uuid IS NULL THEN 'custom' ELSE 'sip' END AS protocol, coalesce(s.name, o.interface) AS name,
			` + unlessOfHiddenUser + `s.caller_id_name END AS caller_id_name, ` + unlessOfHiddenUser + `s.caller_id_num END AS caller_id_num
		FROM {confd_line_endpoint} le LEFT JOIN {confd_endpoint_sip} s ON s.uuid = le.sip_uuid LEFT JOIN {confd_endpoint_custom} o ON o.id = le.custom_id
		WHERE le.sip_uuid IS NOT NULL OR le.custom_id IS NOT NULL`,
}

// unlessOfHiddenUser keeps the caller ID of a line, which tells who telephones with it, from those who may not know of all of its users.
const unlessOfHiddenUser = `CASE WHEN NOT EXISTS (SELECT 1 FROM {+confd_user_line} ul WHERE ul.line_id = le.line_id
	AND NOT EXISTS (SELECT 1 FROM {confd_user} u WHERE u.id = ul.user_id)) THEN `

// ofEndpoint returns a column of the view of all lines' endpoints.
func ofEndpoint(column string) string {
	return "SELECT v." + column + " FROM {confd_line_protocol} v WHERE v.line_id = confd_line.id"
}

func declareLines(e *crud.Engine) {
	columns := []string{
		"name", "context", "provisioning_code", "provisioning_extension", "position", "device_slot", "protocol", "device_id",
		"caller_id_name", "caller_id_num", "exten",
	}
	e.Reads(lineProtocols)
	crud.Collect(e, crud.Resource[Line]{
		Path: "lines", Singular: "line", Param: "line_id", Table: "confd_line", Counted: true, Keys: []string{"id"},
		About: "Telephones: each has an endpoint, such as a SIP account, its numbers and its user.",
		Lists: []string{"name", "users", "extensions", "context", "protocol"},
		Order: columns, Filters: columns, Search: columns,
		Virtual: map[string]string{
			"name": ofEndpoint("name"), "protocol": ofEndpoint("protocol"), "caller_id_name": ofEndpoint("caller_id_name"),
			"caller_id_num": ofEndpoint("caller_id_num"), "device_id": "CAST(NULL AS text)", "device_slot": "position",
			"provisioning_extension": "provisioning_code",
			"exten": `SELECT x.exten FROM {confd_line_extension} lx JOIN {confd_extension} x ON x.id = lx.extension_id
				WHERE lx.line_id = confd_line.id ORDER BY x.id LIMIT 1`,
		},
		Beside: []crud.Beside[Line]{{
			From: "confd_line_endpoint", By: "line_id", Load: loadWebRTC(e), Blank: func(l *Line) { l.IsWebRTC = false },
		}},
		Conceals: map[string]func(context.Context, *Line) (bool, error){
			"caller_id_name": concealNameOrNumber(e, func(l *Line) **string { return &l.CallerIDName }),
			"caller_id_num":  concealNameOrNumber(e, func(l *Line) **string { return &l.CallerIDNum }),
		},
		Nested:  []string{"endpoint_sip", "endpoint_sccp", "endpoint_custom", "extensions", "device_id"},
		Prepare: provisionLine, Save: saveCallerID(e),
		Validate: every(checkRegistrar, checkCallerID),
	})
	crud.Link[Line, Extension]{
		Relation: lineExtensions, LeftHas: crud.AtMostOne, Only: []string{"put", "delete", "create"}, RightLeads: true,
		LeftShows: []crud.Show{
			crud.Many(func(l *Line) *[]ExtensionRef { return &l.Extensions }),
			crud.Many(func(l *UserLine) *[]ExtensionRef { return &l.Extensions }),
		},
		RightShows: []crud.Show{crud.Many(func(x *Extension) *[]LineRef { return &x.Lines })},
		Allow:      crud.All(crud.SameTenant, crud.Each(extensionLineHasEndpoint), crud.LeftFree, crud.Each(oneMainUser), fits[Line](lineExtension)),
		Changed:    identifiesNumber(e),
	}.On(e)
	crud.Nest[Line, Extension]{
		Name: "extensions", Relation: lineExtensions, Many: true, Fills: []string{"context"}, Existing: numberThere[Line](e),
		Complete: func(_ context.Context, _ store.Conn, of *crud.Change[Line], x *Extension) error {
			if x.Context == "" {
				x.Context = of.New.Context
			}
			return nil
		},
	}.On(e)
}

// provisionLine gives a new line the code with which a telephone asks for it.
func provisionLine(ctx context.Context, c store.Conn, change *crud.Change[Line]) error {
	if change.Old != nil {
		return nil
	}
	for change.New.ProvisioningCode == "" {
		n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
		if err != nil {
			return err
		}
		code := fmt.Sprintf("%06d", n)
		taken, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_line WHERE provisioning_code = $1`, code)
		if err != nil {
			return err
		}
		if taken == 0 {
			change.New.ProvisioningCode = code
		}
	}
	return nil
}

func hasEndpoint(ctx context.Context, c store.Conn, lineID ID) (bool, error) {
	return transaction.Remember(ctx, "confd_line_endpoint", fmt.Sprint(lineID), func() (bool, error) {
		n, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_line_endpoint WHERE line_id = $1`, lineID)
		return n > 0, err
	})
}

// rememberEndpoint spares the transaction that gives a line its endpoint from asking for it.
func rememberEndpoint[E any](ctx context.Context, _ store.Conn, pair *crud.Pair[Line, E]) error {
	if !pair.Ends {
		transaction.RememberAs(ctx, "confd_line_endpoint", fmt.Sprint(pair.Left.ID), true)
	}
	return nil
}

func needsEndpoint(ctx context.Context, c store.Conn, lineID ID) error {
	has, err := hasEndpoint(ctx, c, lineID)
	if err == nil && !has {
		err = style.NotAssociated("Line", "Endpoint", "line_id", lineID)
	}
	return err
}

func extensionLineHasEndpoint(ctx context.Context, c store.Conn, pair *crud.Pair[Line, Extension]) error {
	return needsEndpoint(ctx, c, pair.Left.ID)
}

// lineCanLoseEndpoint refuses to take the endpoint from a line that has a user or an extension.
func lineCanLoseEndpoint[E any](e *crud.Engine) crud.Check[Line, E] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Line, E]) error {
		if err := userLines.RefuseRight(ctx, c, e, pair.Left); err != nil {
			return err
		}
		return lineExtensions.RefuseLeft(ctx, c, e, pair.Left)
	})
}
