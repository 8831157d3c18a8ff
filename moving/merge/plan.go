package merge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
)

// kind is a collection of the configuration service.
type kind struct {
	path string // "endpoints/sip"
	// key is the attribute that the paths of its objects have: id, uuid or name.
	key string
	// shown is the schema of an object as it is read, and made that of the body of a POST.
	shown, made *rest.Schema
	// changed says that there is a PUT.
	changed bool
	// shared kinds belong to no tenant: they are found by their names, and never made.
	shared bool
	parts  []part
	links  []link
}

// part is a part of an object that has operations of its own: the forwards of a user.
type part struct {
	path string // below the object
	body *rest.Schema
}

// link is a relation to other objects: a list that is set as a whole, or pairs.
type link struct {
	path string // below the object, without the other's key
	// list is the attribute of the body that has the list; "" if the links are made one by one.
	list string
	to   *kind
	// key is the attribute of the other object that the path of a pair has.
	key  string
	body *rest.Schema
}

// told are links that another kind makes too, from its side, or that an attribute of the object makes.
var told = []string{"agents/queues", "users/groups", "users/funckeys/templates"}

// plan returns the kinds that the operations of a service declare, in the order in which their objects can be made.
func plan(operations []rest.Operation) []*kind {
	by := map[string]*rest.Operation{}
	for i := range operations {
		op := &operations[i]
		by[op.Method+" "+op.Path] = op
	}
	kinds := map[string]*kind{}
	for i := range operations {
		if k := kindOf(&operations[i], by); k != nil {
			kinds[k.path] = k
		}
	}
	for i := range operations {
		if op := &operations[i]; op.Method == http.MethodPut {
			addTo(kinds, op, by["GET "+op.Path])
		}
	}
	return inOrder(kinds)
}

// kindOf returns the kind whose collection an operation lists, or nil. What is only the caller's own is no kind.
func kindOf(list *rest.Operation, by map[string]*rest.Operation) *kind {
	if list.Method != http.MethodGet || strings.Contains(list.Path, "{") || strings.Contains(list.Path, "/me/") || list.Reply == nil {
		return nil
	}
	for name, op := range by {
		below, is := strings.CutPrefix(name, "GET "+list.Path+"/{")
		post := by["POST "+list.Path]
		if !is || !strings.HasSuffix(below, "}") || strings.Contains(below, "/") || op.Reply == nil || post == nil || post.Body == nil {
			continue
		}
		key := "name"
		for _, k := range []string{"id", "uuid"} {
			if strings.HasSuffix(below, "_"+k+"}") {
				key = k
			}
		}
		return &kind{
			path: list.Path[1:], key: key, shown: op.Reply, made: post.Body, changed: by["PUT "+list.Path+"/{"+below] != nil,
			shared: op.Reply.Property("tenant_uuid") == nil,
		}
	}
	return nil
}

// addTo adds a link or a part to the kind that the path of an operation begins with.
func addTo(kinds map[string]*kind, put, get *rest.Operation) {
	collection, below, found := strings.Cut(put.Path[1:], "/{")
	_, below, more := strings.Cut(below, "}/")
	k := kinds[collection]
	path, param, pair := strings.Cut(below, "/{")
	if !found || !more || k == nil || strings.HasPrefix(below, "{") || slices.Contains(told, collection+"/"+path) {
		return
	}
	switch {
	case pair && strings.HasSuffix(param, "}"):
		to := kinds[path]
		if to == nil { // members/users
			to = kinds[path[strings.LastIndex(path, "/")+1:]]
		}
		if to == nil || slices.ContainsFunc(k.links, func(l link) bool { return l.path == path }) {
			return
		}
		k.links = append(k.links, link{path: path, to: to, key: to.key, body: put.Body})
	case pair || put.Body == nil:
	case get != nil:
		k.parts = append(k.parts, part{path, put.Body})
	default:
		name := path[strings.LastIndex(path, "/")+1:]
		if list := put.Body.Property(name); list != nil && list.Schema.Items != nil {
			k.links = slices.DeleteFunc(k.links, func(l link) bool { return l.path == path })
			k.links = append(k.links, link{path: path, list: name, to: kinds[name], body: list.Schema.Items})
		}
	}
}

// inOrder sorts kinds so that each comes after those that its objects name when they are made.
func inOrder(kinds map[string]*kind) []*kind {
	return sorted(kinds, func(k *kind) []string { return names(k.shown, nil) })
}

// linksInOrder sorts kinds so that each comes after those that it has links to: a user's line has its telephone first.
func linksInOrder(all []*kind) []*kind {
	kinds := map[string]*kind{}
	for _, k := range all {
		kinds[k.path] = k
		slices.SortFunc(k.links, func(a, b link) int { return strings.Compare(a.path, b.path) })
	}
	return sorted(kinds, func(k *kind) (paths []string) {
		for _, l := range k.links {
			if l.to != nil {
				paths = append(paths, l.to.path)
			}
		}
		return paths
	})
}

func sorted(kinds map[string]*kind, after func(k *kind) []string) (out []*kind) {
	var paths []string
	for path := range kinds {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		k := kinds[path]
		if k == nil || seen[path] {
			return
		}
		seen[path] = true
		for _, before := range after(k) {
			visit(before)
		}
		out = append(out, k)
	}
	for _, path := range paths {
		visit(path)
	}
	return out
}

// names returns the kinds to which the attributes of an object refer, but for those of a union, such as a destination: they lead in circles.
func names(s *rest.Schema, seen []*rest.Schema) (paths []string) {
	if s == nil || s.Union != nil || slices.Contains(seen, s) {
		return nil
	}
	seen = append(seen, s)
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.ReadOnly {
			continue
		}
		if path, _, is := strings.Cut(p.Ref, "."); is {
			paths = append(paths, path)
		}
		paths = append(paths, names(p.Schema, seen)...)
	}
	return append(append(paths, names(s.Items, seen)...), names(s.Values, seen)...)
}

// shownAs returns what an object shows of what stands below it at a path: the attribute of that name, whatever its number and separators:
// endpoints/sip is endpoint_sip, and callpermissions is call_permissions.
func shownAs(o object, path string) any {
	if v, is := attribute(o, path); is {
		return v
	}
	first, rest, nested := strings.Cut(path, "/")
	if v, is := attribute(o, first); is && nested {
		if inner, is := v.(object); is {
			return shownAs(inner, rest)
		}
	}
	return nil
}

func attribute(o object, path string) (any, bool) {
	for name, v := range o {
		if plain(name) == plain(path) {
			return v, true
		}
	}
	return nil, false
}

// plain returns a name without what paths and attributes write differently.
func plain(name string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '_' }) {
		out.WriteString(strings.TrimSuffix(word, "s"))
	}
	return out.String()
}
