package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// RegisterIAX is a registration of a trunk at another system by IAX, which learns so where this one is.
//
//nolint:lll // a tag cannot be wrapped
type RegisterIAX struct {
	ID                ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID        string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	AuthUsername      *string `db:"auth_username" json:"auth_username" maxLength:"80" pattern:"^[^:/ \\t]*$" example:"acme" doc:"As whom it registers."`
	AuthPassword      *string `db:"auth_password" json:"auth_password" maxLength:"80" pattern:"^[^:/ \\t]*$" example:"correct-horse" doc:"The password."`
	RemoteHost        string  `db:"remote_host" json:"remote_host" required:"true" minLength:"1" maxLength:"255" pattern:"^[^:/? \\t]+$" example:"iax.example.org" doc:"Where it registers."`
	RemotePort        *int64  `db:"remote_port" json:"remote_port" minimum:"0" maximum:"65535" doc:"Null: 4569."`
	CallbackExtension *string `db:"callback_extension" json:"callback_extension" maxLength:"80" pattern:"^[^? \\t]*$" example:"5550100" doc:"What calls from there dial here."`
	CallbackContext   *string `db:"callback_context" json:"callback_context" maxLength:"80" example:"default" doc:"Kept; calls come in where the trunk says."`
	Enabled           bool    `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Trunk *EndpointTrunk `json:"trunk" readOnly:"true"`
}

// RegisterIAXRef is a registration by IAX as its trunk shows it.
type RegisterIAXRef struct {
	ID int64 `db:"id" json:"id"`
	crud.Hrefs
}

const trunkRegisterIAX crud.Relation[Trunk, RegisterIAX] = "confd_trunk_register_iax"

func init() {
	resources = append(resources, declareRegistersIAX)
	words["register_iax"], words["/registers/iax"] = "IAX registration", "IAX registrations"
}

func declareRegistersIAX(e *crud.Engine) {
	crud.Collect(e, crud.Resource[RegisterIAX]{
		Path: "registers/iax", Singular: "register_iax", Param: "iax_id", Title: "IAXRegister", Rel: "register_iax",
		About: "Where trunks register by IAX.", Lists: []string{"remote_host", "auth_username", "enabled", "trunk"},
		Table: "confd_register_iax", Keys: []string{"id"}, Order: []string{"id"}, Search: []string{"id"}, Filters: []string{"id"},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[RegisterIAX]) error {
			switch r := change.New; {
			case orEmpty(r.CallbackContext) != "" && orEmpty(r.CallbackExtension) == "":
				return apierr.InvalidField("callback_context", "depends", "Cannot set field \"callback_context\" if the field \"callback_extension\" is not set")
			case r.length() > 255:
				return apierr.New(apierr.Invalid, "The sum of all fields is longer than maximum length 255")
			}
			return nil
		},
	})
	crud.Link[Trunk, RegisterIAX]{
		Relation: trunkRegisterIAX, RightColumn: "register_id", LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, LeftDeleted: crud.Cascade,
		LeftShows:  []crud.Show{crud.One(func(t *Trunk) **RegisterIAXRef { return &t.RegisterIAX })},
		RightShows: []crud.Show{crud.One(func(r *RegisterIAX) **EndpointTrunk { return &r.Trunk })},
		Allow: crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Trunk, RegisterIAX]) error {
			there, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_trunk_endpoint WHERE trunk_id = $1 AND iax_id IS NULL`, pair.Left.ID)
			if err == nil && there > 0 {
				err = style.Associated("Trunk", "Endpoint", "trunk_id", pair.Left.ID, "register_id", pair.Right.ID)
			}
			return err
		})),
	}.On(e)
}

// length is how long the line is by which Asterisk knows it: user:password@host:port/extension?context.
func (r *RegisterIAX) length() int {
	n := len(r.RemoteHost)
	for _, part := range []*string{r.AuthUsername, r.AuthPassword, r.CallbackExtension, r.CallbackContext} {
		if orEmpty(part) != "" {
			n += 1 + len(*part)
		}
	}
	if r.RemotePort != nil {
		n += 6
	}
	return n
}

// notRegistered refuses another endpoint than one of IAX for a trunk that registers by IAX.
func notRegistered[E any]() crud.Check[Trunk, E] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Trunk, E]) error {
		there, err := store.Select[int64](ctx, c, `SELECT register_id FROM confd_trunk_register_iax WHERE trunk_id = $1`, pair.Left.ID)
		if err == nil && len(there) > 0 {
			err = style.Associated("Trunk", "IAXRegister", "trunk_id", pair.Left.ID, "register_iax_id", there[0])
		}
		return err
	})
}
