package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// EndpointIAX is a trunk that speaks IAX (RFC 5456), mostly to another Asterisk.
type EndpointIAX struct {
	ID         ID         `db:"id" json:"id" readOnly:"true"`
	TenantUUID string     `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string     `db:"name" json:"name" pattern:"^[a-zA-Z0-9_-]{1,40}$" example:"lyon" doc:"By which the other side logs in; random when it is not sent."`
	Type       string     `db:"type" json:"type" enum:"friend,peer,user" default:"friend" doc:"friend: calls go both ways. peer: they go out. user: they come in."`
	Host       string     `db:"host" json:"host" default:"dynamic" minLength:"1" format:"host" doc:"Where calls go; dynamic: where the other side has registered."`
	Options    SIPOptions `db:"options" json:"options" default:"[]"`
	crud.Hrefs

	Trunk *EndpointTrunk `json:"trunk" readOnly:"true"`
}

// EndpointIAXRef is an IAX endpoint as its trunk shows it.
type EndpointIAXRef struct {
	ID   int64  `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
}

// iaxOptions are the options of a section of iax.conf that stands for another system.
var iaxOptions = &optionSet{kinds: kinds(optionKind{fault: LoginFault}.called("secret username"), anything.called(`
	accountcode adsi allow amaflags auth callerid cid_number codecpriority context dbsecret defaultip deny disallow encryption forceencryption
	forcejitterbuffer fullname immediate inkeys jitterbuffer keyrotate language mailbox mask maxauthreq mohinterpret mohsuggest outkey parkinglot
	peercontext permit port qualify qualifyfreqnotok qualifyfreqok qualifysmoothing regexten requirecalltoken sendani setvar sourceaddress
	timezone transfer trunk`))}

const trunkIAX crud.Relation[Trunk, EndpointIAX] = "trunk_endpoint_iax"

func init() {
	resources = append(resources, declareEndpointsIAX)
	docs["{iax_id}"] = "The number of the IAX endpoint, or of the registration."
	words["endpoint_iax"], words["/endpoints/iax"] = "IAX endpoint", "IAX endpoints"
}

func declareEndpointsIAX(e *crud.Engine) {
	columns := []string{"name", "type", "host"}
	crud.Collect(e, crud.Resource[EndpointIAX]{
		Path: "endpoints/iax", Singular: "endpoint_iax", Param: "iax_id", Title: "IAXEndpoint", Rel: "endpoint_iax",
		About: "Accounts of trunks that speak IAX.", Lists: []string{"name", "type", "host", "trunk"},
		Table: "confd_endpoint_iax", Keys: []string{"id"},
		Order: columns, Search: columns, Filters: columns,
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[EndpointIAX]) error {
			if change.New.Name == "" {
				change.New.Name = randomSection()
			}
			return nil
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[EndpointIAX]) error {
			o := change.New
			if IsReserved(o.Name) || o.Name == "callnumberlimits" {
				return apierr.InvalidField("name", "enum", "Must not be the name of a section of the telephone system's own")
			}
			return o.Options.check("options", iaxOptions)
		},
	})
	declareTrunkEndpoint(e, trunkIAX, "iax_id", func(o *EndpointIAX) any { return o.ID },
		[]crud.Show{crud.One(func(t *Trunk) **EndpointIAXRef { return &t.EndpointIAX })}, func(o *EndpointIAX) **EndpointTrunk { return &o.Trunk })
}
