package wazo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/moving/report"
)

// Verification says how what was imported compares with what was there.
type Verification struct {
	// Users and Operations were decided, each user with each operation, of which an operation on users counts for oneself and for another, and with the
	// accesses that the user's own policies name, of whatever service. Allowed is how often the old rules say yes.
	Users      int   `json:"users"`
	Operations int   `json:"operations"`
	Decided    int64 `json:"decided"`
	Allowed    int64 `json:"allowed"`
	// Differences are the decisions that are not the same.
	Differences []Difference `json:"differences"`
}

// Difference is an access that some users had and have not, or the other way round.
type Difference struct {
	Access string `json:"access"`
	Was    bool   `json:"was"`
	Is     bool   `json:"is"`
	// Count is how many users, of whom Users are the first.
	Count int      `json:"count"`
	Users []string `json:"users"`
}

// oldPolicies is the query of who holds which policies there: w_held.
const oldPolicies = `CREATE TEMP TABLE w_held AS
	SELECT u.uuid AS user, l.policy_uuid AS policy FROM w_auth_user u JOIN w_was_user_policy l ON l.user_uuid = u.uuid
	UNION SELECT m.user_uuid, l.policy_uuid FROM w_was_user_group m JOIN w_was_group_policy l ON l.group_uuid = m.group_uuid`

// remember keeps who held what before anything is left out.
func remember(ctx context.Context, tx store.Conn) error {
	for _, name := range []string{"user_policy", "group_policy", "user_group", "policy_access"} {
		if _, err := tx.Exec(ctx, "CREATE TEMP TABLE w_was_"+name+" AS SELECT * FROM w_auth_"+name); err != nil {
			return err
		}
	}
	for _, s := range []string{
		"CREATE INDEX w_was_gp ON w_was_group_policy (group_uuid)", "CREATE INDEX w_was_up ON w_was_user_policy (user_uuid)",
		"CREATE INDEX w_was_pa ON w_was_policy_access (policy_uuid)",
	} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// verify decides every user with every operation by both rules, and counts.
func verify(ctx context.Context, tx store.Conn, documented []string) (*Verification, error) {
	for _, s := range []string{oldPolicies, "CREATE INDEX w_held_user ON w_held (user)"} {
		if _, err := tx.Exec(ctx, s); err != nil {
			return nil, err
		}
	}
	v := &Verification{}
	// Users with the same policies there, and with the same here, are decided once.
	people, err := store.Select[struct {
		Name string `db:"name"`
		Was  string `db:"was"`
		Is   string `db:"here"`
	}](ctx, tx, `SELECT coalesce(u.username, u.uuid) AS name,
			coalesce((SELECT group_concat(policy, ' ' ORDER BY policy) FROM w_held h WHERE h.user = u.uuid), '') AS was,
			coalesce((SELECT group_concat(policy_uuid, ' ' ORDER BY policy_uuid) FROM (
				SELECT policy_uuid FROM auth_user_policy p WHERE p.user_uuid = u.uuid
				UNION SELECT g.policy_uuid FROM auth_group_user m JOIN auth_group_policy g ON g.group_uuid = m.group_uuid WHERE m.user_uuid = u.uuid)), '') AS here
		FROM auth_user u ORDER BY name`)
	if err != nil {
		return nil, err
	}
	was, err := lists(ctx, tx, `SELECT l.policy_uuid AS policy, a.access FROM w_was_policy_access l JOIN w_auth_access a ON a.id = l.access_id`)
	if err != nil {
		return nil, err
	}
	is, err := lists(ctx, tx, `SELECT policy_uuid AS policy, access FROM auth_policy_access`)
	if err != nil {
		return nil, err
	}
	operations := concrete(documented)
	v.Users, v.Operations = len(people), len(operations)
	same, order := map[[2]string][]string{}, [][2]string{}
	for _, p := range people {
		key := [2]string{p.Was, p.Is}
		if same[key] == nil {
			order = append(order, key)
		}
		same[key] = append(same[key], p.Name)
	}
	found := map[decision][]string{}
	own := map[string]bool{}
	for _, access := range documented {
		service, _, _ := strings.Cut(access, ".")
		own[service] = true
	}
	for _, key := range order {
		had, has := all(was, key[0]), all(is, key[1])
		before, err := oldRules(had)
		if err != nil {
			return nil, err
		}
		now, err := acl.Compile(has)
		if err != nil {
			return nil, fmt.Errorf("what %s may do: %w", same[key][0], err)
		}
		decided := slices.Sorted(slices.Values(slices.Concat(operations, sampled(had, own), sampled(has, own))))
		v.decide(slices.Compact(decided), before, now, same[key], found)
	}
	for _, d := range slices.SortedFunc(maps.Keys(found), func(a, b decision) int { return strings.Compare(a.access, b.access) }) {
		access := strings.NewReplacer(myself, "{oneself}", another, "{another}").Replace(d.access)
		v.Differences = append(v.Differences, Difference{access, d.was, !d.was, len(found[d]), found[d][:min(len(found[d]), report.Shown)]})
	}
	return v, nil
}

// decide decides users who hold the same with all operations, and adds to what was found for whom something differs.
func (v *Verification) decide(operations []string, before func(access string) bool, now *acl.Set, users []string, found map[decision][]string) {
	for _, access := range operations {
		did, does := before(access), now.Allows(access, acl.Binding{User: myself})
		v.Decided += int64(len(users))
		if did {
			v.Allowed += int64(len(users))
		}
		if did != does {
			found[decision{access, did}] = append(found[decision{access, did}], users...)
		}
	}
}

// decision is what the old rules said of an access, where ours say something else.
type decision struct {
	access string
	was    bool
}

// lists returns accesses by the policy that has them.
func lists(ctx context.Context, tx store.Conn, query string) (map[string][]string, error) {
	rows, err := store.Select[struct {
		Policy string `db:"policy"`
		Access string `db:"access"`
	}](ctx, tx, query)
	out := map[string][]string{}
	for _, r := range rows {
		out[r.Policy] = append(out[r.Policy], r.Access)
	}
	return out, err
}

// all returns the accesses of policies, which are named in one text.
func all(of map[string][]string, policies string) (out []string) {
	for policy := range strings.FieldsSeq(policies) {
		out = append(out, of[policy]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Words of accesses that stand for the user who asks, and for anything else.
const (
	myself  = "00000000-0000-4000-8000-000000000001"
	another = "00000000-0000-4000-8000-000000000002"
)

var variable = regexp.MustCompile(`\{[^}]*\}`)

// concrete returns accesses as requests need them: where a user is named, for oneself and for another.
func concrete(documented []string) (out []string) {
	for _, access := range documented {
		out = append(out, variable.ReplaceAllString(access, another))
		if before, after, ok := strings.Cut(access, ".users.{"); ok {
			_, after, _ = strings.Cut(after, "}")
			out = append(out, variable.ReplaceAllString(before+".users."+myself+after, another))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sampled returns accesses that patterns stand for, with x for what may be anything. Of the services that are our own, whose operations are known, a part of a
// word would name none.
func sampled(patterns []string, own map[string]bool) (out []string) {
	for _, p := range patterns {
		words := strings.Split(strings.TrimPrefix(p, "!"), ".")
		within := false
		for i, w := range words {
			switch {
			case w == "#":
				words[i] = "x.x"
			case w == "*":
				words[i] = "x"
			case self.MatchString(w) || w == "me":
				words[i] = myself
			default:
				within = within || strings.ContainsAny(w, "*#")
				words[i] = strings.NewReplacer("*", "x", "#", "x").Replace(w)
			}
		}
		if within && own[words[0]] {
			continue
		}
		access := strings.Join(words, ".")
		out = append(out, access, strings.ReplaceAll(access, myself, another))
		if before, edits := strings.CutSuffix(access, ".edit"); edits {
			out = append(out, before+".update")
		}
	}
	return out
}

// oldRules returns how the platform decides by a list of patterns: one that denies wins, * is any text without a dot and # any text, edit at the end is
// also update, and me and the templates are the user.
func oldRules(patterns []string) (func(access string) bool, error) {
	var allow, deny []string
	for _, p := range patterns {
		p, denied := strings.CutPrefix(p, "!")
		parts := strings.Split(p, ".")
		for i, w := range parts {
			switch {
			case self.MatchString(w) || w == "me":
				parts[i] = "(?:me|" + myself + ")"
			case w == "edit" && i == len(parts)-1:
				parts[i] = "(?:edit|update)"
			default:
				parts[i] = strings.NewReplacer(`\*`, `[^.]*`, "#", ".*").Replace(regexp.QuoteMeta(w))
			}
		}
		text := "(?:" + strings.Join(parts, `\.`) + ")"
		if denied {
			deny = append(deny, text)
		} else {
			allow = append(allow, text)
		}
	}
	alternatives := func(of []string) (*regexp.Regexp, error) {
		return regexp.Compile("^(?:" + strings.Join(of, "|") + ")$")
	}
	may, err := alternatives(allow)
	mayNot, errNot := alternatives(deny)
	return func(access string) bool { return may.MatchString(access) && !mayNot.MatchString(access) }, errors.Join(err, errNot)
}

func (v *Verification) print(p *report.Printer) {
	p.Line("\nDecided %d users with %d operations each, and with the accesses that their policies name, by the old rules and by ours: %d decisions, "+
		"%d of them yes there, %d differ for somebody.", v.Users, v.Operations, v.Decided, v.Allowed, len(v.Differences))
	for _, d := range v.Differences {
		verdict := map[bool]string{true: "was allowed, and is not", false: "was not allowed, and is"}[d.Was]
		p.Line("  %s %s (%d): %.500q", d.Access, verdict, d.Count, d.Users)
	}
}
