package merge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
)

type object = map[string]any

// translation writes values of the old installation as the new one takes them.
type translation struct {
	names *mapFile
	// missing are what values refer to and was not brought, or not yet: "users 17".
	missing []string
}

// unsaid is a value that cannot be said, since what it refers to is missing.
type unsaid struct{}

// object writes the attributes of an object that can be written, and of those that miss something what of them can be said.
func (t *translation) object(s *rest.Schema, o object) object {
	out := object{}
	for i := range s.Properties {
		p := &s.Properties[i]
		if v := t.property(p, o); v != (unsaid{}) {
			out[p.Name] = v
		}
	}
	return out
}

// property writes an attribute of an object. It is unsaid if it is not to be sent.
func (t *translation) property(p *rest.Property, o object) any {
	v, there := o[p.Name]
	if !there && p.Or != "" {
		v, there = o[p.Or]
	}
	switch {
	case p.ReadOnly || p.Deprecated || !there:
		return unsaid{}
	case v == nil && (!p.Schema.Nullable || p.Schema.NullIsDefault):
		return unsaid{}
	case v == nil:
		return nil
	case p.Name == "filter_member_id": // the number of a link, not that of an object
		return t.reference(surrogateKind+".id", v)
	case p.Ref != "":
		return t.reference(p.Ref, v)
	default:
		return t.value(p.Schema, v)
	}
}

// reference returns the new name of an object. "users.id" is by the numbers of users.
func (t *translation) reference(ref string, old any) any {
	if ref == "sounds.path" {
		return t.sound(old)
	}
	path, by, _ := strings.Cut(ref, ".")
	if v := t.names.find(path, by, old); v != nil {
		return v
	}
	if ref == "moh.name" && old == "default" {
		return old // the telephone system's own
	}
	t.missing = append(t.missing, fmt.Sprintf("%s %v", path, old))
	return unsaid{}
}

// sound returns the new name of a sound: what Asterisk brings is called the same everywhere, and what a tenant has recorded is category/name. The
// files themselves are no objects, and go another way: their names are right even before they are there.
func (t *translation) sound(old any) any {
	sound := text(old)
	if _, below, is := strings.Cut(sound, "/sounds/tenants/"); is { // the old platform names a tenant's own by their paths
		_, sound, _ = strings.Cut(below, "/")
	}
	category, name, own := strings.Cut(sound, "/")
	if v := t.names.find("sounds", "name", category); own && v != nil {
		return text(v) + "/" + name
	}
	return sound
}

// linked returns the key by which a path names the object that an item of a list shows, by whichever of its names.
func (t *translation) linked(l link, item object) any {
	by := l.key
	for _, key := range keys {
		if item[key] == nil {
			continue
		}
		if m := t.names.byOld[[3]string{l.to.path, key, text(item[key])}]; m != nil {
			return m.New[l.key]
		}
		by = key
	}
	return t.reference(l.to.path+"."+by, item[by])
}

func (t *translation) value(s *rest.Schema, v any) any {
	switch v := v.(type) {
	case []any:
		return t.list(s, v)
	case object:
		switch {
		case s.Union != nil:
			return t.union(s.Union, v)
		case s.Values != nil:
			return t.values(s.Values, v)
		case s.Properties == nil:
			return v
		}
		out := t.object(s, v)
		for i := range s.Properties {
			if p := &s.Properties[i]; p.Required && !p.ReadOnly {
				if _, said := out[p.Name]; !said {
					return unsaid{}
				}
			}
		}
		return out
	default:
		return v
	}
}

// values writes the values of an object that has any names, such as the keys of a telephone. Keys that the template gives are no keys of its own.
func (t *translation) values(s *rest.Schema, o object) object {
	out := object{}
	for name, item := range o {
		if key, is := item.(object); is && key["inherited"] == true {
			continue
		}
		if v := t.value(s, item); v != (unsaid{}) {
			out[name] = v
		}
	}
	return out
}

// list writes the items that can be said. An item that is a pair of texts is an option: one named context names a context.
func (t *translation) list(s *rest.Schema, list []any) any {
	out := []any{}
	for _, item := range list {
		if pair, is := item.([]any); is && len(pair) == 2 && pair[0] == "context" {
			if name := t.reference("contexts.name", pair[1]); name != (unsaid{}) {
				out = append(out, []any{"context", name})
			}
			continue
		}
		if s.Items == nil {
			out = append(out, item)
		} else if v := t.value(s.Items, item); v != (unsaid{}) {
			out = append(out, v)
		}
	}
	return out
}

// union writes an object of one of several kinds, such as a destination.
func (t *translation) union(u *rest.Union, o object) any {
	name, _ := o[u.By].(string)
	i := slices.IndexFunc(u.Kinds, func(k rest.Kind) bool { return k.Value == name })
	if i < 0 {
		t.missing = append(t.missing, fmt.Sprintf("a destination of type %.40q", name))
		return unsaid{}
	}
	inner := t.value(u.Kinds[i].Schema, o)
	out, is := inner.(object)
	if !is {
		return inner
	}
	out[u.By] = name
	return out
}

// nowhere is sent for a destination that there must be, until what it leads to is there.
var nowhere = object{"type": "none"}

// complete fills in what a POST needs and cannot be said yet. It reports what is still missing.
func complete(s *rest.Schema, body object) (missing string) {
	for i := range s.Properties {
		p := &s.Properties[i]
		if _, said := body[p.Name]; said || !p.Required || p.ReadOnly {
			continue
		}
		if p.Schema.Union == nil || !slices.ContainsFunc(p.Schema.Union.Kinds, func(k rest.Kind) bool { return k.Value == nowhere["type"] }) {
			return p.Name
		}
		body[p.Name] = nowhere
	}
	return ""
}

// says reports whether a value says anything: null, false, "" and what has only these do not.
func says(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return slices.ContainsFunc(v, says)
	case object:
		for _, inner := range v {
			if says(inner) {
				return true
			}
		}
		return false
	default:
		return true
	}
}

// text returns a key as paths write it.
func text(key any) string {
	if n, is := key.(float64); is {
		key = json.Number(fmt.Sprintf("%.0f", n))
	}
	return fmt.Sprint(key)
}
