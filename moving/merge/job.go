package merge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/moving/report"
)

const (
	confd = "/api/confd/1.1"
	auth  = "/api/auth/0.1"
)

// Job brings one tenant. It is run once; another one with the same file of names goes on where the first was interrupted, and tries once more
// what was refused.
type Job struct {
	// From is a client of the old installation, in the tenant that is brought, and Source the address by which people know it.
	From   *operator.Client
	Source string
	// To is a client of the new one. Into is the UUID of the tenant there; "" makes one.
	To   *operator.Client
	Into string
	// Operations are those of the new one's configuration service.
	Operations []rest.Operation
	// Accesses returns the patterns that stand for one of the old installation, and why they are not exactly it.
	Accesses func(old string) (patterns []string, reason string)
	// Names is the file with the old and the new names of what was brought. DryRun reads it, and writes nothing into it.
	Names  string
	DryRun bool
	// Mails asks for a mail to each new login with a confirmed address, by which the user sets a password.
	Mails bool
	// Progress is told how much is done.
	Progress func(done, of int)
	// Report says what has become of it.
	Report report.Report

	names   *mapFile
	kinds   []*kind
	objects map[*kind][]object
	done    int
}

// Run brings the tenant. What is refused is left out and told; any other error ends it between two requests.
func (j *Job) Run(ctx context.Context) (err error) {
	if j.names, err = openMap(j.Names, j.DryRun); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.names.close()) }()
	if err := j.tenant(ctx); err != nil {
		return err
	}
	if err := j.read(ctx); err != nil {
		return err
	}
	links := slices.Clone(j.kinds)
	for _, pass := range []struct {
		kinds []*kind
		do    func(ctx context.Context, k *kind, o object) error
	}{{j.kinds, j.make}, {linksInOrder(links), j.link}, {j.kinds, j.complete}} {
		for _, k := range pass.kinds {
			for _, o := range j.objects[k] {
				err := ctx.Err()
				if err == nil {
					err = pass.do(ctx, k, o)
				}
				if err == nil && k.path == "callfilters" {
					err = j.surrogates(ctx, k, o)
				}
				if err != nil {
					return fmt.Errorf("%s %s: %w", k.path, called(o), err)
				}
				j.step()
			}
		}
	}
	if err := j.settings(ctx); err != nil {
		return err
	}
	if err := j.allApps(ctx); err != nil {
		return err
	}
	return j.logins(ctx)
}

// settings brings what a tenant has beside its objects: its main number, and whether voicemails become texts.
func (j *Job) settings(ctx context.Context) error {
	for path, body := range map[string]func(o object) object{
		"/phone-numbers/main": func(o object) object {
			if id := j.names.find("phone-numbers", "uuid", o["uuid"]); id != nil {
				return object{"phone_number_uuid": id}
			}
			return nil
		},
		"/voicemails/transcription": func(o object) object { return object{"enabled": o["enabled"] == true} },
		"/localization":             func(o object) object { return saying(o, "country") },
		"/recordings/announcements": func(o object) object { return saying(o, "recording_start", "recording_stop") },
	} {
		var there object
		err := j.From.Call(ctx, http.MethodGet, confd+path, nil, &there)
		if err == nil && body(there) != nil {
			err = j.To.Call(ctx, http.MethodPut, confd+path, body(there), nil)
		}
		if _, refused := report.Refused(err); err != nil && !refused {
			return err
		}
	}
	return nil
}

// saying returns the attributes of an object that say anything, or nil.
func saying(o object, attributes ...string) object {
	body := given(o, attributes...)
	maps.DeleteFunc(body, func(_ string, v any) bool { return !says(v) })
	if len(body) == 0 {
		return nil
	}
	return body
}

// given returns the attributes of an object that are not null.
func given(o object, attributes ...string) object {
	body := object{}
	for _, name := range attributes {
		if o[name] != nil {
			body[name] = o[name]
		}
	}
	return body
}

// allApps brings what programs elsewhere keep for the tenant and for its users.
func (j *Job) allApps(ctx context.Context) error {
	err := j.apps(ctx, "", "")
	for k, objects := range j.objects {
		if k.path != "users" {
			continue
		}
		for _, o := range objects {
			if m := j.names.of(k.path, o); m != nil && err == nil {
				err = j.apps(ctx, "/users/"+text(o["uuid"]), "/users/"+text(m.New["uuid"]))
			}
		}
	}
	return err
}

// apps brings what programs keep for the tenant, or for a user, whose paths there and here are given. What is there already stays.
func (j *Job) apps(ctx context.Context, from, to string) error {
	const path = "/external/apps"
	all, err := old(ctx, j.From, confd+from+path)
	if err != nil {
		return err
	}
	for _, o := range all {
		at := confd + to + path + "/" + url.PathEscape(text(o["name"]))
		err := j.To.Call(ctx, http.MethodPost, at, object{"label": o["label"], "configuration": o["configuration"]}, nil)
		counts := j.Report.Of("external/apps")
		reason, refused := report.Refused(err)
		switch {
		case refused && j.To.Call(ctx, http.MethodGet, at, nil, nil) == nil:
			counts.There++
		case refused:
			j.leave("external/apps", o, reason)
		case err != nil:
			return err
		default:
			counts.Made++
		}
	}
	return nil
}

// surrogates pairs the numbers by which function keys name the surrogates of a call filter, as soon as they have them here.
func (j *Job) surrogates(ctx context.Context, k *kind, o object) error {
	m := j.names.of(k.path, o)
	if m == nil {
		return nil
	}
	var made object
	if err := j.To.Call(ctx, http.MethodGet, confd+"/"+k.path+"/"+text(m.New[k.key]), nil, &made); err != nil {
		return err
	}
	for _, before := range surrogatesOf(o) {
		for _, now := range surrogatesOf(made) {
			if now["uuid"] == j.names.find("users", "uuid", before["uuid"]) {
				j.names.take(&mapped{Kind: surrogateKind, Old: object{"id": before["member_id"]}, New: object{"id": now["member_id"]}})
			}
		}
	}
	return nil
}

// surrogateKind is the kind of the numbers of surrogates, in the names that are paired.
const surrogateKind = "callfilters/surrogates"

func surrogatesOf(filter object) []object {
	surrogates, _ := filter["surrogates"].(object)
	return items(surrogates["users"])
}

func (j *Job) step() {
	if j.Progress == nil {
		return
	}
	all := 0
	for _, objects := range j.objects {
		all += 3 * len(objects)
	}
	j.done++
	j.Progress(j.done, max(all, j.done))
}

// tenant finds or makes the tenant. If the process dies after it has made one, and before the file says so, the next run finds the name taken.
func (j *Job) tenant(ctx context.Context) error {
	head := mapHead{j.Source, j.From.Tenant, j.Into}
	if before := j.names.head; before.New != "" {
		if before.From != head.From || before.Old != head.Old || head.New != "" && before.New != head.New {
			return fmt.Errorf("%s is of another run: of tenant %s of %s into %s", j.Names, before.Old, before.From, before.New)
		}
		j.To.Tenant = before.New
		return nil
	}
	if head.New == "" {
		var err error
		if head.New, err = j.newTenant(ctx); err != nil {
			return err
		}
	}
	j.To.Tenant = head.New
	return j.names.begin(head)
}

// newTenant makes a tenant like the old one.
func (j *Job) newTenant(ctx context.Context) (string, error) {
	var old object
	if err := j.From.Call(ctx, http.MethodGet, auth+"/tenants/"+j.From.Tenant, nil, &old); err != nil {
		return "", err
	}
	name, _ := old["name"].(string)
	there, err := j.To.All(ctx, auth+"/tenants", url.Values{"name": {name}})
	if err != nil {
		return "", err
	}
	if len(there) > 0 {
		return "", fmt.Errorf("there is a tenant %q already: name it with --into to bring the other one into it", name)
	}
	var made struct{ UUID string }
	err = j.To.Call(ctx, http.MethodPost, auth+"/tenants", saying(old, "name", "slug", "phone", "address", "domain_names"), &made)
	if _, refused := report.Refused(err); refused {
		j.Report.Note("The tenant did not get its slug and its domains, which another one has: %v.", err)
		err = j.To.Call(ctx, http.MethodPost, auth+"/tenants", object{"name": name}, &made)
	}
	j.Report.Note("The tenant is new: %s.", made.UUID)
	return made.UUID, err
}

// elsewhere are the collections of the old platform that have no counterpart here, unless a resource of this name is declared.
var elsewhere = []string{
	"queues", "agents", "agents/skills", "switchboards", "callfilters", "meetings", "ingresses/http", "endpoints/iax", "endpoints/sccp", "registers/iax",
	"access_features", "users/blocklist/numbers",
}

// read reads all objects of the tenant, and pairs those that are there in both installations.
func (j *Job) read(ctx context.Context) error {
	j.kinds, j.objects = plan(j.Operations), map[*kind][]object{}
	for _, k := range j.kinds {
		if k.shared {
			if err := j.pair(ctx, k); err != nil {
				return err
			}
			continue
		}
		all, err := old(ctx, j.From, confd+"/"+k.path)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o object) bool { // those of the installation, and of guests of meetings
			of, told := o["tenant_uuid"]
			name, _ := o["name"].(string)
			return told && of != j.From.Tenant || k.path == "sounds" && name == "system" || k.path == "endpoints/sip" && strings.HasPrefix(name, "wazo-meeting-")
		})
		j.objects[k] = all
		files := 0
		for _, o := range all {
			if list, _ := o["files"].([]any); len(list) > 0 {
				files++
			}
		}
		if files > 0 {
			j.Report.Note("%d of %s have files, which are not brought: send them to the new ones.", files, k.path)
		}
	}
	for _, k := range j.kinds {
		j.objects[k] = slices.DeleteFunc(j.objects[k], func(o object) bool {
			_, told := o["tenant_uuid"]
			return !told && !j.isLinked(k, o)
		})
	}
	if err := j.pairTemplates(ctx); err != nil {
		return err
	}
	return j.tellElsewhere(ctx)
}

// isLinked reports whether an object of the tenant is linked with one that the platform has for all tenants, such as a registration of a trunk.
func (j *Job) isLinked(k *kind, o object) bool {
	for _, other := range j.kinds {
		for _, l := range other.links {
			if l.to == k && slices.ContainsFunc(j.objects[other], func(by object) bool {
				return slices.ContainsFunc(items(shownAs(by, l.path)), func(item object) bool { return item[k.key] == o[k.key] })
			}) {
				return true
			}
		}
	}
	return false
}

// items are the objects that an attribute shows: one, or a list.
func items(shown any) (out []object) {
	switch shown := shown.(type) {
	case object:
		out = []object{shown}
	case []any:
		for _, item := range shown {
			if item, is := item.(object); is {
				out = append(out, item)
			}
		}
	}
	return out
}

// tellElsewhere tells of the objects of kinds that are not here.
func (j *Job) tellElsewhere(ctx context.Context) error {
	for _, path := range elsewhere {
		if slices.ContainsFunc(j.kinds, func(k *kind) bool { return k.path == path }) {
			continue
		}
		all, err := j.From.All(ctx, confd+"/"+path, url.Values{})
		if refused, is := errors.AsType[*operator.RefusedError](err); err != nil && (!is || refused.Status >= http.StatusInternalServerError) {
			return err // it has none, or only its master tenant may read them
		}
		for _, o := range all {
			j.leave(path, o, "no operation here makes it for others")
		}
	}
	return nil
}

// old returns the objects of a collection of the old installation, and none if it does not have it.
func old(ctx context.Context, c *operator.Client, path string) ([]object, error) {
	all, err := c.All(ctx, path, url.Values{})
	if refused, is := errors.AsType[*operator.RefusedError](err); is && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	return all, err
}

// pair finds objects that belong to no tenant by their names, or where they have none by their keys. Those who may not read them there get
// what is usual here.
func (j *Job) pair(ctx context.Context, k *kind) error {
	var found [2][]object
	for i, c := range []operator.Client{*j.From, *j.To} {
		c.Tenant = "" // the master tenant alone may read them
		var err error
		found[i], err = c.All(ctx, confd+"/"+k.path, url.Values{})
		if refused, is := errors.AsType[*operator.RefusedError](err); err != nil && (!is || refused.Status >= http.StatusInternalServerError) {
			return err
		}
	}
	for _, o := range found[0] {
		for _, h := range found[1] {
			if o["name"] != nil && o["name"] == h["name"] || k.key == "id" && o["id"] == h["id"] {
				j.names.take(&mapped{Kind: k.path, Old: named(o), New: named(h)})
			}
		}
	}
	return nil
}

// pairTemplates pairs the templates that every tenant gets. Those here stay as they are.
func (j *Job) pairTemplates(ctx context.Context) error {
	i := slices.IndexFunc(j.Operations, func(op rest.Operation) bool {
		return op.Method == http.MethodGet && op.Path == "/tenants/{tenant_uuid}"
	})
	var there, here object
	if err := j.From.Call(ctx, http.MethodGet, confd+"/tenants/"+j.From.Tenant, nil, &there); err != nil {
		return err
	}
	if err := j.To.Call(ctx, http.MethodGet, confd+"/tenants/"+j.To.Tenant, nil, &here); err != nil {
		return err
	}
	for _, p := range j.Operations[i].Reply.Properties {
		path, by, is := strings.Cut(p.Ref, ".")
		if !is || there[p.Name] == nil || here[p.Name] == nil {
			continue
		}
		m := &mapped{Kind: path, Old: object{by: there[p.Name]}, New: object{by: here[p.Name]}}
		j.names.take(m)
		m.done[linked], m.done[completed] = true, true
	}
	return nil
}

// once is the key by which the new installation knows a request that is sent again.
func (j *Job) once(kind string, o object) string {
	sum := sha256.Sum256([]byte(j.Source + " " + j.To.Tenant + " " + identity(kind, o)))
	return hex.EncodeToString(sum[:])
}

// later are attributes that need links of the object, or are changed by them.
var later = map[string][]string{"lines": {"caller_id_name", "caller_id_num"}}

// make makes an object, without what leads to objects that are not there yet. If the process dies after it was made, and before the file says
// so, the same request is sent again, and answered as the first time, for a day.
func (j *Job) make(ctx context.Context, k *kind, o object) error {
	if j.names.of(k.path, o) != nil {
		j.Report.Of(k.path).There++
		return nil
	}
	t := &translation{names: j.names}
	body := t.object(k.shown, o)
	for _, attribute := range later[k.path] {
		delete(body, attribute)
	}
	if missing := complete(k.made, body); missing != "" {
		j.leave(k.path, o, fmt.Sprintf("its %s leads to what was not brought: %s", missing, strings.Join(t.missing, ", ")))
		return nil
	}
	var made object
	err := j.To.CallOnce(ctx, confd+"/"+k.path, j.once(k.path, o), body, &made)
	if taken, err := j.taken(k.path, o, "", err); !taken {
		return err
	}
	j.Report.Of(k.path).Made++
	return j.names.add(k.path, o, made)
}

// leave says that an object of a kind is left out, or something of it.
func (j *Job) leave(kind string, o object, reason string) {
	j.Report.Leave(report.Told{Kind: kind, Object: called(o), Reason: reason})
}

// taken reports whether an object was taken, or what of it is named. A refusal is told.
func (j *Job) taken(kind string, o object, what string, err error) (bool, error) {
	return j.Report.Taken(report.Told{Kind: kind, Object: called(o), Reason: what}, err)
}

// put changes something of an object that was brought. A refusal is told.
func (j *Job) put(ctx context.Context, k *kind, o object, m *mapped, below string, body any) error {
	reason, err := j.tryPut(ctx, k, m, below, body)
	if reason != "" {
		j.leave(k.path, o, strings.TrimPrefix(below, "/")+": "+reason)
	}
	return err
}

// tryPut is put, but returns why it is refused.
func (j *Job) tryPut(ctx context.Context, k *kind, m *mapped, below string, body any) (refusal string, err error) {
	err = j.To.Call(ctx, http.MethodPut, confd+"/"+k.path+"/"+url.PathEscape(text(m.New[k.key]))+below, body, nil)
	if reason, refused := report.Refused(err); refused {
		return reason, nil
	}
	return "", err
}

// putPart changes a part of an object. Where it has values of any names, such as the keys of a telephone, a refusal of one leaves the others.
func (j *Job) putPart(ctx context.Context, k *kind, o object, m *mapped, p part, body object) error {
	reason, err := j.tryPut(ctx, k, m, "/"+p.path, body)
	if reason == "" || err != nil {
		return err
	}
	i := slices.IndexFunc(p.body.Properties, func(p rest.Property) bool { return p.Schema.Values != nil })
	if i < 0 {
		j.leave(k.path, o, p.path+": "+reason)
		return nil
	}
	named := p.body.Properties[i].Name
	values, _ := body[named].(object)
	kept := object{}
	body[named] = kept
	for _, name := range slices.Sorted(maps.Keys(values)) {
		kept[name] = values[name]
		reason, err := j.tryPut(ctx, k, m, "/"+p.path, body)
		if err != nil {
			return err
		}
		if reason != "" {
			delete(kept, name)
			j.leave(k.path, o, p.path+" "+name+": "+reason)
		}
	}
	return nil
}

// link links an object with those that it is linked with in the old installation. Sent again, a link changes nothing.
func (j *Job) link(ctx context.Context, k *kind, o object) error {
	m := j.names.of(k.path, o)
	if m == nil || m.done[linked] {
		return nil
	}
	left := len(j.Report.Left)
	for _, l := range k.links {
		if others := items(shownAs(o, l.path)); len(others) > 0 {
			if err := j.linkAll(ctx, k, o, m, l, others); err != nil {
				return err
			}
		}
	}
	return j.finish(m, linked, left)
}

// finish notes that a step of an object is done, unless something has been left out since there were so many: then the next run tries it once more.
func (j *Job) finish(m *mapped, step string, left int) error {
	if len(j.Report.Left) > left {
		return nil
	}
	return j.names.finish(m, step)
}

func (j *Job) linkAll(ctx context.Context, k *kind, o object, m *mapped, l link, items []object) error {
	t := &translation{names: j.names}
	list := []any{}
	for _, item := range items {
		var body object
		if l.body != nil {
			body = t.object(l.body, item)
		}
		if l.list != "" {
			if j.identify(l, item, body, t) {
				list = append(list, body)
			}
			continue
		}
		other := t.linked(l, item)
		if other == (unsaid{}) {
			continue
		}
		var send any
		if body != nil {
			send = body
		}
		if err := j.put(ctx, k, o, m, "/"+l.path+"/"+url.PathEscape(text(other)), send); err != nil {
			return err
		}
	}
	for _, missing := range t.missing {
		j.leave(k.path, o, l.path+": "+missing+" was not brought")
	}
	if len(list) == 0 {
		return nil
	}
	return j.put(ctx, k, o, m, "/"+l.path, object{l.list: list})
}

// identify writes the keys of an item of a list, which is an object of the kind that the list is of. It reports whether the item was brought.
func (j *Job) identify(l link, item, body object, t *translation) bool {
	if l.to == nil {
		return len(body) > 0
	}
	for _, key := range keys {
		if p := l.body.Property(key); p == nil || item[key] == nil {
			delete(body, key)
			continue
		}
		v := t.reference(l.to.path+"."+key, item[key])
		if v == (unsaid{}) {
			return false
		}
		body[key] = v
	}
	return len(body) > 0
}

// complete sends what of an object leads to others, now that all are there, and its parts.
func (j *Job) complete(ctx context.Context, k *kind, o object) error {
	m := j.names.of(k.path, o)
	if m == nil || m.done[completed] {
		return nil
	}
	t, left := &translation{names: j.names}, len(j.Report.Left)
	if k.changed && (later[k.path] != nil || circular(k)) {
		body := t.object(k.shown, o)
		if err := j.put(ctx, k, o, m, "", body); err != nil {
			return err
		}
	}
	for _, p := range k.parts {
		of, is := shownAs(o, p.path).(object)
		if !is {
			err := j.From.Call(ctx, http.MethodGet, confd+"/"+k.path+"/"+url.PathEscape(text(o[k.key]))+"/"+p.path, nil, &of)
			if _, refused := report.Refused(err); err != nil && !refused {
				return err
			}
		}
		if !says(of) {
			continue
		}
		if body := t.object(p.body, of); says(body) {
			if err := j.putPart(ctx, k, o, m, p, body); err != nil {
				return err
			}
		}
	}
	slices.Sort(t.missing)
	for _, missing := range slices.Compact(t.missing) {
		j.leave(k.path, o, missing+" was not brought: what leads there is left out")
	}
	return j.finish(m, completed, left)
}

// circular reports whether objects of a kind may lead to others that are made after them.
func circular(k *kind) bool {
	return slices.Contains(names(k.shown, nil), k.path) || hasUnion(k.shown, nil)
}

func hasUnion(s *rest.Schema, seen []*rest.Schema) bool {
	if s == nil || slices.Contains(seen, s) {
		return false
	}
	seen = append(seen, s)
	for i := range s.Properties {
		if p := &s.Properties[i]; !p.ReadOnly && hasUnion(p.Schema, seen) {
			return true
		}
	}
	return s.Union != nil || hasUnion(s.Items, seen) || hasUnion(s.Values, seen)
}

// called returns what people call an object.
func called(o object) string {
	if first, is := o["firstname"].(string); is {
		last, _ := o["lastname"].(string)
		return strings.TrimSpace(first + " " + last)
	}
	for _, attribute := range []string{"label", "exten", "number", "username", "name", "description", "uuid", "id"} {
		if says(o[attribute]) {
			return text(o[attribute])
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(o)), " ")
}
