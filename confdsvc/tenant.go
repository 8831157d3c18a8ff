package confdsvc

import (
	"context"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Tenant is a tenant of the authentication service, with the SIP templates that it began with. Deleted ones are null.
type Tenant struct {
	UUID              string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	Generated         bool    `json:"sip_templates_generated" readOnly:"true"`
	Global            *string `db:"global_sip_template_uuid" json:"global_sip_template_uuid" format:"uuid" readOnly:"true"`
	WebRTC            *string `db:"webrtc_sip_template_uuid" json:"webrtc_sip_template_uuid" format:"uuid" readOnly:"true"`
	RegistrationTrunk *string `db:"registration_trunk_sip_template_uuid" json:"registration_trunk_sip_template_uuid" format:"uuid" readOnly:"true"`
	MeetingGuest      *string `db:"meeting_guest_sip_template_uuid" json:"meeting_guest_sip_template_uuid" format:"uuid" readOnly:"true"`
}

func init() { resources = append(resources, declareTenants) }

func declareTenants(e *crud.Engine) {
	crud.Collect(e, crud.Resource[Tenant]{
		Path: "tenants", Singular: "tenant", Param: "tenant_uuid", Table: "confd_tenant", Keys: []string{"uuid"}, Owner: "uuid",
		Only:  []string{"list", "read"},
		Order: []string{"uuid"}, Filters: []string{"uuid"}, Search: []string{"uuid"},
		Load: func(_ context.Context, _ store.Conn, tenants []*Tenant) error {
			for _, t := range tenants {
				t.Generated = true
			}
			return nil
		},
	})
	b := &beginnings{db: func() store.DB { return e.DB }}
	e.Enter = b.enter
}

// beginnings makes sure that each tenant gets its first objects before anything else is done in it, however and wherever it was
// created: here, by another node, by another auth server, or by a release without beginnings.
type beginnings struct {
	db func() store.DB
	// begun are tenants that have begun. No UUID is used twice, so an entry stays true.
	begun sync.Map
}

func (b *beginnings) enter(ctx context.Context, r *rest.Request, tenantUUID string) error {
	if r.Op().Tag == "tenants" { // the list shows those below too
		missing, err := store.Select[string](ctx, b.db(), `SELECT CAST(uuid AS text) FROM auth_tenant WHERE `+tenant.Below("uuid", "$1")+`
			AND NOT EXISTS (SELECT 1 FROM confd_tenant b WHERE b.uuid = auth_tenant.uuid)`, tenantUUID)
		if err != nil {
			return err
		}
		for _, one := range missing {
			if err := b.begin(ctx, one); err != nil {
				return err
			}
		}
	}
	if _, ok := b.begun.Load(tenantUUID); ok {
		return nil
	}
	return b.begin(ctx, tenantUUID)
}

// begin gives a tenant its first objects, unless it has had them: all in one transaction, or nothing. If several calls run at
// once, on any nodes, one does it, and the others find it done. Deleted objects do not come back.
// whatever nodes, one does it, and the others find it done. What is deleted later does not come back.
func (b *beginnings) begin(ctx context.Context, tenantUUID string) error {
	there, err := store.Get[int](ctx, b.db(), `SELECT count(*) FROM confd_tenant WHERE uuid = $1`, tenantUUID)
	if err != nil {
		return err
	}
	if there == 0 {
		err = b.db().InTx(ctx, func(ctx context.Context, c store.Conn) error {
			fresh, err := c.Exec(ctx, `INSERT INTO confd_tenant (uuid) SELECT uuid FROM auth_tenant WHERE uuid = $1 ON CONFLICT DO NOTHING`, tenantUUID)
			if err != nil || fresh == 0 {
				return err
			}
			return beginTemplates(ctx, c, tenantUUID)
		})
		if store.IsConstraint(err, store.ForeignKey) {
			return nil // the tenant was deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	b.begun.Store(tenantUUID, true)
	return nil
}
