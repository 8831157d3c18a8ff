package authsvc

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// AuditEntry is one change that somebody made.
type AuditEntry struct {
	ID          int64            `db:"id" json:"id" readOnly:"true" doc:"The number of the entry."`
	At          time.Time        `db:"at" json:"at" readOnly:"true" doc:"When it was changed."`
	TenantUUID  string           `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true" doc:"The tenant that has the object."`
	ActorUUID   *string          `db:"actor_uuid" json:"actor_uuid" format:"uuid" ref:"users.uuid" readOnly:"true" doc:"The user; null when nobody was logged in."`
	ActorName   *string          `json:"actor_name" readOnly:"true" example:"ada" doc:"The name, or main address; null if the user is gone or may not be read."`
	SessionUUID *string          `db:"session_uuid" json:"session_uuid" format:"uuid" readOnly:"true"`
	RequestID   string           `db:"request_id" json:"request_id" readOnly:"true" doc:"The X-Request-Id of the request."`
	Service     string           `db:"service" json:"service" names:"services.name" readOnly:"true"`
	Action      string           `db:"action" json:"action" names:"operations.id" readOnly:"true" doc:"The operation's operationId." example:"update"`
	Resource    string           `db:"resource" json:"resource" names:"operations.path" readOnly:"true"`
	Object      string           `db:"object" json:"object" names:"operations.keys" readOnly:"true" doc:"The key of what was changed."`
	Before      *store.JSON[any] `db:"before" json:"before" readOnly:"true" doc:"The object before, without its secrets; null when it was made."`
	After       *store.JSON[any] `db:"after" json:"after" readOnly:"true" doc:"The object after; null when it was deleted."`
}

// ofGoneTenants lets users of the master tenant read the entries of deleted tenants, which are below no tenant. No other tenant
// ever gets the UUID of a deleted one (auth_used_uuid).
const ofGoneTenants = `(%s IN (SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid) AND tenant_uuid NOT IN (SELECT uuid FROM auth_tenant))`

func (s *Service) declareAudit(e *crud.Engine) {
	crud.Collect(e, crud.Resource[AuditEntry]{
		Path: "audit", Singular: "audit_entry", Param: "audit_entry_id", Table: "audit", Keys: []string{"id"},
		About:      "Who has changed what, and when.",
		Lists:      []string{"at", "actor_uuid", "action", "service", "resource", "object"},
		Order:      []string{"id", "at"},
		SearchText: "said",
		Bounded:    auditCounted,
		Filters:    []string{"actor_uuid", "session_uuid", "request_id", "service", "action", "resource", "object", "about", "since", "until"},
		Matches: map[string]crud.Match{
			"object": {Condition: "object = %s", Fold: foldKeys},
			"about":  {Condition: aboutObject, Fold: foldKeys, Doc: aboutDoc},
			"since":  {Condition: "at >= %s", Type: "date-time", Doc: "Only entries from this time on, as RFC 3339 writes it."},
			"until":  {Condition: "at < %s", Type: "date-time", Doc: "Only entries before this time, as RFC 3339 writes it."},
		},
		SearchAlso: s.saidEntries, Load: s.loadEntries,
		Only: []string{"list", "read"}, Subtree: true, Shared: ofGoneTenants,
		Readable: func(r *rest.Request, add func(any) string) string {
			if about, _ := r.Query("about"); s.conceals(r.HTTP.Context(), foldKeys(about)) {
				return nothing
			}
			return s.readableEntries(r.Principal(), add)
		},
	})
}

var keyUUIDs = regexp.MustCompile(`(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// foldKeys returns the keys of an object with their UUIDs in lower case, as they are stored.
func foldKeys(typed string) string { return keyUUIDs.ReplaceAllStringFunc(typed, strings.ToLower) }

// auditCounted is how many entries a list counts at most.
const auditCounted = 10_000

const aboutDoc = "Only entries about one object, by any of its keys: `confd/users/17`. Those of its parts and associations are among them, " +
	"and of lists that had it; of a user of this service, those of the user's groups too."

// aboutObject matches the entries of an object, and those of the groups of a user.
const aboutObject = `id IN (
	SELECT id FROM {+audit} a WHERE %[2]s AND has_line(about, CAST(%[1]s AS text))
	UNION SELECT id FROM {+audit} a WHERE service = 'auth' AND resource IN ('groups', 'groups/policies') AND substr(object, 1, 36) IN (
		SELECT CAST(m.group_uuid AS text) FROM {auth_group_user} m WHERE 'auth/users/' || CAST(m.user_uuid AS text) = CAST(%[1]s AS text)))`

// conceals reports whether the caller of ctx may not know of an object, as in confd/users/17: then nothing tells what else it was changed with.
func (s *Service) conceals(ctx context.Context, about string) bool {
	service, object, _ := strings.Cut(about, "/")
	at := slices.IndexFunc(s.audited, func(a audited) bool { return a.service == service })
	slash := strings.LastIndexByte(object, '/')
	if at < 0 || slash < 0 || s.audited[at].picture == nil {
		return false
	}
	key := object[slash+1:]
	shown, err := s.audited[at].picture(ctx, object[:slash], map[string]any{"id": key, "uuid": key, "slug": key, "name": key})
	return err != nil || shown == nil
}

// loadEntries names the actors, and leaves of the pictures what the reader may read.
func (s *Service) loadEntries(ctx context.Context, c store.Conn, entries []*AuditEntry) error {
	for _, e := range entries {
		at := slices.IndexFunc(s.audited, func(a audited) bool { return a.service == e.Service })
		if at < 0 || s.audited[at].picture == nil {
			continue
		}
		for _, picture := range []*store.JSON[any]{e.Before, e.After} {
			if picture == nil {
				continue
			}
			shown, err := s.audited[at].picture(ctx, e.Resource, picture.V)
			if err != nil {
				return err
			}
			picture.V = shown
		}
	}
	return loadActors(ctx, c, entries)
}

// loadActors names the actors whom the reader may know: those of the reader's own tenant and of the tenants below, in whichever of them the
// request acts.
func loadActors(ctx context.Context, c store.Conn, entries []*AuditEntry) error {
	reader := principal.FromContext(ctx)
	if reader == nil || reader.Affiliation == nil {
		return nil
	}
	args, known := []any{reader.TenantUUID}, map[string]*string{}
	for _, e := range entries {
		if e.ActorUUID == nil || known[*e.ActorUUID] != nil || !reader.Allows("auth.users."+*e.ActorUUID+".read") {
			continue
		}
		known[*e.ActorUUID] = new(string)
		args = append(args, *e.ActorUUID)
	}
	if len(args) == 1 {
		return nil
	}
	type actor struct {
		UUID string  `db:"uuid"`
		Name *string `db:"name"`
	}
	actors, err := store.Select[actor](ctx, c, `
		SELECT u.uuid, coalesce(u.username, (SELECT e.address FROM auth_email e WHERE e.user_uuid = u.uuid AND e.main AND e.confirmed)) AS name
		FROM auth_user u WHERE `+tenant.Below("u.tenant_uuid", "$1")+` AND u.uuid IN (`+crud.Placeholders(2, len(args)-1)+`)`, args...)
	clear(known)
	for _, a := range actors {
		known[a.UUID] = a.Name
	}
	for _, e := range entries {
		if e.ActorUUID != nil {
			e.ActorName = known[*e.ActorUUID]
		}
	}
	return err
}

// audited is a service whose changes are in the audit: the accesses needed to read an object of each of its resources, the folded
// summaries of its operations, by their ids, and what pictures show.
type audited struct {
	service   string
	readings  map[string][]reading
	summaries map[string]string
	picture   func(ctx context.Context, resource string, picture any) (any, error)
}

// Audits adds another service whose changes are in the audit. It must be called before the first request.
func (s *Service) Audits(other *rest.Service) {
	summaries := map[string]string{}
	for i := range other.Operations {
		if op := &other.Operations[i]; op.Method != http.MethodGet {
			summaries[op.ID] = store.Fold(op.Summary)
		}
	}
	s.audited = append(s.audited, audited{other.Name, readings(other), summaries, other.Picture})
}

// saidEntries returns the condition for the entries of operations whose summaries or ids have these words, in this order, for those of
// such resources, of the object whose key is the one word, and of actors whose names have the words. The names are those that loadActors shows.
func (s *Service) saidEntries(ctx context.Context, words []string, add func(any) string) string {
	var conditions []string
	if reader := principal.FromContext(ctx); reader != nil && reader.Affiliation != nil && len(words) > 0 && reader.Covers("auth.users.*.read") {
		conditions = append(conditions, query.Among(s.db, "actor_uuid", `SELECT u.uuid FROM auth_user u WHERE `+tenant.Below("u.tenant_uuid", add(reader.TenantUUID))+
			` AND fold(coalesce(u.username,
				(SELECT e.address FROM auth_email e WHERE e.user_uuid = u.uuid AND e.main AND e.confirmed))) LIKE `+add(store.Containing(words...))+` ESCAPE '\'`))
	}
	if len(words) == 1 {
		conditions = append(conditions, "object = "+add(words[0]))
	}
	for _, a := range s.audited {
		of := map[string][]string{}
		for _, id := range slices.Sorted(maps.Keys(a.summaries)) {
			if inOrder(a.summaries[id], words) || inOrder(id, words) {
				of["action"] = append(of["action"], add(id))
			}
		}
		for _, resource := range slices.Sorted(maps.Keys(a.readings)) {
			if inOrder(resource, words) {
				of["resource"] = append(of["resource"], add(resource))
			}
		}
		for _, column := range slices.Sorted(maps.Keys(of)) {
			conditions = append(conditions, "(service = "+add(a.service)+" AND "+column+" IN ("+strings.Join(of[column], ", ")+"))")
		}
	}
	return strings.Join(conditions, " OR ")
}

// inOrder reports whether a text has all words, one after the other.
func inOrder(text string, words []string) bool {
	for _, word := range words {
		_, rest, found := strings.Cut(text, word)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// readableEntries returns the condition for the entries of the audit that a user may read: those of objects that the user may
// read now, as the services' operations declare it. An entry of an undeclared resource needs all of its service.
func (s *Service) readableEntries(p *principal.Principal, add func(any) string) string {
	if p.Covers("#") {
		return everything
	}
	v, conditions := newViewer(p, add), []string{nothing}
	for _, a := range s.audited {
		service := "service = " + add(a.service)
		whole := []string{"''"} // all of whose entries are readable: one look for all of them
		for _, resource := range slices.Sorted(maps.Keys(a.readings)) {
			switch readable := v.all(a.readings[resource]); readable {
			case everything:
				whole = append(whole, add(resource))
			case nothing: // without an argument: PostgreSQL cannot infer the type of an unused one
			default:
				conditions = append(conditions, service+" AND resource = "+add(resource)+" AND "+readable)
			}
		}
		conditions = append(conditions, service+" AND resource IN ("+strings.Join(whole, ", ")+")")
		if p.Covers(a.service + ".#") {
			known := []string{"''"}
			for _, resource := range slices.Sorted(maps.Keys(a.readings)) {
				known = append(known, add(resource))
			}
			conditions = append(conditions, service+" AND resource NOT IN ("+strings.Join(known, ", ")+")")
		}
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// reading is an access needed to read an object, or one of two associated objects.
type reading struct {
	before, after string // the access around the object's key
	side          int    // 0: the object, or the first of the two; 1: the second; ofUsers
	shown         bool   // that of a list of links, which an object shows too: only a denial of it counts
}

// ofUsers is the side of the users that an object is of, where an entry names them.
const ofUsers = 2

// readings returns, by the audit's names of resources, the accesses needed to read an object of each. They come from the
// service's operations: for users, GET /users/{id}; for users/policies, GET /users/{id} and GET /policies/{id}, and no denial of the lists
// of one below the other; for users/external, GET /users/{id} and GET /users/{id}/external.
func readings(service *rest.Service) map[string][]reading {
	objects, parts := map[string]reading{}, map[string]reading{}
	for _, op := range service.Operations {
		path := strings.Split(op.Path, "/")[1:]
		last := len(path) - 1
		switch {
		case op.Method != "GET":
		case last > 0 && isParameter(path[last]) && !strings.Contains(strings.Join(path[:last], ""), "{"):
			if r, ok := readingOf(op.Access, path[last]); ok {
				objects[strings.Join(path[:last], "/")] = r
			}
		case last == 2 && isParameter(path[1]) && !isParameter(path[2]):
			if r, ok := readingOf(op.Access, path[1]); ok {
				parts[path[0]+"/"+path[2]] = r
			}
		}
	}
	out := map[string][]reading{}
	for resource, r := range objects {
		out[resource] = []reading{r}
	}
	for _, op := range service.Operations {
		of, rest, ok := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/{")
		_, part, deep := strings.Cut(rest, "}/")
		part, _, linked := strings.Cut(part, "/{")
		if !ok || !deep || strings.Contains(part, "{") {
			continue
		}
		if needs := needed(of, part, linked, objects, parts); needs != nil && (linked || len(out[of+"/"+part]) < 2) {
			out[of+"/"+part] = needs
		}
	}
	return out
}

// needed returns what it takes to read of a part of an object, or of an association of two, which are linked. The other is that of the last word, as
// in queues/members/agents; where a collection has the name of the association, as agents/skills, both are asked of either.
func needed(of, part string, linked bool, objects, parts map[string]reading) (needs []reading) {
	if r, ok := objects[of]; ok {
		needs = append(needs, r)
	}
	other, associated := objects[part]
	if !associated && linked {
		other, associated = objects[part[strings.LastIndexByte(part, '/')+1:]]
	}
	if own, named := objects[of+"/"+part]; !associated && linked && named {
		other, associated, needs = own, true, append(needs, own)
	}
	if !associated {
		if r, ok := parts[of+"/"+part]; ok {
			needs = append(needs, r)
		}
		if r, ok := parts["users/"+of]; ok { // of what users have, as of their calls, nothing is told to who is denied it, or one of them
			for _, r := range []reading{r, {before: "confd.users.", after: ".read"}, {before: "auth.users.", after: ".read"}} {
				r.side, r.shown = ofUsers, true
				needs = append(needs, r)
			}
		}
		return needs
	}
	other.side = 1
	needs = append(needs, other)
	for side, list := range []string{of + "/" + part, part + "/" + of} {
		if r, ok := parts[list]; ok {
			r.side, r.shown = side, true
			needs = append(needs, r)
		}
	}
	return needs
}

func isParameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// readingOf splits an access around its one parameter.
func readingOf(access, parameter string) (reading, bool) {
	before, after, ok := strings.Cut(access, parameter)
	return reading{before: before, after: after}, ok && !strings.Contains(before+after, "{")
}

// viewer is a user who reads the audit.
type viewer struct {
	*principal.Principal
	add func(value any) (placeholder string)
	// named are the words that the user's patterns name, and the user's own UUID: all other words are alike to them.
	named []string
}

func newViewer(p *principal.Principal, add func(any) string) *viewer {
	words := []string{p.UserUUID, p.SessionUUID}
	for _, pattern := range p.ACL.Patterns() {
		words = append(words, strings.Split(positive(pattern), ".")...)
	}
	slices.Sort(words)
	return &viewer{p, add, slices.DeleteFunc(slices.Compact(words), func(word string) bool {
		return slices.Contains([]string{"", "*", "#", "me", "my_session"}, word)
	})}
}

// maxNamed is how many objects of a resource a user's patterns may name. If they name more, the user sees nothing of the resource
// in the audit.
const maxNamed = 200

const everything, nothing = "1 = 1", "1 = 0"

// all returns the condition for the entries whose objects the viewer may read, as the gate and the service would decide: reading
// is allowed under one of the object's keys, and denied under none.
func (v *viewer) all(needs []reading) string {
	var conditions []string
	for _, r := range needs {
		denied, all := v.DeniedWords(r.before, r.after)
		if all || len(denied) > maxNamed {
			if r.side == ofUsers { // what is of no user stays
				conditions = append(conditions, "names NOT LIKE '% "+strconv.Itoa(ofUsers)+":%'")
			} else {
				conditions = append(conditions, nothing)
			}
			continue
		}
		if len(denied) > 0 {
			conditions = append(conditions, v.without(r.side, denied)+" = names")
		}
		if r.shown || v.Allows(r.of(uuid.NewString())) { // any object that no pattern names
			continue
		}
		allowed := slices.DeleteFunc(slices.Clone(v.named), func(word string) bool { return !v.Allows(r.of(word)) })
		if len(allowed) == 0 || len(allowed) > maxNamed {
			conditions = append(conditions, nothing)
			continue
		}
		conditions = append(conditions, v.without(r.side, allowed)+" <> names")
	}
	return cmp.Or(strings.Join(conditions, " AND "), everything)
}

// of returns the access that reads an object.
func (r reading) of(key string) string { return r.before + key + r.after }

// without returns the column `names` without the keys that match the words.
func (v *viewer) without(side int, words []string) string {
	left := "names"
	for _, word := range words {
		key := strings.ReplaceAll(word, "%2E", ".") // as rest.WriteWord writes a dot
		left = "replace(" + left + ", " + v.add(audit.Name(side, key)) + ", '')"
	}
	return left
}
