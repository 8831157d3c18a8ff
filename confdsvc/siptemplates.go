package confdsvc

import (
	"context"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// checkParents refuses templates that do not exist, belong to another tenant, are repeated, or take their options from the
// object itself.
func (kind sipKind) checkParents(ctx context.Context, c store.Conn, scope string, s *SIPSections) error {
	seen := map[string]bool{}
	for _, t := range s.Templates {
		if seen[t.UUID] {
			return style.NotPermitted("Cannot associate same template more than once.", "template_uuid", t.UUID)
		}
		seen[t.UUID] = true
		owners, err := store.Select[string](ctx, c, `SELECT CAST(tenant_uuid AS text) FROM confd_endpoint_sip_template
			WHERE uuid = $1 AND `+tenant.Below("tenant_uuid", "$2"), t.UUID, scope)
		switch {
		case err != nil:
			return err
		case len(owners) == 0:
			return crud.Missing("templates", "SIPEndpointTemplate", "uuid", t.UUID)
		case owners[0] != s.TenantUUID:
			return style.DifferentTenants("endpoint_sip", s.TenantUUID, "template", owners[0])
		}
	}
	return kind.refuseCycle(ctx, c, s)
}

// refuseCycle refuses an object that its own templates take options from.
func (kind sipKind) refuseCycle(ctx context.Context, c store.Conn, s *SIPSections) error {
	if len(s.Templates) == 0 {
		return nil
	}
	args := []any{s.UUID}
	for _, t := range s.Templates {
		args = append(args, t.UUID)
	}
	again, err := store.Get[int](ctx, c, "SELECT count(*) FROM confd_endpoint_sip_template WHERE uuid = $1 AND uuid IN ("+
		templatesAbove("SELECT uuid FROM confd_endpoint_sip_template WHERE uuid IN ("+crud.Placeholders(2, len(s.Templates))+")")+")", args...)
	if err == nil && again > 0 {
		err = style.NotPermitted("Cannot use itself as template", "uuid", s.UUID)
	}
	return err
}

// templatesAbove is a query of the templates that another query finds, and of all templates above them.
func templatesAbove(first string) string {
	return `WITH RECURSIVE above (uuid) AS (` + first + `
		UNION SELECT p.template_uuid FROM confd_endpoint_sip_template_parent p JOIN above a ON p.child_uuid = a.uuid) SELECT uuid FROM above`
}

// saveParents writes the templates of an object, which has none yet if it is fresh.
func (kind sipKind) saveParents(ctx context.Context, c store.Conn, s *SIPSections, fresh bool) error {
	if !fresh {
		if _, err := c.Exec(ctx, "DELETE FROM "+kind.parents+" WHERE "+kind.child+" = $1", s.UUID); err != nil {
			return err
		}
	}
	for i, t := range s.Templates {
		if _, err := c.Exec(ctx, "INSERT INTO "+kind.parents+" ("+kind.child+", template_uuid, position) VALUES ($1, $2, $3)", s.UUID, t.UUID, i); err != nil {
			return err
		}
	}
	return nil
}

func (kind sipKind) loadParents(ctx context.Context, c store.Conn, objects []*SIPSections) error {
	args := make([]any, len(objects))
	for i, s := range objects {
		args[i] = s.UUID
	}
	return kind.parentsWhere(ctx, c, objects, "p."+kind.child+" IN ("+crud.Placeholders(1, len(args))+")", args...)
}

// parentsWhere fills in the templates that objects use, for the objects that a condition finds.
func (kind sipKind) parentsWhere(ctx context.Context, c store.Conn, objects []*SIPSections, condition string, args ...any) error {
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

// mergerOf returns a merger for the endpoints whose UUIDs a query finds.
func mergerOf(ctx context.Context, c store.Conn, e *crud.Engine, endpoints string, args ...any) (*merger, error) {
	first := "SELECT template_uuid FROM confd_endpoint_sip_parent WHERE endpoint_uuid IN (" + endpoints + ")"
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
