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
	Generated         bool    `json:"sip_templates_generated" readOnly:"true" doc:"Whether the tenant's templates have been made."`
	Global            *string `db:"global_sip_template_uuid" json:"global_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true" doc:"The UUID of the template that all SIP accounts have."`
	WebRTC            *string `db:"webrtc_sip_template_uuid" json:"webrtc_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true" doc:"The UUID of the template for WebRTC."`
	RegistrationTrunk *string `db:"registration_trunk_sip_template_uuid" json:"registration_trunk_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true" doc:"The UUID of the template for trunks that register."`
	MeetingGuest      *string `db:"meeting_guest_sip_template_uuid" json:"meeting_guest_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true" doc:"The UUID of the template for guests of meetings."`
}

func init() { resources = append(resources, declareTenants) }

func declareTenants(e *crud.Engine) {
	crud.Collect(e, crud.Resource[Tenant]{
		Path: "tenants", Singular: "tenant", Param: "tenant_uuid", Table: "confd_tenant", Keys: []string{"uuid"}, Owner: "uuid",
		About: "Settings of a tenant.", Lists: []string{"uuid", "sip_templates_generated"},
		Only:  []string{"list", "read"},
		Order: []string{"uuid"}, Filters: []string{"uuid"}, Search: []string{"uuid"},
		Load: func(_ context.Context, _ store.Conn, tenants []*Tenant) error {
			for _, t := range tenants {
				t.Generated = true
			}
			return nil
		},
	})
	defaults := &tenantDefaults{engine: e}
	e.Enter = defaults.ensure
}

// tenantDefaults creates the default objects of each tenant before anything else is done in it, however and wherever the tenant was
// created: here, by another node, by another auth server, or by a release without default objects.
type tenantDefaults struct {
	engine *crud.Engine
	// complete are tenants that have got their defaults. No UUID is used twice, so an entry stays true.
	complete sync.Map
}

// ensure gives the tenant of a request its defaults. It is the Enter of the engine.
func (d *tenantDefaults) ensure(ctx context.Context, r *rest.Request, tenantUUID string) error {
	tenants := []string{tenantUUID}
	if r.Op().Tag == "tenants" { // the list shows those below too
		var err error
		if tenants, err = tenant.Subtree(ctx, d.engine.DB, tenantUUID); err != nil {
			return err
		}
	}
	for _, one := range tenants {
		if _, ok := d.complete.Load(one); ok {
			continue
		}
		if err := d.create(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// create gives a tenant its default objects, unless it has had them: all in one transaction, or nothing. If several calls run at
// once, on any nodes, one does it, and the others find it done. Deleted objects do not come back.
func (d *tenantDefaults) create(ctx context.Context, tenantUUID string) error {
	there, err := store.Get[int](ctx, d.engine.DB, `SELECT count(*) FROM confd_tenant WHERE uuid = $1`, tenantUUID)
	if err != nil {
		return err
	}
	if there == 0 {
		err = d.engine.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error {
			fresh, err := c.Exec(ctx, `INSERT INTO confd_tenant (uuid) VALUES ($1) ON CONFLICT DO NOTHING`, tenantUUID)
			if err != nil || fresh == 0 {
				return err
			}
			return createDefaultTemplates(ctx, c, tenantUUID)
		})
		if store.IsConstraint(err, store.ForeignKey) {
			return nil // the tenant has been deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	d.complete.Store(tenantUUID, true)
	return nil
}
