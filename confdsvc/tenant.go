package confdsvc

import (
	"context"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Tenant is a tenant of the authentication service, with its default SIP templates. Deleted ones are null.
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
	defaults := &tenantDefaults{db: func() store.DB { return e.DB }}
	e.Enter = defaults.ensure
}

// tenantDefaults creates the default objects of each tenant before anything else is done in it, however and wherever the tenant was
// created: here, by another node, by another auth server, or by a release without default objects.
type tenantDefaults struct {
	db func() store.DB
	// complete are tenants that have got their defaults. No UUID is used twice, so an entry stays true.
	complete sync.Map
}

// ensure gives the tenant of a request its defaults. It is the Enter of the engine.
func (d *tenantDefaults) ensure(ctx context.Context, r *rest.Request, tenantUUID string) error {
	if r.Op().Tag == "tenants" { // the list shows those below too
		missing, err := store.Select[string](ctx, d.db(), `SELECT CAST(uuid AS text) FROM auth_tenant WHERE `+tenant.Below("uuid", "$1")+`
			AND NOT EXISTS (SELECT 1 FROM confd_tenant b WHERE b.uuid = auth_tenant.uuid)`, tenantUUID)
		if err != nil {
			return err
		}
		for _, one := range missing {
			if err := d.create(ctx, one); err != nil {
				return err
			}
		}
	}
	if _, ok := d.complete.Load(tenantUUID); ok {
		return nil
	}
	return d.create(ctx, tenantUUID)
}

// create gives a tenant its default objects, unless it has had them: all in one transaction, or nothing. If several calls run at
// once, on any nodes, one does it, and the others find it done. Deleted objects do not come back.
func (d *tenantDefaults) create(ctx context.Context, tenantUUID string) error {
	there, err := store.Get[int](ctx, d.db(), `SELECT count(*) FROM confd_tenant WHERE uuid = $1`, tenantUUID)
	if err != nil {
		return err
	}
	if there == 0 {
		err = d.db().InTx(ctx, func(ctx context.Context, c store.Conn) error {
			fresh, err := c.Exec(ctx, `INSERT INTO confd_tenant (uuid) SELECT uuid FROM auth_tenant WHERE uuid = $1 ON CONFLICT DO NOTHING`, tenantUUID)
			if err != nil || fresh == 0 {
				return err
			}
			return createDefaultTemplates(ctx, c, tenantUUID)
		})
		if store.IsConstraint(err, store.ForeignKey) {
			return nil // the tenant was deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	d.complete.Store(tenantUUID, true)
	return nil
}
