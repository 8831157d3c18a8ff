package declaration

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Style holds the differences between the services. Each service sets it once, in its description.
type Style struct {
	// Filtered lists have `filtered`, and their total counts all objects of the tenant; without it, total counts the matches of
	// the search and the filters.
	Filtered bool
	// CreateStatus is the status of a successful POST.
	CreateStatus int
	// UpdateReply makes PUT return 200 with the object instead of 204.
	UpdateReply bool
	// Location sends the new object's path on create, and lists it in `links` of every object. T embeds Hrefs.
	Location bool
	// SearchWords lets a search of several words match with anything between them.
	SearchWords bool
	// Duplicate is the kind of error for a duplicate, or for deleting an object that others refer to.
	Duplicate apierr.Kind
}

// Storedf refuses because of stored data: a duplicate, an association.
func (s Style) Storedf(format string, args ...any) *apierr.Error {
	e := apierr.New(s.Duplicate, format, args...)
	if s.Duplicate == apierr.Invalid {
		e.ID = rest.ResourceError
	}
	return e
}

// Associated refuses because an object is linked with another: "User is associated with a Voicemail ('user_id': 1, ...)". keys
// are alternating names and values.
func (s Style) Associated(one, other string, keys ...any) error {
	return keyed(s.Storedf("%s is associated with a %s", one, other), keys)
}

// NotAssociated refuses because an object is not linked with another that it needs.
func (s Style) NotAssociated(one, other string, keys ...any) error {
	return keyed(s.Storedf("%s must be associated with a %s", one, other), keys)
}

// NotPermitted refuses with its own sentence.
func (s Style) NotPermitted(sentence string, keys ...any) *apierr.Error {
	return keyed(s.Storedf("Operation not permitted. %s", sentence), keys)
}

// keyed adds the keys of the objects that a refusal names, if there are any.
func keyed(e *apierr.Error, keys []any) *apierr.Error {
	if len(keys) == 0 {
		return e
	}
	unnamed := e.Message
	e.Message += " (" + pairs(keys) + ")"
	return e.On(namesOf(keys)...).Naming(unnamed, keys...)
}

// DifferentTenants refuses because two objects, by their names in the singular, belong to different tenants.
func (s Style) DifferentTenants(one, oneTenant, other, otherTenant string) error {
	return s.Storedf("different tenants ('%s_tenant_uuid': '%s', '%s_tenant_uuid': '%s')", one, oneTenant, other, otherTenant)
}

// namesOf returns the names of names and values.
func namesOf(keys []any) []string {
	var names []string
	for two := range slices.Chunk(keys, 2) {
		names = append(names, fmt.Sprint(two[0]))
	}
	return names
}

// pairs writes names and values in the form that existing clients know.
func pairs(keys []any) string {
	parts := make([]string, 0, len(keys)/2)
	for two := range slices.Chunk(keys, 2) {
		parts = append(parts, fmt.Sprintf("'%v': %s", two[0], quoted(two[1])))
	}
	return strings.Join(parts, ", ")
}

// Missing refuses a field of a body that names an object that does not exist, or that the caller does not see: "field 'context': Context
// was not found ('context': 'x')". title is what an object of its collection is called, and key the name of the value.
func Missing(field, title, key string, value any) *apierr.Error {
	return apierr.New(apierr.Invalid, "field '%s': %s was not found ('%s': %s)", field, title, key, quoted(value)).On(field)
}

// quoted writes a value as in the messages that existing clients know: text between quotes.
func quoted(value any) string {
	if text, ok := value.(string); ok {
		return "'" + text + "'"
	}
	return fmt.Sprint(value)
}

// NotFound refuses a path that names nothing. The details show only a well-formed key; any other is null.
func (k *Entity) NotFound(key string, value any) error {
	e := apierr.New(apierr.NotFound, "%s was not found", k.Title)
	if key != "" {
		e.Message += fmt.Sprintf(" ('%s': %s)", key, quoted(value))
	}
	return e.Named("unknown-"+strings.ReplaceAll(k.Singular, "_", "-")).Of(k.Path).With(cmp.Or(key, k.Keys[0]), value)
}

// Refused translates a broken constraint for a client. object is the one that broke it. Nothing is said of the object that was
// there before, which may be another tenant's.
func (k *Entity) Refused(err error, object any) error {
	if apierr.As(err) != nil {
		return err // a hook has a better error
	}
	var broken *store.ConstraintError
	if !errors.As(err, &broken) {
		return err
	}
	var e *apierr.Error
	switch broken.Kind {
	case store.Unique:
		e = k.duplicate(broken, object)
	case store.ForeignKey:
		e = k.Style.Storedf("%s is associated with something else, or refers to what does not exist", k.Title)
	default:
		return err // earlier checks should have refused it
	}
	e.Resource, e.Err = k.Path, err
	return e
}

func (k *Entity) duplicate(broken *store.ConstraintError, object any) *apierr.Error {
	e := k.Style.Storedf("%s already exists", k.Title)
	var sent []any // names and values
	for _, p := range k.clashing(broken) {
		e = e.With(p.Name, map[string]any{"constraint_id": "unique", "constraint": "unique", "message": "Is already used"})
		if value := reflect.Indirect(reflect.ValueOf(object).Elem().FieldByIndex(p.Index())); value.IsValid() {
			sent = append(sent, p.Name, value.Interface())
		}
	}
	if len(sent) > 0 {
		e.Message += " (" + pairs(sent) + ")"
		e.About = namesOf(sent)
	}
	return e
}

// clashing returns the properties in a broken constraint that a client sends and can read, in the order of the struct. If a
// trigger or a hook wrote another table than the collection's own, it returns the keys.
func (k *Entity) clashing(broken *store.ConstraintError) []*rest.Property {
	var out []*rest.Property
	for _, col := range k.Columns {
		if !slices.Contains(broken.Columns, col.Name) || broken.Table != k.Table && !slices.Contains(k.Keys, col.Name) {
			continue
		}
		if col.Of != "" {
			col = k.byName[col.Of]
		}
		if p := k.Schema.At(col.Index); p != nil && !p.ReadOnly && !p.WriteOnly {
			out = append(out, p)
		}
	}
	return out
}
