package confdsvc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// SIPSections are the common part of a SIP endpoint and a template of such endpoints: the sections of the telephone system's
// configuration.
type SIPSections struct {
	UUID             string     `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID       string     `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name             string     `db:"name" json:"name" format:"sip-section" doc:"Random when it is not sent. Unique among endpoints, templates and transports."`
	Label            *string    `db:"label" json:"label" maxLength:"128"`
	AOR              SIPOptions `db:"aor_section_options" json:"aor_section_options" example:"[[\"max_contacts\", \"1\"]]"`
	Auth             SIPOptions `db:"auth_section_options" json:"auth_section_options" example:"[[\"username\", \"alice\"]]"`
	Endpoint         SIPOptions `db:"endpoint_section_options" json:"endpoint_section_options" example:"[[\"dtmf_mode\", \"rfc4733\"]]"`
	Identify         SIPOptions `db:"identify_section_options" json:"identify_section_options" example:"[[\"match\", \"192.0.2.1\"]]"`
	Registration     SIPOptions `db:"registration_section_options" json:"registration_section_options" example:"[[\"client_uri\", \"sip:alice@example.org\"]]"`
	RegistrationAuth SIPOptions `db:"registration_outbound_auth_section_options" json:"registration_outbound_auth_section_options" example:"[[\"realm\",\"*\"]]"`
	OutboundAuth     SIPOptions `db:"outbound_auth_section_options" json:"outbound_auth_section_options" example:"[[\"username\", \"alice\"]]"`
	AsteriskID       *string    `db:"asterisk_id" json:"asterisk_id" maxLength:"1024" example:"pbx-1" doc:"The name by which the endpoint is known to Asterisk."`

	Templates []SIPTemplateRef `json:"templates" default:"[]" maxItems:"128" doc:"What it takes its options from: the last one's count, and its own before all."`
	Transport *SIPTransportRef `json:"transport"`

	TransportUUID *string `db:"transport_uuid" json:"-" format:"uuid"`
	TransportName *string `db:"transport_name" computed:"true" json:"-"`
}

// SIPTemplateRef is a template as the endpoints and templates that use it show it.
type SIPTemplateRef struct {
	UUID  string  `json:"uuid" required:"true" format:"uuid" names:"endpoints/sip/templates.uuid"`
	Label *string `json:"label" readOnly:"true"`
}

// section is one of the sections: its attribute, and its options.
type section struct {
	field   string
	options *SIPOptions
}

func (s *SIPSections) sections() []section {
	return []section{
		{"aor_section_options", &s.AOR},
		{"auth_section_options", &s.Auth},
		{"endpoint_section_options", &s.Endpoint},
		{"identify_section_options", &s.Identify},
		{"registration_section_options", &s.Registration},
		{"registration_outbound_auth_section_options", &s.RegistrationAuth},
		{"outbound_auth_section_options", &s.OutboundAuth},
	}
}

func (s *SIPSections) common() *SIPSections { return s }

type hasSections interface{ common() *SIPSections }

// sectionsOf returns the sections of a *EndpointSIP or a *EndpointSIPTemplate.
func sectionsOf[T any](o *T) *SIPSections { return any(o).(hasSections).common() }

// sipKind holds the differences between how the two are stored.
type sipKind[T any] struct {
	templates      crud.Relation[T, EndpointSIPTemplate]
	parents, child string // the table of the templates that it uses, and the column that names it there
	named          string // its column in the table of names
	title          string // its name in refusals
	trunks         string // the condition for the endpoints of trunks that have the options of the one with the UUID $1
}

// collect declares the objects, and the templates that they use as a relation: a list that is an attribute of their own.
func (kind sipKind[T]) collect(e *crud.Engine, r crud.Resource[T], mayUse crud.Check[T, EndpointSIPTemplate]) {
	crud.Collect(e, r)
	crud.Link[T, EndpointSIPTemplate]{
		Relation: kind.templates, Table: kind.parents, LeftColumn: kind.child, RightColumn: "template_uuid", Position: "position", Only: []string{},
		Set:   &crud.List{Path: "templates", By: []string{"uuid"}, Repeated: "Cannot associate same template more than once."},
		Allow: mayUse,
	}.On(e)
}

func sipResource[T any](e *crud.Engine, kind sipKind[T], table, isTemplate string) crud.Resource[T] {
	columns := []string{"label", "name", "asterisk_id", "template"}
	return crud.Resource[T]{
		Title: kind.title, Table: table, Keys: []string{"uuid"}, Order: columns, Filters: append(columns, "uuid"), SearchText: "search_text",
		Virtual: map[string]string{
			"template":       isTemplate,
			"transport_name": "SELECT t.name FROM {confd_sip_transport} t WHERE t.uuid = " + table + ".transport_uuid",
		},
		Prepare: prepareSections[T],
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
			return sectionsOf(change.New).check(ctx, c)
		},
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
			return kind.save(ctx, c, e, change)
		},
		Load: func(_ context.Context, _ store.Conn, objects []*T) error {
			for _, o := range objects {
				sectionsOf(o).showTransport()
			}
			return nil
		},
		Beside: []crud.Beside[T]{{
			From: kind.parents, By: kind.child, Refers: map[string]string{"template_uuid": "endpoints/sip/templates.uuid"}, Changes: "update",
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
	if s.Name == "" {
		s.Name = randomSection()
	}
	return nil
}

func randomSection() string { return strings.ToLower(rand.Text()[:8]) }

// randomPassword returns 130 random bits in small letters and digits, which every keypad has and no file quotes.
func randomPassword() string { return strings.ToLower(rand.Text()) }

// check refuses options that a section may not have, and a transport that is not there.
func (s *SIPSections) check(ctx context.Context, c store.Conn) error {
	for _, section := range s.sections() {
		if err := section.options.check(section.field, optionSets[section.field]); err != nil {
			return err
		}
	}
	if err := s.Endpoint.reachesOwnContexts(ctx, c, s.TenantUUID, "endpoint_section_options"); err != nil {
		return err
	}
	if s.TransportUUID == nil {
		return nil
	}
	there, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_sip_transport WHERE uuid = $1`, *s.TransportUUID)
	if err == nil && there == 0 {
		err = crud.Missing("transport", "Transport", "uuid", *s.TransportUUID)
	}
	return err
}

// save stores the name and the templates, and refuses what trunks that have the options cannot do with.
func (kind sipKind[T]) save(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[T]) error {
	s := sectionsOf(change.New)
	if err := nameSection(ctx, c, kind.title, kind.named, s.UUID, s.Name); err != nil {
		return err
	}
	old := &SIPSections{}
	if change.Old != nil {
		old = sectionsOf(change.Old)
	}
	if !s.sameTemplates(old) {
		items := make([]any, len(s.Templates))
		for i, t := range s.Templates {
			items[i] = map[string]any{"uuid": t.UUID}
		}
		if err := kind.templates.SetOwn(ctx, c, e, change, items); err != nil {
			return err
		}
	}
	if change.Old == nil || s.sameOptions(old) {
		return nil
	}
	return checkTrunks(ctx, c, e, ofTrunks+" AND "+kind.trunks, s.UUID)
}

// nameSection stores the name of a section, and refuses a name that another section of any kind has. title is its name in
// refusals, and column the one that refers to it.
func nameSection(ctx context.Context, c store.Conn, title, column, sectionUUID, name string) error {
	_, err := c.Exec(ctx, "INSERT INTO confd_sip_name (name, "+column+") VALUES ($1, $2)"+
		" ON CONFLICT ("+column+") DO UPDATE SET name = excluded.name", name, sectionUUID)
	if store.IsConstraint(err, store.Unique) {
		return style.Storedf("%s already exists ('name': '%s')", title, name).On("name")
	}
	return err
}

// SIPOptions are the options of one section of the telephone system's SIP configuration: pairs of a name and a value, in order.
type SIPOptions struct{ store.JSON[[][]string] }

// JSONSchema returns a list of pairs.
func (SIPOptions) JSONSchema() *rest.Schema {
	two, most, longest := 2, 512, 4096
	pair := &rest.Schema{Type: "array", Items: &rest.Schema{Type: "string", MaxLength: &longest}, MinItems: &two, MaxItems: &two}
	doc := "Options, as pairs of a name and a value."
	return &rest.Schema{Doc: doc, Type: "array", Items: pair, MaxItems: &most, Default: json.RawMessage("[]")}
}

// check refuses an option that a section may not have, for the attribute that has it.
func (o SIPOptions) check(field string, of *optionSet) error {
	for _, pair := range o.V {
		if err := of.refuse(field, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// maxLogin is how many bytes a username and a password have at most in Asterisk's file.
const maxLogin = 1000

// LoginFault says why a telephone cannot log in with a username or a password, or nothing: Asterisk could not read it as it is.
func LoginFault(value string) string {
	switch {
	case strings.TrimSpace(value) != value:
		return "begins or ends with a blank, which Asterisk drops"
	case conf.Plain(value) != value || !conf.Fits(value, maxLogin):
		return "is too long, or has a character that Asterisk cannot read"
	}
	return ""
}

// NoLogin says why nobody can log in with these options of a section, or nothing.
func (o SIPOptions) NoLogin(section string) string {
	for _, option := range []string{"username", "password"} {
		value, _ := o.last(option)
		if value == "" {
			return "its endpoint has no login: " + section + " needs a username and a password"
		}
		if fault := LoginFault(value); fault != "" {
			return "the " + option + " of its endpoint " + fault
		}
	}
	return ""
}

// last returns the effective value of an option, and whether there is one.
func (o SIPOptions) last(name string) (string, bool) {
	for _, pair := range slices.Backward(o.V) {
		if pair[0] == name {
			return pair[1], true
		}
	}
	return "", false
}

// repeated are the options that a section may repeat; of all others the last one counts.
var repeated = map[string]bool{"set_var": true, "match": true}

// over returns these options, overridden by those of a section that uses them as a template.
func (o SIPOptions) over(own SIPOptions) SIPOptions {
	out := SIPOptions{}
	out.V = make([][]string, 0, len(o.V)+len(own.V))
	at := map[[2]string]int{}
	for _, pair := range slices.Concat(o.V, own.V) {
		key := [2]string{pair[0]}
		if repeated[pair[0]] {
			key[1] = pair[1]
		}
		if i, there := at[key]; there {
			out.V[i] = pair
			continue
		}
		at[key] = len(out.V)
		out.V = append(out.V, pair)
	}
	return out
}

// The options of each kind of section of pjsip.conf, as Asterisk documents them. A section's type, which is its kind, is not an
// option.
var (
	endpointOptions = &optionSet{others: isOwn, other: anything, kinds: anything.called(`
		100rel accept_multiple_sdp_answers accountcode acl aggregate_mwi allow allow_overlap allow_subscribe allow_transfer
		allow_unauthenticated_options aors asymmetric_rtp_codec auth bind_rtp_to_media_address bundle call_group callerid callerid_privacy
		callerid_tag codec_prefs_incoming_answer codec_prefs_incoming_offer codec_prefs_outgoing_answer codec_prefs_outgoing_offer
		connected_line_method contact_acl contact_deny contact_permit contact_user context cos_audio cos_video deny device_state_busy_at
		direct_media direct_media_glare_mitigation direct_media_method disable_direct_media_on_nat disallow dtls_auto_generate_cert dtls_ca_file
		dtls_ca_path dtls_cert_file dtls_cipher dtls_fingerprint dtls_private_key dtls_rekey dtls_setup dtls_verify dtmf_mode fax_detect
		fax_detect_timeout follow_early_media_fork follow_redirect_methods force_avp force_rport from_domain from_user g726_non_standard
		geoloc_incoming_call_profile geoloc_outgoing_call_profile ice_support identify_by ignore_183_without_sdp inband_progress
		incoming_call_offer_pref incoming_mwi_mailbox language mailboxes max_audio_streams max_video_streams media_address media_encryption
		media_encryption_optimistic media_use_received_transport message_context moh_passthrough moh_suggest mwi_from_user
		mwi_subscribe_replaces_unsolicited named_call_group named_pickup_group notify_early_inuse_ringing one_touch_recording outbound_auth
		outbound_proxy outgoing_call_offer_pref overlap_context permit pickup_group preferred_codec_only record_off_feature record_on_feature
		redirect_method refer_blind_progress rewrite_contact rpid_immediate rtcp_mux rtp_engine rtp_ipv6 rtp_keepalive rtp_symmetric rtp_timeout
		rtp_timeout_hold sdp_owner sdp_session security_mechanisms security_negotiation send_aoc send_connected_line send_diversion
		send_history_info send_pai send_rpid set_var srtp_tag_32 stir_shaken stir_shaken_profile sub_min_expiry subscribe_context
		suppress_moh_on_sendonly suppress_q850_reason_headers t38_bind_udptl_to_media_address t38_udptl t38_udptl_ec t38_udptl_ipv6
		t38_udptl_maxdatagram t38_udptl_nat tenantid timers timers_min_se timers_sess_expires tone_zone tos_audio tos_video transport
		trust_connected_line trust_id_inbound trust_id_outbound use_avpf use_ptime user_eq_phone voicemail_extension webrtc`)}
	aorOptions = &optionSet{others: isOwn, other: anything, kinds: anything.called(`
		authenticate_qualify contact default_expiration mailboxes max_contacts maximum_expiration minimum_expiration outbound_proxy
		qualify_2xx_only qualify_frequency qualify_timeout remove_existing remove_unavailable support_path voicemail_extension`)}
	authOptions = &optionSet{kinds: kinds(optionKind{fault: LoginFault}.called("password username"), anything.called(`
		auth_type md5_cred nonce_lifetime oauth_clientid oauth_secret password_digest realm refresh_token supported_algorithms_uac
		supported_algorithms_uas`))}
	identifyOptions     = &optionSet{kinds: anything.called(`endpoint match match_header match_request_uri srv_lookups transport`)}
	registrationOptions = &optionSet{kinds: anything.called(`
		auth_rejection_permanent client_uri contact_header_params contact_user endpoint expiration fatal_retry_interval forbidden_retry_interval
		line max_random_initial_delay max_retries outbound_auth outbound_proxy retry_interval security_mechanisms security_negotiation
		server_uri support_outbound support_path transport user_agent`)}
	transportOptions = &optionSet{kinds: anything.called(`
		allow_reload allow_wildcard_certs async_operations bind ca_list_file ca_list_path cert_file cipher cos domain external_media_address
		external_signaling_address external_signaling_port local_net method password priv_key_file protocol require_client_cert
		symmetric_transport tcp_keepalive_enable tcp_keepalive_idle_time tcp_keepalive_interval_time tcp_keepalive_probe_count tos
		verify_client verify_server websocket_write_timeout`)}
)

func init() {
	maps.Copy(optionSets, map[string]*optionSet{
		"aor_section_options": aorOptions, "auth_section_options": authOptions, "endpoint_section_options": endpointOptions,
		"identify_section_options": identifyOptions, "registration_section_options": registrationOptions,
		"registration_outbound_auth_section_options": authOptions, "outbound_auth_section_options": authOptions,
	})
}

// isOwn reports whether an option is a value that the telephone system keeps for its programs.
func isOwn(name string) bool { return strings.HasPrefix(name, "@") }

// contextOptions are an endpoint's options that lead calls to a context of the dialplan.
var contextOptions = []string{"context", "message_context", "overlap_context", "subscribe_context"}

// reachesOwnContexts refuses an option that leads calls into another tenant's context.
func (o SIPOptions) reachesOwnContexts(ctx context.Context, c store.Conn, tenantUUID, field string) error {
	for _, pair := range o.V {
		if !slices.Contains(contextOptions, pair[0]) {
			continue
		}
		if err := notForeign(ctx, c, tenantUUID, field, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// notItself refuses templates that take options from the one that is to use them.
func notItself(ctx context.Context, c store.Conn, pairs []*crud.Pair[EndpointSIPTemplate, EndpointSIPTemplate]) error {
	own := pairs[0].Left.UUID
	args := []any{own}
	for _, p := range pairs {
		args = append(args, p.Right.UUID)
	}
	again, err := store.Get[int](ctx, c, "SELECT count(*) FROM confd_endpoint_sip_template WHERE uuid = $1 AND uuid IN ("+
		templatesAbove("SELECT uuid FROM confd_endpoint_sip_template WHERE uuid IN ("+crud.Placeholders(2, len(pairs))+")")+")", args...)
	if err == nil && again > 0 {
		err = style.NotPermitted("Cannot use itself as template", "uuid", own)
	}
	return err
}

// templatesAbove is a query of the templates that another query finds, and of all templates above them.
func templatesAbove(first string) string {
	return `WITH RECURSIVE above (uuid) AS (` + first + `
		UNION SELECT p.template_uuid FROM confd_endpoint_sip_template_parent p JOIN above a ON p.child_uuid = a.uuid) SELECT uuid FROM above`
}

// templatesBelow is a query of the template $1, and of all that take options from it.
const templatesBelow = `WITH RECURSIVE below (uuid) AS (SELECT uuid FROM confd_endpoint_sip_template WHERE uuid = $1
	UNION SELECT p.child_uuid FROM confd_endpoint_sip_template_parent p JOIN below b ON p.template_uuid = b.uuid) SELECT uuid FROM below`

// sameOptions reports whether two have the same options and templates.
func (s *SIPSections) sameOptions(as *SIPSections) bool {
	theirs := as.sections()
	for i, section := range s.sections() {
		if !reflect.DeepEqual(section.options.V, theirs[i].options.V) {
			return false
		}
	}
	return s.sameTemplates(as)
}

func (s *SIPSections) sameTemplates(as *SIPSections) bool {
	return slices.EqualFunc(s.Templates, as.Templates, func(a, b SIPTemplateRef) bool { return a.UUID == b.UUID })
}

func (kind sipKind[T]) loadParents(ctx context.Context, c store.Conn, objects []*SIPSections) error {
	args := make([]any, len(objects))
	for i, s := range objects {
		args[i] = s.UUID
	}
	return kind.parentsWhere(ctx, c, objects, "p."+kind.child+" IN ("+crud.Placeholders(1, len(args))+")", args...)
}

// parentsWhere fills in the templates that objects use, for the objects that a condition finds.
func (kind sipKind[T]) parentsWhere(ctx context.Context, c store.Conn, objects []*SIPSections, condition string, args ...any) error {
	by := make(map[string]*SIPSections, len(objects))
	for _, s := range objects {
		s.Templates = []SIPTemplateRef{}
		by[s.UUID] = s
	}
	rows, err := store.Select[struct {
		Child string  `db:"child"`
		UUID  string  `db:"uuid"`
		Label *string `db:"label"`
	}](ctx, c, "SELECT CAST(p."+kind.child+" AS text) AS child, CAST(t.uuid AS text) AS uuid, t.label FROM "+kind.parents+
		" p JOIN confd_endpoint_sip_template t ON t.uuid = p.template_uuid WHERE "+condition+" ORDER BY p.position", args...)
	for _, row := range rows {
		s := by[row.Child]
		s.Templates = append(s.Templates, SIPTemplateRef{UUID: row.UUID, Label: row.Label})
	}
	return err
}

type merger struct {
	templates map[string]*SIPSections
	merged    map[string]*SIPSections
}

// mergerOf returns a merger for endpoints, whose UUIDs a query finds. They are asked for templates only if they have some.
func mergerOf(ctx context.Context, c store.Conn, e *crud.Engine, endpoints []*EndpointSIP, query string, args ...any) (*merger, error) {
	if !slices.ContainsFunc(endpoints, func(o *EndpointSIP) bool { return len(o.Templates) > 0 }) {
		return &merger{}, nil
	}
	first := "SELECT template_uuid FROM confd_endpoint_sip_parent WHERE endpoint_uuid IN (" + query + ")"
	templates, err := crud.Of[EndpointSIPTemplate](e).Select(ctx, c, "uuid IN ("+templatesAbove(first)+")", args...)
	return mergerOfTemplates(templates), err
}

func mergerOfTemplates(templates []*EndpointSIPTemplate) *merger {
	m := &merger{templates: make(map[string]*SIPSections, len(templates)), merged: map[string]*SIPSections{}}
	for _, t := range templates {
		m.templates[t.UUID] = &t.SIPSections
	}
	return m
}

// merge returns the sections as the telephone system has them: those of each template, in order, overridden by its own.
func (m *merger) merge(own *SIPSections) *SIPSections {
	out := *own
	for _, s := range out.sections() {
		s.options.V = nil
	}
	out.Transport, out.AsteriskID = nil, nil
	for _, t := range own.Templates {
		if template := m.template(t.UUID); template != nil {
			out.cover(template)
		}
	}
	out.cover(own)
	return &out
}

// template returns a merged template. Each is merged once, however many use it.
func (m *merger) template(templateUUID string) *SIPSections {
	if done, ok := m.merged[templateUUID]; ok {
		return done
	}
	m.merged[templateUUID] = nil // in a cycle it takes nothing from itself
	if t := m.templates[templateUUID]; t != nil {
		m.merged[templateUUID] = m.merge(t)
	}
	return m.merged[templateUUID]
}

func (s *SIPSections) cover(over *SIPSections) {
	theirs := over.sections()
	for i, section := range s.sections() {
		*section.options = section.options.over(*theirs[i].options)
	}
	if over.Transport != nil {
		s.Transport = over.Transport
	}
	if over.AsteriskID != nil {
		s.AsteriskID = over.AsteriskID
	}
}

// isTrue reports whether the telephone system treats the value of an option as true.
func isTrue(value string) bool {
	return slices.Contains([]string{"yes", "true", "y", "t", "1", "on"}, strings.ToLower(value))
}
