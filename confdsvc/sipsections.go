package confdsvc

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// SIPSections are the common part of a SIP endpoint and a template of such endpoints: the sections of the telephone system's
// configuration.
type SIPSections struct {
	UUID             string     `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID       string     `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name             string     `db:"name" json:"name" format:"sip-section" doc:"Chosen at random when it is not sent. No endpoint, template or transport has another's."`
	Label            *string    `db:"label" json:"label" maxLength:"128"`
	AOR              SIPOptions `db:"aor_section_options" json:"aor_section_options" default:"[]" example:"[[\"max_contacts\", \"1\"]]" doc:"Options of the section of the address of record, as pairs of a name and a value."`
	Auth             SIPOptions `db:"auth_section_options" json:"auth_section_options" default:"[]" example:"[[\"username\", \"alice\"]]" doc:"Options of the authentication section, as pairs of a name and a value."`
	Endpoint         SIPOptions `db:"endpoint_section_options" json:"endpoint_section_options" default:"[]" example:"[[\"dtmf_mode\", \"rfc4733\"]]" doc:"Options of the endpoint section, as pairs of a name and a value."`
	Identify         SIPOptions `db:"identify_section_options" json:"identify_section_options" default:"[]" example:"[[\"match\", \"192.0.2.1\"]]" doc:"Options of the section that identifies by address, as pairs of a name and a value."`
	Registration     SIPOptions `db:"registration_section_options" json:"registration_section_options" default:"[]" example:"[[\"client_uri\", \"sip:alice@example.org\"]]" doc:"Options of the section for a registrar elsewhere, as pairs of a name and a value."`
	RegistrationAuth SIPOptions `db:"registration_outbound_auth_section_options" json:"registration_outbound_auth_section_options" default:"[]" example:"[[\"username\", \"alice\"]]" doc:"Options of the section for authentication at a registrar elsewhere, as pairs of a name and a value."`
	OutboundAuth     SIPOptions `db:"outbound_auth_section_options" json:"outbound_auth_section_options" default:"[]" example:"[[\"username\", \"alice\"]]" doc:"Options of the section for outgoing authentication, as pairs of a name and a value."`
	AsteriskID       *string    `db:"asterisk_id" json:"asterisk_id" maxLength:"1024" example:"pbx-1" doc:"The name by which the endpoint is known to Asterisk."`

	Templates []SIPTemplateRef `json:"templates" default:"[]" maxItems:"128" doc:"What it takes its options from. Of an option that several have the last one's counts, and its own before all."`
	Transport *SIPTransportRef `json:"transport"`

	TransportUUID *string `db:"transport_uuid" json:"-" format:"uuid"`
	TransportName *string `db:"transport_name" computed:"true" json:"-"`
}

// SIPTemplateRef is a template as the endpoints and templates that use it show it.
type SIPTemplateRef struct {
	UUID  string  `json:"uuid" required:"true" format:"uuid" names:"endpoints/sip/templates.uuid"`
	Label *string `json:"label" readOnly:"true"`
}

// section is one of the sections: its attribute, its options, and those that it may have.
type section struct {
	field   string
	options *SIPOptions
	known   map[string]bool
}

func (s *SIPSections) sections() []section {
	return []section{
		{"aor_section_options", &s.AOR, aorOptions},
		{"auth_section_options", &s.Auth, authOptions},
		{"endpoint_section_options", &s.Endpoint, endpointOptions},
		{"identify_section_options", &s.Identify, identifyOptions},
		{"registration_section_options", &s.Registration, registrationOptions},
		{"registration_outbound_auth_section_options", &s.RegistrationAuth, authOptions},
		{"outbound_auth_section_options", &s.OutboundAuth, authOptions},
	}
}

func (s *SIPSections) common() *SIPSections { return s }

type hasSections interface{ common() *SIPSections }

// sectionsOf returns the sections of a *EndpointSIP or a *EndpointSIPTemplate.
func sectionsOf[T any](o *T) *SIPSections { return any(o).(hasSections).common() }

// sipKind holds the differences between how the two are stored.
type sipKind struct {
	parents, child string // the table of the templates that it uses, and the column that names it there
	named          string // its column in the table of names
	title          string // its name in refusals
}

func sipResource[T any](kind sipKind, table, isTemplate string) crud.Resource[T] {
	columns := []string{"label", "name", "asterisk_id", "template"}
	return crud.Resource[T]{
		Title: kind.title, Table: table, Keys: []string{"uuid"}, Order: columns, Filters: append(columns, "uuid"), SearchText: "search_text",
		Virtual: map[string]string{
			"template":       isTemplate,
			"transport_name": "SELECT t.name FROM {confd_sip_transport} t WHERE t.uuid = " + table + ".transport_uuid",
		},
		Prepare: prepareSections[T],
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
			return kind.check(ctx, c, change.Tenant, sectionsOf(change.New))
		},
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
			return kind.save(ctx, c, sectionsOf(change.New), change.Old == nil)
		},
		Load: func(_ context.Context, _ store.Conn, objects []*T) error {
			for _, o := range objects {
				sectionsOf(o).showTransport()
			}
			return nil
		},
		Beside: []crud.Beside[T]{{
			From: kind.parents, By: kind.child,
			Load: func(ctx context.Context, c store.Conn, objects []*T) error {
				all := make([]*SIPSections, len(objects))
				for i, o := range objects {
					all[i] = sectionsOf(o)
				}
				return kind.loadParents(ctx, c, all)
			},
			Blank: func(o *T) { sectionsOf(o).Templates = []SIPTemplateRef{} },
		}},
	}
}

// showTransport makes the transport that the row names one that clients read.
func (s *SIPSections) showTransport() {
	if s.Transport = nil; s.TransportUUID != nil {
		s.Transport = &SIPTransportRef{UUID: *s.TransportUUID, Name: s.TransportName}
	}
}

func prepareSections[T any](_ context.Context, _ store.Conn, change *crud.Change[T]) error {
	s := sectionsOf(change.New)
	if s.TransportUUID = nil; s.Transport != nil {
		s.TransportUUID = &s.Transport.UUID
	}
	if change.Old != nil {
		return nil
	}
	s.UUID = uuid.NewString()
	if s.Name == "" {
		s.Name = randomSection()
	}
	return nil
}

func randomSection() string { return strings.ToLower(rand.Text()[:8]) }

// randomPassword returns 130 random bits in small letters and digits, which every keypad has and no file quotes.
func randomPassword() string { return strings.ToLower(rand.Text()) }

// check runs the checks that need the database. scope is the tenant in which the request acts.
func (kind sipKind) check(ctx context.Context, c store.Conn, scope string, s *SIPSections) error {
	for _, section := range s.sections() {
		if err := section.options.check(section.field, section.known); err != nil {
			return err
		}
		if err := section.options.checkLogins(section.field); err != nil {
			return err
		}
	}
	if err := s.Endpoint.reachesOwnContexts(ctx, c, s.TenantUUID, "endpoint_section_options"); err != nil {
		return err
	}
	if s.TransportUUID != nil {
		there, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_sip_transport WHERE uuid = $1`, *s.TransportUUID)
		if err != nil {
			return err
		}
		if there == 0 {
			return crud.Missing("transport", "Transport", "uuid", *s.TransportUUID)
		}
	}
	return kind.checkParents(ctx, c, scope, s)
}

func (kind sipKind) save(ctx context.Context, c store.Conn, s *SIPSections, fresh bool) error {
	if err := nameSection(ctx, c, kind.title, kind.named, s.UUID, s.Name); err != nil {
		return err
	}
	return kind.saveParents(ctx, c, s, fresh)
}

// nameSection stores the name of a section, and refuses a name that another section of any kind has. title is its name in
// refusals, and column the one that refers to it.
func nameSection(ctx context.Context, c store.Conn, title, column, sectionUUID, name string) error {
	_, err := c.Exec(ctx, "INSERT INTO confd_sip_name (name, "+column+") VALUES ($1, $2) ON CONFLICT ("+column+") DO UPDATE SET name = excluded.name", name, sectionUUID)
	if store.IsConstraint(err, store.Unique) {
		return style.Storedf("%s already exists ('name': '%s')", title, name).On("name")
	}
	return err
}
