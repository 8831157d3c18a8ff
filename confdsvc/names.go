package confdsvc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Names looks up the names by which a telephone system calls the folders of contexts and of music on hold.
type Names struct{ engine *crud.Engine }

// Names returns the names in the same database.
func (r *Snapshots) Names() Names { return Names{r.engine} }

// InternalContexts returns the names of the internal contexts of a tenant, or of all tenants if the tenant is "".
func (n Names) InternalContexts(ctx context.Context, tenantUUID string) ([]string, error) {
	if tenantUUID == "" {
		return store.Select[string](ctx, n.engine.DB, `SELECT name FROM confd_context WHERE type = 'internal' ORDER BY id`)
	}
	return store.Select[string](ctx, n.engine.DB, `SELECT name FROM confd_context WHERE type = 'internal' AND tenant_uuid = $1 ORDER BY id`, tenantUUID)
}

// HasContext reports whether the tenant has a context of that name.
func (n Names) HasContext(ctx context.Context, tenantUUID, name string) (bool, error) {
	return n.engine.Has(ctx, n.engine.DB, tenantUUID, "contexts", "name", name)
}

// Endpoints returns the names of the SIP endpoints of a tenant.
func (n Names) Endpoints(ctx context.Context, tenantUUID string) ([]string, error) {
	return store.Select[string](ctx, n.engine.DB, `SELECT name FROM confd_endpoint_sip WHERE tenant_uuid = $1`, tenantUUID)
}

// Waiting returns what the queues and the switchboards of a tenant, or of all tenants if the tenant is "", are called: queues by their numbers, and
// switchboards by their UUIDs.
func (n Names) Waiting(ctx context.Context, tenantUUID string) (map[string]string, error) {
	found, err := store.Select[struct{ Key, Name string }](ctx, n.engine.DB, `
		SELECT CAST(id AS text) AS key, coalesce(nullif(label, ''), name) AS name FROM confd_queue WHERE $1 = '' OR CAST(tenant_uuid AS text) = $1
		UNION ALL SELECT CAST(uuid AS text), name FROM confd_switchboard WHERE $1 = '' OR CAST(tenant_uuid AS text) = $1`, tenantUUID)
	names := make(map[string]string, len(found))
	for _, one := range found {
		names[one.Key] = one.Name
	}
	return names, err
}

// Denied returns what of a tenant, or of all tenants if the tenant is "", the caller of ctx is denied to know of: SIP endpoints by their names, and
// those of lines, users and trunks that are denied; queues by their numbers and switchboards by their UUIDs; agents by their numbers.
func (n Names) Denied(ctx context.Context, tenantUUID string) (endpoints, waiting, agents []string, err error) {
	if !rights.Restricted(ctx) {
		return nil, nil, nil, nil
	}
	const within = ` WHERE ($1 = '' OR CAST(o.tenant_uuid AS text) = $1) AND `
	for _, of := range []struct {
		to  *[]string
		sql string
	}{
		{&endpoints, `SELECT o.name FROM {+confd_endpoint_sip} o` + within + `(o.uuid NOT IN (SELECT v.uuid FROM {confd_endpoint_sip} v)
			OR EXISTS (SELECT 1 FROM {+confd_trunk_endpoint} te WHERE te.sip_uuid = o.uuid AND te.trunk_id NOT IN (SELECT t.id FROM {confd_trunk} t))
			OR EXISTS (SELECT 1 FROM {+confd_line_endpoint} le LEFT JOIN {+confd_user_line} ul ON ul.line_id = le.line_id WHERE le.sip_uuid = o.uuid
				AND (le.line_id NOT IN (SELECT l.id FROM {confd_line} l) OR ul.user_id NOT IN (SELECT u.id FROM {confd_user} u))))`},
		{&waiting, `SELECT CAST(o.id AS text) FROM {+confd_queue} o` + within + `o.id NOT IN (SELECT q.id FROM {confd_queue} q)
			UNION ALL SELECT CAST(o.uuid AS text) FROM {+confd_switchboard} o` + within + `o.uuid NOT IN (SELECT s.uuid FROM {confd_switchboard} s)`},
		{&agents, `SELECT o.number FROM {+confd_agent} o` + within + `(o.id NOT IN (SELECT a.id FROM {confd_agent} a)
			OR EXISTS (SELECT 1 FROM {+confd_user_agent} ua WHERE ua.agent_id = o.id AND ua.user_id NOT IN (SELECT u.id FROM {confd_user} u)))`},
	} {
		sql, args := n.engine.Visible(ctx, of.sql, tenantUUID)
		if *of.to, err = store.Select[string](ctx, n.engine.DB, sql, args...); err != nil {
			return nil, nil, nil, fmt.Errorf("reading what a caller is denied: %w", err)
		}
	}
	return endpoints, waiting, agents, nil
}

// HasMOH reports whether the tenant has a music on hold of that name.
func (n Names) HasMOH(ctx context.Context, tenantUUID, name string) (bool, error) {
	return n.engine.Has(ctx, n.engine.DB, tenantUUID, "moh", "name", name)
}

// Hides reports whether the caller of ctx is denied to know of a context, of a voicemail in it or, if number is "", of any, or of a music on hold.
func (n Names) Hides(ctx context.Context, name, number, moh string) (bool, error) {
	if !rights.Restricted(ctx) {
		return false, nil
	}
	sql, args := n.engine.Visible(ctx, `
		SELECT 1 FROM {+confd_context} o WHERE o.name = $1 AND o.id NOT IN (SELECT c.id FROM {confd_context} c)
		UNION ALL SELECT 1 FROM {+confd_voicemail} o WHERE o.context = $1 AND (o.number = $2 OR $2 = '') AND o.id NOT IN (SELECT v.id FROM {confd_voicemail} v)
		UNION ALL SELECT 1 FROM {+confd_moh} o WHERE o.name = $3 AND o.uuid NOT IN (SELECT m.uuid FROM {confd_moh} m)`, name, number, moh)
	hidden, err := store.Select[int](ctx, n.engine.DB, sql, args...)
	return len(hidden) > 0, err
}

// EndpointUser is a telephone user, with the name of a SIP endpoint of theirs and the number of its line, or "".
type EndpointUser struct {
	Endpoint   string `db:"endpoint"`
	TenantUUID string `db:"tenant_uuid"`
	UUID       string `db:"uuid"`
	Name       string `db:"name"`
	Number     string `db:"number"`
}

// UsersOfEndpoints returns the main users of the lines of SIP endpoints, by the names of these.
func UsersOfEndpoints(ctx context.Context, c store.Conn, names []string) ([]EndpointUser, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	return store.Select[EndpointUser](ctx, c, `
		SELECT n.name AS endpoint, u.tenant_uuid, u.uuid, trim(u.firstname || ' ' || coalesce(u.lastname, '')) AS name,
			coalesce((SELECT x.exten FROM confd_line_extension lx JOIN confd_extension x ON x.id = lx.extension_id WHERE lx.line_id = le.line_id), '') AS number
		FROM confd_sip_name n JOIN confd_line_endpoint le ON le.sip_uuid = n.endpoint_uuid
			JOIN confd_user_line ul ON ul.id = (SELECT min(o.id) FROM confd_user_line o WHERE o.line_id = le.line_id)
			JOIN confd_user u ON u.id = ul.user_id
		WHERE n.name IN (`+crud.Placeholders(1, len(names))+`)`, args...)
}

// People returns the telephone users of some numbers and UUIDs, whichever tenants they are in (principal.People). Other names are nobody's.
func People(ctx context.Context, c store.Conn, names []string) ([]principal.Person, error) {
	var numbers, uuids []any
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			numbers = append(numbers, id)
		} else if id, err := uuid.Parse(name); err == nil {
			uuids = append(uuids, id.String())
		}
	}
	var which []string
	if len(numbers) > 0 {
		which = append(which, "id IN ("+crud.Placeholders(1, len(numbers))+")")
	}
	if len(uuids) > 0 {
		which = append(which, "uuid IN ("+crud.Placeholders(1+len(numbers), len(uuids))+")")
	}
	if len(which) == 0 {
		return nil, nil
	}
	query := "SELECT CAST(id AS text) AS id, uuid FROM confd_user WHERE " + strings.Join(which, " OR ")
	return store.Select[principal.Person](ctx, c, query, append(numbers, uuids...)...)
}

// relabelled takes the name that an update sends without a label for the label: older clients know that word alone. On create the tag `or`
// does so. A client that sends back the generated name has not changed it.
func relabelled[T any](change *crud.Change[T], generated string, label *string) error {
	name := change.Sent.Value("name")
	if change.Old == nil || change.Sent.Has("label") || name == nil || name == generated {
		return nil
	}
	if wrong := rest.SchemaOf[T]().Property("label").Schema.Validate("name", name); len(wrong) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	*label = name.(string)
	return nil
}
