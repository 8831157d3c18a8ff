package authsvc_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/target"
)

var (
	worldSeed  = flag.Uint64("worlds.seed", 1, "the first of the worlds of TestNobodyReachesMoreThroughOthers")
	worldCount = flag.Uint64("worlds.count", 50, "how many worlds it makes")
)

// world is a small installation: three things that somebody may be denied, ann, who is denied some of it and wants to get at it, and bob, who
// holds something from elsewhere. It knows the operations and what they answer, and nothing of how rights are compared.
type world struct {
	*server
	db       *undoing
	random   *rand.Rand
	n        uint64
	admin    string
	secrets  []secret
	moved    string // the tenant of the secrets, if it is one of its own
	others   string // a tenant beside it
	users    map[string]string
	names    []string // of users
	policies []string
	groups   []string
	hands    []string // the tokens that ann has
	told     []string
	made     int
}

// secret is an object that somebody may be denied.
type secret struct{ kind, uuid string }

// undoing is a database that undoes what a request has done, if it is told to: the request then fails, and by this error.
type undoing struct {
	store.DB
	undo bool
}

var errUndone = apierr.New(apierr.Unavailable, "This was undone")

func (d *undoing) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return d.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := fn(ctx, tx); err != nil || !d.undo {
			return err
		}
		return errUndone
	})
}

// as sends a request like one that has passed the gate.
func (w *world) as(token, method, path, body string, edits ...resttest.Edit) resttest.Answer {
	w.t.Helper()
	p, err := w.cache.Principal(w.t.Context(), token)
	if err != nil {
		return resttest.Answer{T: w.t, Status: http.StatusUnauthorized}
	}
	bare, _, _ := strings.Cut(path, "?")
	parsed, err := target.Parse("/api/auth/0.1" + bare)
	if err != nil {
		w.t.Fatal(err)
	}
	m, ok := w.svc.REST().Match(method, &parsed)
	if !ok {
		w.t.Fatalf("there is no %s %s", method, path)
	}
	if access := m.Access(); access != "" && !p.Holds(access) {
		return resttest.Answer{T: w.t, Status: http.StatusForbidden}
	}
	if strings.HasPrefix(path, "/users/password/reset") { // it is public, and looks at the token itself
		edits = append(edits, resttest.Header("X-Auth-Token", token))
	}
	return w.do(method, path, token, body, edits...)
}

// reached returns what a token sees of the secrets, and may do with them.
func (w *world) reached(token string) map[string]bool {
	out := map[string]bool{}
	for i, s := range w.secrets {
		name := func(what string) string { return fmt.Sprintf("%s secret %d, one of %s", what, i, s.kind) }
		path := "/" + s.kind + "/" + s.uuid
		lists := w.as(token, "GET", "/"+s.kind+"?recurse=true&uuid="+s.uuid, "")
		out[name("lists")] = lists.Status == 200 && strings.Contains(lists.Body, s.uuid)
		audit := w.as(token, "GET", "/audit?recurse=true&object="+s.uuid, "")
		out[name("reads the audit of")] = audit.Status == 200 && strings.Contains(audit.Body, s.uuid)
		in := func(*http.Request) {}
		if w.moved != "" {
			in = resttest.In(w.moved)
		}
		out[name("reads")] = w.as(token, "GET", path, "", in).Status == 200
		w.db.undo = true
		out[name("changes")] = w.as(token, "PUT", path, map[string]string{
			"users": `{"firstname":"x"}`, "groups": `{"name":"x"}`, "policies": `{"name":"x"}`,
		}[s.kind], in).Status == http.StatusServiceUnavailable
		out[name("deletes")] = w.as(token, "DELETE", path, "", in).Status == http.StatusServiceUnavailable
		w.db.undo = false
	}
	return out
}

func pick[T any](w *world, from []T) T { return from[w.random.IntN(len(from))] }

// patterns returns a short list of accesses.
func (w *world) patterns() []string {
	var out []string
	for range 1 + w.random.IntN(2) {
		s := pick(w, w.secrets)
		out = append(out, pick(w, []string{
			"#", "auth.#", "auth.#.read", "auth.*.read", "auth.*.*.read", "auth." + s.kind + ".#", "auth." + s.kind + ".read", "auth." + s.kind + ".*.*",
			"auth." + s.kind + "." + s.uuid + ".#", "auth." + s.kind + "." + s.uuid + ".read", "auth.audit.read", "auth.users.me.#", "*.users.*.read",
		}))
	}
	return out
}

// denials returns what denies something of the secrets.
func (w *world) denials(most int) []string {
	var out []string
	for range w.random.IntN(most + 1) {
		s := pick(w, w.secrets)
		before := "!auth." + s.kind + "." + s.uuid
		out = append(out, pick(w, []string{
			before + ".#", before + ".read", before + ".*", before + ".update",
			"!*." + s.kind + "." + s.uuid + ".#", "!#." + s.uuid + ".#", "!auth." + s.kind + ".*.delete",
		}))
	}
	return out
}

func (w *world) name(of string) string {
	w.made++
	return fmt.Sprintf("%s%d of world %d", of, w.made, w.n)
}

func quoted(list []string) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newWorld makes a world, in the installation of s.
func newWorld(s *server, db *undoing, admin string, seed uint64) *world {
	w := &world{server: s, db: db, random: rand.New(rand.NewPCG(seed, seed)), n: seed, admin: admin, users: map[string]string{}}
	w.others = s.tenant(admin, w.name("others"))
	in := func(*http.Request) {}
	if w.random.IntN(3) == 0 {
		w.moved = s.tenant(admin, w.name("moved"))
		in = resttest.In(w.moved)
	}
	for _, kind := range []string{"users", "groups", "policies"} {
		name := map[string]string{"users": "username"}[kind]
		if name == "" {
			name = "name"
		}
		w.secrets = append(w.secrets, secret{kind, s.do("POST", "/"+kind, admin, `{"`+name+`":"`+w.name(kind)+`"}`, in).Want(200).Text("uuid")})
	}
	return w
}

// person makes a user who holds something, and returns their token.
func (w *world) person(name string, accesses ...string) string {
	w.t.Helper()
	login := fmt.Sprintf("%s of world %d", name, w.n)
	user, policy, token := w.account(w.admin, login, accesses...)
	w.users[name] = user
	w.names, w.policies = append(w.names, name), append(w.policies, policy)
	w.told = append(w.told, fmt.Sprintf("%s holds %s", name, accesses))
	return token
}

// step has ann do something, with one of the tokens that she has.
func (w *world) step() {
	token := pick(w, w.hands)
	by := slices.Index(w.hands, token)
	send := func(method, path, body string, edits ...resttest.Edit) resttest.Answer {
		a := w.as(token, method, path, body, edits...)
		w.told = append(w.told, fmt.Sprintf("%s %s %s with token %d: %d", method, path, body, by, a.Status))
		return a
	}
	enter := func(login, password string) {
		if a := w.do("POST", "/token", "", "{}", resttest.Basic(login, password)); a.Status == 200 {
			w.hands = append(w.hands, a.Text("data.token"))
			w.told = append(w.told, fmt.Sprintf("token %d is that of %s", len(w.hands)-1, login))
		}
	}
	user := func() string { return w.users[pick(w, w.names)] }
	switch w.random.IntN(13) {
	case 0, 1:
		name := w.name("made")
		edits := []resttest.Edit{}
		if w.random.IntN(4) == 0 {
			edits = append(edits, resttest.In(w.others))
		}
		if a := send("POST", "/users", `{"username":"`+name+`","password":"known"}`, edits...); a.Status == 200 {
			w.names, w.users[name] = append(w.names, name), a.Text("uuid")
			enter(name, "known")
		}
	case 2, 3:
		if a := send("POST", "/policies", `{"name":"`+w.name("policy")+`","acl":`+quoted(append(w.patterns(), w.denials(2)...))+`}`); a.Status == 200 {
			w.policies = append(w.policies, a.Text("uuid"))
		}
	case 4: // a copy, whole or without its denials
		from := send("GET", "/policies/"+pick(w, w.policies), "")
		if from.Status != 200 {
			return
		}
		var list []string
		for _, pattern := range from.JSON("acl").([]any) {
			if pattern := pattern.(string); w.random.IntN(2) == 0 || !strings.HasPrefix(pattern, "!") {
				list = append(list, pattern)
			}
		}
		if a := send("POST", "/policies", `{"name":"`+w.name("copy")+`","acl":`+quoted(list)+`}`); a.Status == 200 {
			w.policies = append(w.policies, a.Text("uuid"))
		}
	case 5:
		send("PUT", "/policies/"+pick(w, w.policies), `{"acl":`+quoted(append(w.patterns(), w.denials(2)...))+`}`)
	case 6, 7:
		send("PUT", "/users/"+user()+"/policies/"+pick(w, w.policies), "")
	case 8:
		if a := send("POST", "/groups", `{"name":"`+w.name("group")+`"}`); a.Status == 200 {
			w.groups = append(w.groups, a.Text("uuid"))
		}
		for _, group := range w.groups {
			send("PUT", "/groups/"+group+pick(w, []string{"/users/" + user(), "/policies/" + pick(w, w.policies)}), "")
		}
	case 9:
		send("DELETE", pick(w, []string{"/users/" + user() + "/policies/" + pick(w, w.policies), "/policies/" + pick(w, w.policies)}), "")
		if len(w.groups) > 0 {
			send("DELETE", "/groups/"+pick(w, w.groups)+"/users/"+user(), "")
		}
	case 10:
		name := pick(w, w.names)
		if a := send("POST", "/users/password/reset?user_uuid="+w.users[name], `{"password":"known"}`); a.Status == 204 {
			login, _, _ := strings.Cut(name, " of world")
			enter(fmt.Sprintf("%s of world %d", login, w.n), "known")
		}
	case 12: // an administrator gives more to somebody whose password ann knows
		if len(w.names) > 2 {
			name, gives := pick(w, w.names[2:]), w.patterns()
			policy := w.do("POST", "/policies", w.admin, `{"name":"`+w.name("more")+`","acl":`+quoted(gives)+`}`).Want(200).Text("uuid")
			w.do("PUT", "/users/"+w.users[name]+"/policies/"+policy, w.admin, "").Want(204)
			w.told = append(w.told, fmt.Sprintf("the administrator gives %s %s", name, gives))
			enter(name, "known")
		}
	case 11:
		if w.moved != "" {
			send("PUT", "/tenants/"+w.moved+"/parent/"+w.others, "")
		}
	}
}

// Whatever somebody gives, by whatever operations and through however many others, nobody gets at more of three objects than the giver could,
// or they could themselves; nor does ann by the password of somebody to whom an administrator gives more. Each world comes from a number
// alone: -worlds.seed and -worlds.count=1 make one again.
func TestNobodyReachesMoreThroughOthers(t *testing.T) {
	t.Parallel()
	db := &undoing{DB: storetest.SQLite(t)}
	s := newServer(t, db)
	admin := s.admin()
	for seed := *worldSeed; seed < *worldSeed+*worldCount; seed++ {
		w := newWorld(s, db, admin, seed)
		manages := pick(w, [][]string{{"auth.#"}, {"#"}, {"auth.users.#", "auth.policies.#", "auth.groups.#"}, {"auth.#", "confd.#"}})
		w.hands = []string{w.person("ann", append(append(w.denials(2), manages...), w.denials(1)...)...)}
		bob := w.person("bob", append(w.patterns(), w.denials(1)...)...)
		ann, before := w.reached(w.hands[0]), w.reached(bob)
		for range 10 {
			w.step()
		}
		more := func(whose string, now map[string]bool, may func(what string) bool) {
			for what, reaches := range now {
				if reaches && !may(what) {
					t.Errorf("world %d: %s %s\n%s", seed, whose, what, strings.Join(w.told, "\n"))
				}
			}
		}
		more("bob", w.reached(bob), func(what string) bool {
			object, audits := strings.CutPrefix(what, "reads the audit of ") // takes the right to read it beside, which may come from the other
			return ann[what] || before[what] || audits && ann["reads "+object]
		})
		for i, token := range w.hands {
			more(fmt.Sprintf("ann, by token %d,", i), w.reached(token), func(what string) bool { return ann[what] })
		}
		if t.Failed() {
			return
		}
	}
}
