package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Trunk is a way to other telephone systems, such as that of a carrier: calls come in by it, and go out.
type Trunk struct {
	ID                     ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID             string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Context                *string `db:"context" json:"context" maxLength:"128" ref:"contexts.name" doc:"Where incoming calls find their numbers. Null: none."`
	TwilioIncoming         bool    `db:"twilio_incoming" json:"twilio_incoming" default:"false" doc:"Whether calls come in from Twilio."`
	OutgoingCallerIDFormat string  `db:"outgoing_caller_id_format" json:"outgoing_caller_id_format" default:"+E164" enum:"+E164,E164,national"`
	CallLimits
	crud.Hrefs

	EndpointSIP    *TrunkSIP          `json:"endpoint_sip" readOnly:"true"`
	EndpointCustom *EndpointCustomRef `json:"endpoint_custom" readOnly:"true"`
	EndpointIAX    *EndpointIAXRef    `json:"endpoint_iax" readOnly:"true"`
	RegisterIAX    *RegisterIAXRef    `json:"register_iax" readOnly:"true" doc:"The registration by IAX; null if there is none."`
	Outcalls       []OutcallRef       `json:"outcalls" readOnly:"true" doc:"The outgoing calls that go by it."`
}

// TrunkSIP is a SIP endpoint as its trunk shows it.
type TrunkSIP struct {
	EndpointSIPRef

	Registration sipClientURIs `db:"registration_section_options" json:"registration_section_options" doc:"The options client_uri alone."`
}

// sipClientURIs reads only who registers, not what else a section says.
type sipClientURIs struct{ SIPOptions }

// Scan reads the column's text.
func (u *sipClientURIs) Scan(src any) error {
	if err := u.SIPOptions.Scan(src); err != nil {
		return err
	}
	u.V, _ = u.split("client_uri")
	return nil
}

// EndpointTrunk is a trunk as its endpoint shows it.
type EndpointTrunk struct {
	ID int64 `db:"id" json:"id"`
	crud.Hrefs
}

const (
	trunkSIP    crud.Relation[Trunk, EndpointSIP]    = "trunk_endpoint_sip"
	trunkCustom crud.Relation[Trunk, EndpointCustom] = "trunk_endpoint_custom"
)

func init() {
	resources = append(resources, declareTrunks)
	contextUses = append(contextUses, contextUse{"Trunk", "confd_trunk"})
}

func declareTrunks(e *crud.Engine) {
	columns := []string{"id", "context", "description", "name", "label", "outgoing_caller_id_format"}
	const endpoint = ` FROM {confd_trunk_endpoint} te LEFT JOIN {confd_endpoint_sip} s ON s.uuid = te.sip_uuid
		LEFT JOIN {confd_endpoint_custom} o ON o.id = te.custom_id LEFT JOIN {confd_endpoint_iax} i ON i.id = te.iax_id WHERE te.trunk_id = confd_trunk.id`
	crud.Collect(e, crud.Resource[Trunk]{
		Path: "trunks", Singular: "trunk", Param: "trunk_id", Table: "confd_trunk", Keys: []string{"id"},
		About: "Ways by which calls come in and go out.", Lists: []string{"endpoint_sip", "endpoint_custom", "endpoint_iax", "context"},
		Order: columns, Filters: columns, Search: columns, Nested: []string{"endpoint_sip"},
		Virtual: map[string]string{
			"name": "SELECT coalesce(s.name, o.interface, i.name)" + endpoint, "label": "SELECT s.label" + endpoint, "description": "CAST(NULL AS text)",
		},
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[Trunk]) error {
			t := change.New
			if t.Context == nil {
				return nil
			}
			in, err := contextNamed(ctx, c, *t.Context)
			if err == nil && in.TenantUUID != t.TenantUUID {
				err = style.DifferentTenants("trunk", t.TenantUUID, "context", in.TenantUUID)
			}
			return err
		},
	})
	declareTrunkEndpoint(e, trunkSIP, "sip_uuid", func(o *EndpointSIP) any { return o.UUID },
		[]crud.Show{
			crud.One(func(t *Trunk) **TrunkSIP { return &t.EndpointSIP }), crud.One(func(t *OutcallTrunk) **TrunkSIP { return &t.EndpointSIP }),
		}, func(o *EndpointSIP) **EndpointTrunk { return &o.Trunk },
		crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Trunk, EndpointSIP]) error {
			return checkTrunks(ctx, c, e, "uuid = $1", pair.Right.UUID)
		}))
	crud.Nest[Trunk, EndpointSIP]{
		Name: "endpoint_sip", Relation: trunkSIP, Asked: true,
		Restore: func(o *EndpointSIP, sent map[string]any) { // what a trunk hides of its endpoint
			restoreHiddenAuth(o, sent)
			restoreHidden(sent, "registration_section_options", "client_uri", &o.Registration)
		},
	}.On(e)
	declareTrunkEndpoint(e, trunkCustom, "custom_id", func(o *EndpointCustom) any { return o.ID },
		[]crud.Show{
			crud.One(func(t *Trunk) **EndpointCustomRef { return &t.EndpointCustom }),
			crud.One(func(t *OutcallTrunk) **EndpointCustomRef { return &t.EndpointCustom }),
		}, func(o *EndpointCustom) **EndpointTrunk { return &o.Trunk })
}

// declareTrunkEndpoint declares the relation with endpoints of one kind.
func declareTrunkEndpoint[E any](
	e *crud.Engine, relation crud.Relation[Trunk, E], column string, key func(o *E) any, shown []crud.Show, trunk func(o *E) **EndpointTrunk,
	more ...crud.Check[Trunk, E],
) {
	if column != "iax_id" { // which a line may have instead, and which do not go with a registration by IAX
		more = append([]crud.Check[Trunk, E]{notOf[Trunk]("Line", column, key), notRegistered[E]()}, more...)
	}
	crud.Link[Trunk, E]{
		Relation: relation, Table: "confd_trunk_endpoint", RightColumn: column, Calls: "Endpoint", LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne,
		LeftShows: shown, RightShows: []crud.Show{crud.One(trunk)}, LeftDeleted: crud.Cascade,
		Allow: crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, crud.All(more...)),
	}.On(e)
}
