package confdsvc

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Tenant is a tenant of the authentication service, with its default SIP templates. Deleted ones are null.
//
//nolint:lll // a tag cannot be wrapped
type Tenant struct {
	UUID      string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	Generated bool    `json:"sip_templates_generated" readOnly:"true" doc:"Whether the tenant's templates have been made."`
	Global    *string `db:"global_sip_template_uuid" json:"global_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true"`
	WebRTC    *string `db:"webrtc_sip_template_uuid" json:"webrtc_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true"`
	Trunk     *string `db:"registration_trunk_sip_template_uuid" json:"registration_trunk_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true"`
	Guest     *string `db:"meeting_guest_sip_template_uuid" json:"meeting_guest_sip_template_uuid" format:"uuid" names:"endpoints/sip/templates.uuid" readOnly:"true"`
	CallLimits
}

// CallLimits keep calls to the outside from becoming dear: those of a trunk, of an outgoing call, of a user, or of a tenant. Null and 0 are no limit.
type CallLimits struct {
	MaxCalls          *int64 `db:"max_calls" json:"max_calls" minimum:"0" maximum:"1000000" doc:"Calls to the outside at once. Null or 0: no limit."`
	MaxCallsPerMinute *int64 `db:"max_calls_per_minute" json:"max_calls_per_minute" minimum:"0" maximum:"1000000"`
	MaxMinutesPerDay  *int64 `db:"max_minutes_per_day" json:"max_minutes_per_day" minimum:"0" maximum:"1000000"`
}

func init() { resources = append(resources, declareTenants) }

func declareTenants(e *crud.Engine) {
	crud.Collect(e, crud.Resource[Tenant]{
		Path: "tenants", Singular: "tenant", Param: "tenant_uuid", Table: "confd_tenant", Keys: []string{"uuid"}, Owner: "uuid",
		About: "Settings of a tenant.", Lists: []string{"uuid", "sip_templates_generated"},
		Only:  []string{"list", "read", "update"},
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
			if _, err := c.Exec(ctx, `
				INSERT INTO confd_sound (uuid, tenant_uuid, name, files) VALUES ($1, $2, $3, '[]')`,
				uuid.NewString(), tenantUUID, systemSounds); err != nil {
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

// defaultTemplate is a SIP template that every new tenant gets. Clients find it by its label, or by its column in the tenant.
type defaultTemplate struct {
	label     string
	column    string // of the tenant; "" where it has none
	parent    string // the label of an earlier template, from which it takes options
	transport string
	sections  SIPSections
}

// options are those of a section, written as "name=value name=value".
func options(text string) (out SIPOptions) {
	out.V = [][]string{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		out.V = append(out.V, []string{name, value})
	}
	return out
}

var defaultTemplates = []defaultTemplate{
	{
		label: "global", column: "global_sip_template_uuid", transport: "transport-udp",
		sections: SIPSections{
			AOR: options(`max_contacts=1 remove_existing=yes qualify_frequency=60 minimum_expiration=60 default_expiration=120 maximum_expiration=3600`),
			Endpoint: options(`rtp_timeout=7200 allow_transfer=yes direct_media=no dtmf_mode=rfc4733 allow=!all,ulaw language=en_US
				allow_subscribe=yes timers=yes timers_min_se=90 timers_sess_expires=600`),
		},
	},
	{
		label: "webrtc", column: "webrtc_sip_template_uuid", parent: "global", transport: "transport-wss",
		sections: SIPSections{
			AOR:      options(`max_contacts=10 remove_existing=no`),
			Endpoint: options(`webrtc=yes dtls_auto_generate_cert=yes allow=!all,opus,g722,alaw,ulaw,vp9,vp8,h264 max_video_streams=25`),
		},
	},
	{
		label: "meeting_guest", column: "meeting_guest_sip_template_uuid", parent: "webrtc",
		sections: SIPSections{AOR: options(`max_contacts=50`)},
	},
	{
		label: "registration_trunk", column: "registration_trunk_sip_template_uuid", parent: "global",
		sections: SIPSections{
			Registration: options(`retry_interval=20 max_retries=10000 auth_rejection_permanent=no forbidden_retry_interval=30 fatal_retry_interval=30`),
		},
	},
	{
		label: "twilio_trunk", parent: "global",
		sections: SIPSections{Identify: options(`match=54.172.60.0/30 match=54.244.51.0/30 match=54.171.127.192/30 match=35.156.191.128/30
			match=54.65.63.192/30 match=54.169.127.128/30 match=54.252.254.64/30 match=177.71.206.192/30`)},
	},
}

// createDefaultTemplates creates a tenant's default SIP templates. No request asks for them, so the audit does not keep them. A transport that no
// longer exists is left out.
func createDefaultTemplates(ctx context.Context, c store.Conn, tenantUUID string) error {
	made := map[string]string{}
	var templates, names, parents, columns []string
	var ofTemplates, ofNames, ofParents []any
	ofTenant := []any{tenantUUID}
	for i := range defaultTemplates {
		d := &defaultTemplates[i]
		own := uuid.NewString()
		made[d.label] = own
		name, n := randomSection(), len(ofTemplates)
		templates = append(templates, fmt.Sprintf("(%s, (SELECT uuid FROM confd_sip_transport WHERE name = $%d), %s)",
			crud.Placeholders(n+1, 4), n+5, crud.Placeholders(n+6, 7)))
		ofTemplates = append(ofTemplates, own, tenantUUID, name, d.label, d.transport)
		for _, section := range d.sections.sections() {
			ofTemplates = append(ofTemplates, options("").over(*section.options))
		}
		names = append(names, "("+crud.Placeholders(len(ofNames)+1, 2)+")")
		ofNames = append(ofNames, name, own)
		if d.parent != "" {
			parents = append(parents, "("+crud.Placeholders(len(ofParents)+1, 2)+", 0)")
			ofParents = append(ofParents, own, made[d.parent])
		}
		if d.column != "" {
			ofTenant = append(ofTenant, own)
			columns = append(columns, fmt.Sprintf("%s = $%d", d.column, len(ofTenant)))
		}
	}
	for _, each := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO confd_endpoint_sip_template (uuid, tenant_uuid, name, label, transport_uuid, aor_section_options, auth_section_options,
			endpoint_section_options, identify_section_options, registration_section_options, registration_outbound_auth_section_options,
			outbound_auth_section_options) VALUES ` + strings.Join(templates, ", "), ofTemplates},
		{"INSERT INTO confd_sip_name (name, template_uuid) VALUES " + strings.Join(names, ", "), ofNames},
		{"INSERT INTO confd_endpoint_sip_template_parent (child_uuid, template_uuid, position) VALUES " + strings.Join(parents, ", "), ofParents},
		{"UPDATE confd_tenant SET " + strings.Join(columns, ", ") + " WHERE uuid = $1", ofTenant},
	} {
		if _, err := c.Exec(ctx, each.sql, each.args...); err != nil {
			return err
		}
	}
	return nil
}
