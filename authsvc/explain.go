package authsvc

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Requirement is the access that a request to the gateway needs.
type Requirement struct {
	Service string
	Access  string // "" on a public route
	Public  bool
	Master  rest.Master // what the service asks for beside the access
}

// Requirements returns what a method on a path needs, exactly as the gate would decide, or a refusal.
type Requirements func(method, path string) (Requirement, error)

// UseRequirements sets the function that knows what this gateway's gates require.
func (s *Service) UseRequirements(f Requirements) { s.requirements.Store(&f) }

// explanation is why a request is allowed or denied.
type explanation struct {
	Method         string   `json:"method" doc:"The method of the request." example:"GET"`
	Path           string   `json:"path"`
	Service        string   `json:"service"`
	UserUUID       string   `json:"user_uuid"`
	RequiredAccess string   `json:"required_access" doc:"The access that is needed; empty if the request is public." example:"confd.users.read"`
	Public         bool     `json:"public" doc:"Whether the request needs no token."`
	Allowed        bool     `json:"allowed" doc:"Whether the request is allowed."`
	Pattern        *string  `json:"pattern" doc:"The pattern that decides: a denial if there is one, else one that allows; null when nothing matches."`
	Through        []source `json:"through" doc:"Where the pattern comes from."`
	Refusal        *string  `json:"refusal" example:"Only users of the master tenant may do this" doc:"Why it is refused although the patterns allow it."`
}

// source is the policy that has a pattern, and the group that gives it.
type source struct {
	Pattern    string  `db:"access" json:"pattern" doc:"The pattern of accesses."`
	PolicyUUID string  `db:"policy_uuid" json:"policy_uuid" doc:"The UUID of the policy."`
	PolicyName string  `db:"policy_name" json:"policy_name" doc:"The name of the policy." example:"reception"`
	GroupUUID  *string `db:"group_uuid" json:"group_uuid" doc:"Null: the policy is the user's own."`
	GroupName  *string `db:"group_name" json:"group_name" doc:"The name of the group; null if no group gives it." example:"Reception"`
}

// holder is a user who holds an access.
type holder struct {
	UserUUID string   `db:"user_uuid" json:"user_uuid"`
	Username *string  `db:"username" json:"username" doc:"The name by which the user logs in."`
	Through  []source `json:"through" doc:"The policies that give it."`
}

type holdersAnswer struct {
	Items []holder `json:"items"`
	Total int      `json:"total"`
	Above int      `json:"above" doc:"How many enabled users of the tenants above hold it too: they may act in this tenant."`
}

func (s *Service) explainOperations() []rest.Operation {
	text, one, zero, shortest, longest := &rest.Schema{Type: "string"}, int64(1), int64(0), 1, acl.MaxBytes
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	limits := fmt.Sprintf("How many users to answer at most: %d if it is not sent, and %d at most.", holdersPage, rest.MaxLimit)
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/explain", Access: "auth.explain.read", ID: "explain", Tag: "access",
			Summary: "Why is a request allowed or denied?",
			Description: "For one's own token, or for a user that one may read: " +
				"the access that the request needs, the decision, and which pattern of which policy makes it.",
			Query: []rest.Parameter{
				{Name: "method", Description: "Of the request.", Schema: &rest.Schema{Type: "string", Enum: methods}, Required: true},
				{Name: "path", Description: "The path as a client sends it: /api/confd/1.1/users/17", Schema: text, Required: true},
				{Name: "user_uuid", Description: "Another user than oneself.", Schema: &rest.Schema{Type: "string", Format: "uuid"}},
			},
			Success: http.StatusOK, Reply: rest.SchemaOf[explanation](), Statuses: []int{404}, Tenanted: true, Handle: s.explain,
		},
		{
			Method: http.MethodGet, Path: "/access/holders", Access: "auth.access.holders.read", ID: "list_access_holders", Tag: "access",
			Summary:     "Who holds an access, and through what?",
			Description: "The enabled users, in the order of their UUIDs, a page at a time.",
			Query: []rest.Parameter{
				{Name: "access", Description: "confd.voicemails.5.delete", Schema: &rest.Schema{Type: "string", MinLength: &shortest, MaxLength: &longest}, Required: true},
				{Name: "limit", Description: limits, Schema: &rest.Schema{Type: "integer", Minimum: &one}},
				{Name: "offset", Description: "How many users to skip first.", Schema: &rest.Schema{Type: "integer", Minimum: &zero}},
				{Name: "recurse", Description: "Also the users of the tenants below.", Schema: &rest.Schema{Type: "boolean"}},
			},
			Success: http.StatusOK, Reply: rest.SchemaOf[holdersAnswer](), Tenanted: true, Handle: s.holders,
		},
	}
}

func (s *Service) explain(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	method, err := r.Choice("method")
	if err != nil {
		return rest.Reply{}, err
	}
	path, _ := r.Query("path")
	f := s.requirements.Load()
	if f == nil {
		return rest.Reply{}, apierr.New(apierr.Unavailable, "No gate is in front of this service")
	}
	need, err := (*f)(method, path)
	if err != nil {
		return rest.Reply{}, err
	}
	who, err := s.explained(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	out := explanation{
		Method: method, Path: path, Service: need.Service, UserUUID: who.UserUUID,
		RequiredAccess: need.Access, Public: need.Public, Allowed: need.Public, Through: []source{},
	}
	if need.Public {
		return rest.Reply{Body: out}, nil
	}
	if strings.ContainsAny(need.Access, "#*") {
		out.Allowed = who.Covers(need.Access)
	} else if err := s.explainPattern(ctx, &out, who.Principal); err != nil {
		return rest.Reply{}, err
	}
	if !out.Allowed {
		return rest.Reply{Body: out}, nil
	}
	refusal, err := s.refusedBeside(ctx, need, who)
	if refusal != "" {
		out.Allowed, out.Refusal = false, &refusal
	}
	return rest.Reply{Body: out}, err
}

// explainPattern fills in which pattern decides, and where it comes from.
func (s *Service) explainPattern(ctx context.Context, out *explanation, who *principal.Principal) error {
	pattern, allowed := who.ACL.Deciding(out.RequiredAccess, who.Binding())
	out.Allowed = allowed
	if pattern == "" {
		return nil
	}
	held, err := s.heldBy(ctx, knownBy(who.UserUUID))
	if err != nil {
		return err
	}
	for _, h := range held {
		same, named := h.Pattern == pattern, false
		if !same && isDenial(h.Pattern) && isDenial(pattern) { // by another name
			names, err := principal.Elsewhere(ctx, []string{positive(h.Pattern)}, who.UserUUID, s.peopleIn(s.db))
			if err != nil {
				return err
			}
			named = slices.Contains(names, positive(pattern))
		}
		if same || named {
			caller, words := principal.FromContext(ctx), strings.SplitN(out.RequiredAccess, ".", 4)
			if named && caller.UserUUID != who.UserUUID && caller.Denies(strings.Join(words[:3], ".")+".read") {
				h.Pattern = pattern // the person's other names are not for the caller
			}
			pattern = h.Pattern
			out.Through = append(out.Through, h.sources()...)
		}
	}
	out.Pattern = &pattern
	return nil
}

// refusedBeside returns what refuses a request that the patterns allow, in words, or "".
func (s *Service) refusedBeside(ctx context.Context, need Requirement, who explainedUser) (string, error) {
	if who.disabled {
		return "The user is disabled: none of their tokens is valid", nil
	}
	var of, refusal string
	switch need.Master {
	case rest.InMaster:
		of, refusal = who.acts, "Only the master tenant may do this, and the request acts in another one"
	case rest.FromMaster:
		of, refusal = who.TenantUUID, "Only users of the master tenant may do this"
	default:
		return "", nil
	}
	master, err := tenant.IsMaster(ctx, s.db, of)
	if master {
		refusal = ""
	}
	return refusal, err
}

// explainedUser is whose rights are explained, and in which tenant the request that is explained acts.
type explainedUser struct {
	*principal.Principal
	acts     string
	disabled bool
}

// explained returns whose rights are explained: the caller, or a user whom the caller may read. The explained request acts in the tenant that
// this one names, if the user may act there, and otherwise in the user's own.
func (s *Service) explained(ctx context.Context, r *rest.Request) (explainedUser, error) {
	caller := r.Principal()
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return explainedUser{}, err
	}
	asked, other := r.Query("user_uuid")
	if other && !isUUID(asked) {
		return explainedUser{}, apierr.InvalidField("user_uuid", "type", "Must be a UUID")
	}
	if asked = strings.ToLower(asked); !other || asked == caller.UserUUID {
		return explainedUser{caller, scope, false}, nil
	}
	if access := "auth.users." + asked + ".read"; !caller.Allows(access) {
		return explainedUser{}, unauthorizedFor(access)
	}
	u, err := store.Get[User](ctx, s.db, `SELECT uuid, tenant_uuid, enabled FROM auth_user WHERE uuid = $1 AND `+tenant.Below("tenant_uuid", "$2"), asked, scope)
	if err = missing(err, unknownUser(asked)); err != nil {
		return explainedUser{}, err
	}
	accesses, err := accessesOf(ctx, s.db, oneUser(asked))
	if err != nil {
		return explainedUser{}, err
	}
	set, err := s.acls.Compile(accesses)
	if err != nil {
		return explainedUser{}, err
	}
	p, err := s.completed(ctx, s.db, &principal.Principal{UserUUID: asked, ACL: set, Affiliation: &principal.Affiliation{TenantUUID: u.TenantUUID}})
	if err != nil {
		return explainedUser{}, err
	}
	out := explainedUser{p, u.TenantUUID, !u.Enabled}
	if within, err := tenant.Within(ctx, s.db, scope, u.TenantUUID); err != nil || within {
		out.acts = scope
		return out, err
	}
	return out, nil
}

// held is one pattern that a user holds, and its source. The names are empty or null of what the caller is denied to read.
type held struct {
	UserUUID string `db:"user_uuid"`
	source
}

// sources returns the source of the pattern, if the caller may read what it names.
func (h held) sources() []source {
	if h.PolicyName == "" || (h.GroupUUID == nil) != (h.GroupName == nil) {
		return nil
	}
	return []source{h.source}
}

// heldBy returns what each of the users holds, with its source, user by user.
func (s *Service) heldBy(ctx context.Context, uuids ...any) ([]held, error) {
	query, args := s.engine.Visible(ctx, `
		SELECT h.user_uuid, a.access, h.policy_uuid, coalesce((SELECT v.name FROM {auth_policy} v WHERE v.uuid = p.uuid), '') AS policy_name,
			h.group_uuid, g.name AS group_name
		FROM `+holdings(crud.Placeholders(1, len(uuids)))+` h
		JOIN auth_policy p ON p.uuid = h.policy_uuid
		JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		LEFT JOIN {auth_group} g ON g.uuid = h.group_uuid
		ORDER BY h.user_uuid, policy_name, a.access`, uuids...)
	return store.Select[held](ctx, s.db, query, args...)
}

// holdersPage is how many users a page of holders has if the client sets no limit.
const holdersPage = 100

// holders asks of every enabled user of the tenant what the gate would ask, and answers a page of those who hold the access.
func (s *Service) holders(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	access, _ := r.Query("access")
	access = acl.FoldUUIDs(access)
	if err := acl.ParseAccess(access); err != nil {
		return rest.Reply{}, apierr.InvalidField("access", "access", "%s", err)
	}
	query, err := r.List(rest.ListSpec{Recurse: true})
	if err != nil {
		return rest.Reply{}, err
	}
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return rest.Reply{}, err
	}
	answer, limit := holdersAnswer{Items: []holder{}}, cmp.Or(query.Limit, holdersPage)
	in := "tenant_uuid = $1"
	if query.Recurse {
		in = tenant.Below("tenant_uuid", "$1")
	}
	err = s.eachHolding(ctx, scope, in, func(h holder, rows []held) error {
		holds, err := s.through(ctx, &h, rows, access)
		if err != nil || !holds {
			return err
		}
		if answer.Total >= query.Offset && len(answer.Items) < limit {
			answer.Items = append(answer.Items, h)
		}
		answer.Total++
		return nil
	})
	if err != nil {
		return rest.Reply{}, err
	}
	err = s.eachHolding(ctx, scope, "tenant_uuid <> $1 AND tenant_uuid IN ("+tenant.Above("$1")+")", func(h holder, rows []held) error {
		holds, err := s.through(ctx, &h, rows, access)
		if holds {
			answer.Above++
		}
		return err
	})
	return rest.Reply{Body: answer}, err
}

// usersAtOnce is how many users eachHolding looks up at once: each may hold acl.MaxPatterns.
const usersAtOnce = 20

// eachHolding calls fn with what each enabled user of some tenants holds who holds anything, in the order of their UUIDs, without users whom
// the caller is denied to read: in is the condition for tenant_uuid, of the tenant $1. It needs the memory of a few users, however many
// there are. Users who come or go meanwhile may or may not be among them.
func (s *Service) eachHolding(ctx context.Context, tenantUUID, in string, fn func(user holder, holds []held) error) error {
	for last := uuid.Nil.String(); ; {
		query, args := s.engine.Visible(ctx, `SELECT u.uuid AS user_uuid, u.username FROM {auth_user} u
			WHERE u.enabled AND `+in+` AND u.uuid > $2 ORDER BY u.uuid LIMIT $3`, tenantUUID, last, usersAtOnce)
		users, err := store.Select[holder](ctx, s.db, query, args...)
		if err != nil || len(users) == 0 {
			return err
		}
		var uuids []any
		for _, user := range users {
			last = user.UserUUID
			uuids = append(uuids, last)
		}
		rows, err := s.heldBy(ctx, uuids...)
		if err != nil {
			return err
		}
		holds := map[string][]held{}
		for _, row := range rows {
			holds[row.UserUUID] = append(holds[row.UserUUID], row)
		}
		for _, user := range users {
			if len(holds[user.UserUUID]) == 0 {
				continue
			}
			if err := fn(user, holds[user.UserUUID]); err != nil {
				return err
			}
		}
	}
}

// through fills in through what a user holds the access, of these patterns, and reports whether they allow it.
func (s *Service) through(ctx context.Context, h *holder, rows []held, access string) (bool, error) {
	patterns := make([]string, len(rows))
	for i, row := range rows {
		patterns[i] = row.Pattern
	}
	set, err := s.acls.Compile(patterns)
	if err != nil {
		return false, err
	}
	p, err := s.completed(ctx, s.db, &principal.Principal{UserUUID: h.UserUUID, ACL: set})
	if err != nil {
		return false, err
	}
	me := acl.Binding{User: h.UserUUID}
	if !p.Allows(access) {
		return false, nil
	}
	h.Through = []source{}
	for _, row := range rows {
		if acl.Match(row.Pattern, access, me) {
			h.Through = append(h.Through, row.sources()...)
		}
	}
	return true, nil
}
