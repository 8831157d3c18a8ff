package crud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Storedf refuses because of stored data: a duplicate, an association.
func (s Style) Storedf(format string, args ...any) *apierr.Error {
	e := apierr.New(s.Duplicate, format, args...)
	if s.Duplicate == apierr.Invalid {
		e.ID = rest.ResourceError
	}
	return e
}

// notFound refuses a path that names nothing. The details show only a well-formed key; any other is null.
func (k *CollectionOf[T]) notFound(key string, value any) error {
	e := apierr.New(apierr.NotFound, "%s was not found", k.title())
	if key != "" {
		e.Message += fmt.Sprintf(" ('%s': %s)", key, quoted(value))
	}
	e.Details = map[string]any{cmp.Or(key, k.Keys[0]): value}
	e.ID, e.Resource = "unknown-"+strings.ReplaceAll(k.Singular, "_", "-"), k.Path
	return e
}

// mayRead refuses to show the master tenant's own objects to another tenant.
func (k *CollectionOf[T]) mayRead(ctx context.Context, c store.Conn, scope string) error {
	if k.Scope != Master {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

// mayWrite refuses changes of objects that no single tenant owns to every tenant but the master.
func (k *CollectionOf[T]) mayWrite(ctx context.Context, c store.Conn, scope string) error {
	if k.Scope == PerTenant {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

// master declares what mayRead and mayWrite refuse.
func (k *CollectionOf[T]) master(method string) (none rest.Master) {
	if k.Scope == Master || k.Scope == Global && method != http.MethodGet {
		return rest.InMaster
	}
	return none
}

func onlyMaster(ctx context.Context, c store.Conn, scope string) error {
	master, err := tenant.IsMaster(ctx, c, scope)
	if err == nil && !master {
		err = apierr.New(apierr.Forbidden, "Only the master tenant may do this")
	}
	return err
}

// quoted writes a value as in the messages that existing clients know: text between quotes.
func quoted(value any) string {
	if text, ok := value.(string); ok {
		return "'" + text + "'"
	}
	return fmt.Sprint(value)
}

// refused translates a broken constraint for a client. object is the one that broke it. Nothing is said of the object that was
// there before, which may be another tenant's.
func (k *CollectionOf[T]) refused(err error, object T) error {
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
		e = k.engine.Style.Storedf("%s is associated with something else, or refers to what does not exist", k.title())
	default:
		return err // earlier checks should have refused it
	}
	e.Resource, e.Err = k.Path, err
	return e
}

func (k *CollectionOf[T]) duplicate(broken *store.ConstraintError, object T) *apierr.Error {
	e := k.engine.Style.Storedf("%s already exists", k.title())
	var sent []any // names and values
	for _, p := range k.clashing(broken) {
		if e.Details == nil {
			e.Details = map[string]any{}
		}
		e.Details[p.Name] = map[string]any{"constraint_id": "unique", "constraint": "unique", "message": "Is already used"}
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
func (k *CollectionOf[T]) clashing(broken *store.ConstraintError) []*rest.Property {
	var out []*rest.Property
	for _, col := range k.columns {
		if !slices.Contains(broken.Columns, col.name) || broken.Table != k.Table && !slices.Contains(k.Keys, col.name) {
			continue
		}
		if col.of != "" {
			col = k.byName[col.of]
		}
		if p := k.property(col); p != nil && !p.ReadOnly && !p.WriteOnly {
			out = append(out, p)
		}
	}
	return out
}

// property returns the property that a column stores, or nil.
func (k *CollectionOf[T]) property(col column) *rest.Property {
	for i := range k.schema.Properties {
		if p := &k.schema.Properties[i]; slices.Equal(p.Index(), col.index) {
			return p
		}
	}
	return nil
}
