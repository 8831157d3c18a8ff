package confdsvc

import (
	"cmp"
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// EmergencyNumber is a number that every telephone of a tenant can always call. Those of the master tenant are for all tenants. For a telephone
// the first one counts of: one that has its user, one of the context where it dials, one without a context and users, and the master tenant's.
type EmergencyNumber struct {
	ID         ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Number     string  `db:"number" json:"number" required:"true" pattern:"^[0-9]{2,20}$" example:"112" doc:"As it is dialled, and as trunks get it."`
	Name       *string `db:"name" json:"name" maxLength:"128" example:"Berlin"`
	CallerID   *string `db:"caller_id" json:"caller_id" maxLength:"80" example:"+15551234" doc:"What the called see of this place; null: the main number."`
	Context    *string `db:"context" json:"context" maxLength:"128" ref:"contexts.name" doc:"For telephones that dial there; null: for all."`
	crud.Hrefs

	Trunks []OutcallTrunk `json:"trunks" readOnly:"true" doc:"By which calls go first, before those of outgoing calls, in their order."`
	Users  []UserRef      `json:"users" readOnly:"true" doc:"For whose telephones alone it is; none: for all."`
}

func init() {
	resources = append(resources, declareEmergencyNumbers)
	contextUses = append(contextUses, contextUse{"EmergencyNumber", "confd_emergency_number"})
}

func declareEmergencyNumbers(e *crud.Engine) {
	columns := []string{"number", "name", "id", "caller_id", "context"}
	crud.Collect(e, crud.Resource[EmergencyNumber]{
		Path: "emergency-numbers", Singular: "emergency_number", Param: "emergency_number_id", Title: "EmergencyNumber",
		Table: "confd_emergency_number", Keys: []string{"id"},
		About: "Numbers that every telephone can always call.", Lists: []string{"number", "name", "caller_id", "context", "users"},
		Order: columns, Filters: columns, Search: columns,
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[EmergencyNumber]) error {
			n := change.New
			if n.Context != nil {
				in, err := contextNamed(ctx, c, *n.Context)
				switch {
				case err != nil:
					return err
				case in.TenantUUID != n.TenantUUID:
					return style.DifferentTenants("emergency_number", n.TenantUUID, "context", in.TenantUUID)
				case in.Type != "internal":
					return apierr.InvalidField("context", "type", "Must be a context where telephones dial: its type is internal")
				}
			}
			return cmp.Or(isNoCode(ctx, c, n.Number, "number"), isNoExtension(ctx, c, n))
		},
	})
	crud.Link[EmergencyNumber, Trunk]{
		Table: "confd_emergency_number_trunk", Position: "position", Only: []string{"set"},
		LeftShows: []crud.Show{crud.Many(func(n *EmergencyNumber) *[]OutcallTrunk { return &n.Trunks })},
		Set:       &crud.List{By: []string{"id"}, Repeated: "Cannot associate same trunk more than once."},
	}.On(e)
	crud.Link[EmergencyNumber, User]{
		Table: "confd_emergency_number_user", Only: []string{"set"},
		LeftShows: []crud.Show{crud.Many(func(n *EmergencyNumber) *[]UserRef { return &n.Users })},
		Set:       &crud.List{By: []string{"uuid"}, Repeated: "Cannot associate same user more than once."},
	}.On(e)
}

// isNoExtension refuses the number of an extension, or of a parking lot, that telephones of the tenant dial, or of any tenant if the number is for all:
// who dials it would get the emergency number instead.
func isNoExtension(ctx context.Context, c store.Conn, n *EmergencyNumber) error {
	there, err := firstOf(store.Select[*ExtensionRef](ctx, c, `SELECT x.id, x.exten, x.context FROM confd_extension x JOIN confd_context t ON t.name = x.context
		WHERE x.exten = $1 AND t.type = 'internal' AND (t.tenant_uuid = $2 OR $2 IN (SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid)) ORDER BY x.id LIMIT 1`,
		n.Number, n.TenantUUID))
	if err == nil && there != nil {
		err = apierr.New(apierr.Invalid, "Number '%s' is that of an extension ('extension_id': %d, 'context': '%s'): change that first",
			n.Number, there.ID, there.Context).On("number").Naming("Number is that of an extension", "extension_id", there.ID, "context", there.Context)
	}
	if err != nil {
		return err
	}
	lots, err := store.Select[*ParkingLot](ctx, c, numberedLots+` IN (SELECT t.name FROM confd_context t
		WHERE t.type = 'internal' AND (t.tenant_uuid = $1 OR $1 IN (SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid))) ORDER BY p.id`, n.TenantUUID)
	for _, lot := range lots {
		if lot.holds(n.Number) {
			return apierr.New(apierr.Invalid, "Number '%s' is one at which calls are parked ('parking_lot_id': %d): change that first", n.Number, lot.ID).On("number").
				Naming("Number is one at which calls are parked", "parking_lot_id", lot.ID)
		}
	}
	return err
}

// emergencies are the emergency numbers for telephones that dial in the context $1.
const emergencies = ` FROM confd_emergency_number n JOIN confd_context t ON t.name = $1
	WHERE t.type = 'internal' AND (n.tenant_uuid = t.tenant_uuid OR n.tenant_uuid IN (SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid))`
