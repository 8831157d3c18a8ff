package operator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind is what can be managed: the objects of a collection.
type Kind struct {
	// Name is the word of the command, and Plural the collection.
	Name, Plural string
	// Key is the attribute by which people name an object; without one they use its UUID.
	Key string
	// Columns are the attributes that a list shows.
	Columns []string
	// Fields are the attributes that can be given, and those that only a new object takes.
	Fields   map[string]Type
	OnCreate map[string]Type
	// Links are what can be attached to an object, by the word of the flag: the policies of a user.
	Links map[string]Link
	// Scoped says that objects are in a tenant, and that a list may have those of the tenants below.
	Scoped bool
	// Verbs are those that it has.
	Verbs []string
}

// Type is the type of an attribute.
type Type string

// The types of attributes.
const (
	Text    Type = "text"
	Boolean Type = "true or false"
	List    Type = "list"
)

// Link is how objects of a kind are attached.
type Link struct {
	Kind string
	path string // with the UUIDs of the object and of the other
}

// Verbs of most kinds.
var allVerbs = []string{"list", "show", "add", "set", "remove"}

// Kinds are what can be managed, in the order of the help.
var Kinds = []Kind{
	{
		Name: "user", Plural: "users", Key: "username", Scoped: true, Verbs: allVerbs,
		Columns:  []string{"uuid", "username", "firstname", "lastname", "purpose", "enabled", "tenant_uuid"},
		Fields:   map[string]Type{"username": Text, "firstname": Text, "lastname": Text, "purpose": Text, "enabled": Boolean, "authentication_method": Text},
		OnCreate: map[string]Type{"email_address": Text},
		Links:    map[string]Link{"policy": {"policy", "/users/%s/policies/%s"}, "group": {"group", "/groups/%[2]s/users/%[1]s"}},
	},
	{
		Name: "group", Plural: "groups", Key: "name", Scoped: true, Verbs: allVerbs,
		Columns: []string{"uuid", "name", "slug", "read_only", "tenant_uuid"},
		Fields:  map[string]Type{"name": Text}, OnCreate: map[string]Type{"slug": Text},
		Links: map[string]Link{"policy": {"policy", "/groups/%s/policies/%s"}, "user": {"user", "/groups/%s/users/%s"}},
	},
	{
		Name: "policy", Plural: "policies", Key: "name", Scoped: true, Verbs: allVerbs,
		Columns:  []string{"uuid", "name", "slug", "acl", "shared", "tenant_uuid"},
		Fields:   map[string]Type{"name": Text, "description": Text, "acl": List},
		OnCreate: map[string]Type{"slug": Text, "shared": Boolean},
	},
	{
		Name: "tenant", Plural: "tenants", Key: "name", Verbs: allVerbs,
		Columns:  []string{"uuid", "name", "slug", "parent_uuid", "domain_names"},
		Fields:   map[string]Type{"name": Text, "phone": Text, "contact": Text, "default_authentication_method": Text, "domain_names": List},
		OnCreate: map[string]Type{"slug": Text},
	},
	{
		Name: "token", Plural: "sessions", Scoped: true, Verbs: []string{"list", "add", "remove"},
		Columns: []string{"uuid", "username", "created_at", "expires_at", "remote_addr", "tenant_uuid"},
	},
}

// Find returns a kind by its name.
func Find(name string) Kind {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	return Kinds[i]
}

// settable returns the attributes that can be given, sorted.
func (k Kind) settable(create bool) map[string]Type {
	all := maps.Clone(k.Fields)
	if create {
		maps.Copy(all, k.OnCreate)
	}
	return all
}

// Describe lists the attributes that can be given, for a help text.
func (k Kind) Describe(create bool) string {
	all := k.settable(create)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, fmt.Sprintf("    %s=<%s>", name, all[name]))
	}
	return strings.Join(lines, "\n")
}

// parse reads attributes: username=olga enabled=false acl=a acl=b. An attribute without a value is null, or an empty list.
func (k Kind) parse(given []string, create bool) (map[string]any, error) {
	known := k.settable(create)
	out := map[string]any{}
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		kind, ok := known[name]
		switch {
		case name == "password" && found && create:
			return nil, errors.New("a password in an argument is seen by others: leave it out, and you are asked for it, or give it with --password-stdin")
		case name == "password" && found:
			return nil, errors.New("a password in an argument is seen by others: on the gateway's machine, \"ringfence admin reset-password\" gives a user another one")
		case ok && !found:
			return nil, fmt.Errorf("%[1]s needs a value: write %[1]s=<value>", name)
		case !ok:
			return nil, fmt.Errorf("%q is no attribute of a %s; write <attribute>=<value>, with one of %s", printable(name), k.Name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		_, again := out[name]
		switch {
		case kind == List:
			list, _ := out[name].([]string)
			if list == nil {
				list = []string{}
			}
			if value != "" {
				list = append(list, value)
			}
			out[name] = list
			continue
		case again:
			return nil, fmt.Errorf("%s is given twice", name)
		case value == "":
			out[name] = nil
		case kind == Boolean:
			b, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("%s must be true or false", name)
			}
			out[name] = b
		default:
			out[name] = value
		}
	}
	return out, nil
}
