package confdsvc

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// EndpointSIP is a telephone, or a trunk, that speaks SIP.
type EndpointSIP struct {
	SIPSections
	crud.Hrefs

	CallerIDName *string `db:"caller_id_name" json:"-"`
	CallerIDNum  *string `db:"caller_id_num" json:"-"`

	GenerateLogin *bool `json:"generate_login,omitempty" writeOnly:"true" doc:"Makes a new login: its name, and a random password, whatever it has or is sent."`

	Line  *EndpointLine  `json:"line" readOnly:"true"`
	Trunk *EndpointTrunk `json:"trunk" readOnly:"true"`
}

// EndpointSIPRef is a SIP endpoint as its line shows it.
type EndpointSIPRef struct {
	UUID  string       `db:"uuid" json:"uuid" format:"uuid"`
	Label *string      `db:"label" json:"label"`
	Name  string       `db:"name" json:"name"`
	Auth  sipUsernames `db:"auth_section_options" json:"auth_section_options" doc:"The usernames alone."`
	crud.Hrefs
}

// sipUsernames reads only the usernames of a section's options, not the passwords beside them.
type sipUsernames struct{ SIPOptions }

// Scan reads the column's text.
func (u *sipUsernames) Scan(src any) error {
	if err := u.SIPOptions.Scan(src); err != nil {
		return err
	}
	u.V, _ = u.split("username")
	return nil
}

// split returns the options of this name, which others show, and those that they hide.
func (o SIPOptions) split(name string) (shown, hidden [][]string) {
	shown = [][]string{}
	for _, pair := range o.V {
		if pair[0] == name {
			shown = append(shown, pair)
		} else {
			hidden = append(hidden, pair)
		}
	}
	return shown, hidden
}

// restoreHiddenAuth keeps what lines hide of a login: they show the username alone.
func restoreHiddenAuth(o *EndpointSIP, sent map[string]any) {
	restoreHidden(sent, "auth_section_options", "username", &o.Auth)
}

// restoreHidden adds to options that all have one name, as other objects show them, those that these hide: a password is not lost because a client
// could not read it. Options that have anything else are the whole section, and so is an empty list where there was one that is shown.
func restoreHidden(sent map[string]any, field, shown string, stored *SIPOptions) {
	list, isList := sent[field].([]any)
	if !isList {
		return
	}
	now := make([][]string, len(list))
	for i, item := range list {
		pair, _ := item.([]any)
		if len(pair) != 2 || pair[0] != shown {
			return
		}
		value, _ := pair[1].(string)
		now[i] = []string{shown, value}
	}
	seen, hidden := stored.split(shown)
	switch {
	case reflect.DeepEqual(now, seen):
		delete(sent, field)
	case len(list) > 0:
		list = slices.Clone(list)
		for _, pair := range hidden {
			list = append(list, []any{pair[0], pair[1]})
		}
		sent[field] = list
	}
}

const lineSIP crud.Relation[Line, EndpointSIP] = "line_endpoint_sip"

func init() { resources = append(resources, declareEndpointsSIP, declareEndpointSIPTemplates) }

// generateLogin gives an endpoint the login that was asked for: what telephones tell as their username is its name, by which they are known
// anyway.
func (o *EndpointSIP) generateLogin() {
	if o.GenerateLogin != nil && *o.GenerateLogin {
		rest := slices.DeleteFunc(slices.Clone(o.Auth.V), func(pair []string) bool {
			return slices.Contains([]string{"username", "password", "md5_cred", "password_digest"}, pair[0])
		})
		o.Auth.V = append([][]string{{"username", o.Name}, {"password", randomPassword()}}, rest...)
	}
	o.GenerateLogin = nil
}

var endpointKind = sipKind[EndpointSIP]{
	templates: "endpoint_sip_template",
	parents:   "confd_endpoint_sip_parent", child: "endpoint_uuid", named: "endpoint_uuid", title: "SIPEndpoint", trunks: "uuid = $1",
}

func declareEndpointsSIP(e *crud.Engine) {
	r := sipResource[EndpointSIP](e, endpointKind, "confd_endpoint_sip", "'false'")
	r.Path, r.Singular, r.Param, r.Rel = "endpoints/sip", "endpoint_sip", "sip_uuid", "endpoint_sip"
	r.About, r.Lists = "SIP accounts of telephones.", []string{"label", "name", "line", "templates", "transport"}
	r.Prepare = func(ctx context.Context, c store.Conn, change *crud.Change[EndpointSIP]) error {
		return prepareEndpointSIP(ctx, c, e, change)
	}
	r.Conceals = map[string]func(context.Context, *EndpointSIP) (bool, error){"endpoint_section_options": concealCallerID(e)}
	r.Describe = func(action string, op *rest.Operation) {
		if action == "read" {
			e.View(op, "merged", "Another form of the object.", func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
				o, err := crud.Of[EndpointSIP](e).ReadIn(ctx, c, r, scope)
				if err == nil {
					err = mergeEndpoint(ctx, c, e, o)
				}
				if err != nil {
					return nil, err
				}
				return crud.Of[EndpointSIP](e).ForCaller(ctx, o)
			})
		}
	}
	endpointKind.collect(e, r, crud.SameTenant)
	crud.Link[Line, EndpointSIP]{
		Relation: lineSIP, Table: "confd_line_endpoint", RightColumn: "sip_uuid", Calls: "Endpoint", LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne,
		LeftShows: []crud.Show{
			crud.One(func(l *Line) **EndpointSIPRef { return &l.EndpointSIP }),
			crud.One(func(l *UserLine) **EndpointSIPRef { return &l.EndpointSIP }),
		},
		RightShows:  []crud.Show{crud.One(func(x *EndpointSIP) **EndpointLine { return &x.Line })},
		LeftDeleted: crud.Cascade,
		Allow:       crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, notOf[Line]("Trunk", "sip_uuid", func(o *EndpointSIP) any { return o.UUID })),
		MayEnd:      lineCanLoseEndpoint[EndpointSIP](e),
		Changed:     crud.Each(rememberEndpoint[EndpointSIP]),
	}.On(e)
	crud.Nest[Line, EndpointSIP]{
		Name: "endpoint_sip", Relation: lineSIP, Shown: true, Complete: completeEndpointSIP, Restore: restoreHiddenAuth,
	}.On(e)
}

// mergeEndpoint adds the options of its templates to an endpoint. It refuses a caller who is denied to read one of them.
func mergeEndpoint(ctx context.Context, c store.Conn, e *crud.Engine, o *EndpointSIP) error {
	m, err := mergerOf(ctx, c, e, []*EndpointSIP{o}, "$1", o.UUID)
	if err != nil {
		return err
	}
	for template := range m.templates {
		if err := e.MayRead(ctx, "endpoints/sip/templates", template); err != nil {
			return err
		}
	}
	o.SIPSections = *m.merge(&o.SIPSections)
	return nil
}

// loadWebRTC sets for each line whether its endpoint, merged with its templates, is one for a browser, as far as the caller may know of them.
func loadWebRTC(e *crud.Engine) func(ctx context.Context, c store.Conn, lines []*Line) error {
	return func(ctx context.Context, c store.Conn, lines []*Line) error {
		ids := make([]any, len(lines))
		for i, l := range lines {
			ids[i] = l.ID
		}
		from, args := e.Visible(ctx, " FROM {confd_line_endpoint} le WHERE sip_uuid IS NOT NULL AND line_id IN ("+crud.Placeholders(1, len(ids))+")", ids...)
		of := "SELECT sip_uuid" + from
		rows, err := store.Select[struct {
			LineID  ID     `db:"line_id"`
			SIPUUID string `db:"sip_uuid"`
		}](ctx, c, "SELECT line_id, CAST(sip_uuid AS text) AS sip_uuid"+from, args...)
		if err != nil {
			return err
		}
		endpoints, err := crud.Of[EndpointSIP](e).Select(ctx, c, "uuid IN ("+of+")", args...)
		if err != nil {
			return err
		}
		m, err := mergerOf(ctx, c, e, endpoints, of, args...)
		if err != nil {
			return err
		}
		maps.DeleteFunc(m.templates, func(template string, _ *SIPSections) bool {
			return e.MayRead(ctx, "endpoints/sip/templates", template) != nil
		})
		webrtc := map[string]bool{}
		for _, endpoint := range endpoints {
			value, _ := m.merge(&endpoint.SIPSections).Endpoint.last("webrtc")
			webrtc[endpoint.UUID] = isTrue(value)
		}
		lineWebRTC := map[ID]bool{}
		for _, row := range rows {
			lineWebRTC[row.LineID] = webrtc[row.SIPUUID]
		}
		for _, l := range lines {
			l.IsWebRTC = lineWebRTC[l.ID]
		}
		return nil
	}
}

// EndpointSIPTemplate is a template from which SIP endpoints, and other templates, take options.
type EndpointSIPTemplate struct {
	SIPSections
	crud.Hrefs
}

var templateKind = sipKind[EndpointSIPTemplate]{
	templates: "endpoint_sip_template_template",
	parents:   "confd_endpoint_sip_template_parent", child: "child_uuid", named: "template_uuid", title: "SIPEndpointTemplate",
	trunks: "uuid IN (SELECT endpoint_uuid FROM confd_endpoint_sip_parent WHERE template_uuid IN (" + templatesBelow + "))",
}

func declareEndpointSIPTemplates(e *crud.Engine) {
	r := sipResource[EndpointSIPTemplate](e, templateKind, "confd_endpoint_sip_template", "'true'")
	r.Path, r.Singular, r.Param, r.Rel = "endpoints/sip/templates", "endpoint_sip_template", "template_uuid", "endpoint_sip_templates"
	r.About, r.Lists = "Settings that SIP accounts share.", []string{"label", "name", "templates", "transport"}
	templateKind.collect(e, r, crud.All(crud.SameTenant, notItself))
}
