package rights

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// AccessOf returns the documented access of a path: service, segments, action.
func AccessOf(service, path, name string) string {
	action := name
	if name == "list" {
		action = "read"
	}
	return service + declaration.Dotted(path) + "." + action
}

// Aliases are all keys by which a path parameter can name one object.
type Aliases struct {
	Param string
	Keys  []string
}

// AliasesOf returns those of an object.
func AliasesOf(k *declaration.Entity, o any) Aliases {
	s := Aliases{Param: k.Param}
	for _, name := range k.PathNames() {
		if value := reflect.Indirect(reflect.ValueOf(k.Field(o, name))); value.IsValid() {
			s.Keys = append(s.Keys, fmt.Sprint(value.Interface()))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(k.Known)) {
		if k.Field(o, k.Known[word]) == true {
			s.Keys = append(s.Keys, word)
		}
	}
	return s
}

// Filled returns an access with the keys of objects in the place of their parameters: one for each of their names.
func Filled(access string, objects ...Aliases) []string {
	all := []string{access}
	for _, o := range objects {
		if !strings.Contains(access, "{"+o.Param+"}") {
			continue
		}
		var filled []string
		for _, one := range all {
			for _, key := range o.Keys {
				filled = append(filled, strings.ReplaceAll(one, "{"+o.Param+"}", WordOf(key)))
			}
		}
		all = filled
	}
	return all
}

// RefuseDenied refuses a caller whose token denies the operation under another key of its objects than the path's. The gate has
// checked the access for the key in the path: a caller who is denied confd.users.{uuid}.delete must not delete the user by id.
func RefuseDenied(r *rest.Request, objects ...Aliases) error {
	p, asked := r.Principal(), r.Match().Access()
	if !p.HasDenials() {
		return nil
	}
	for word := range strings.SplitSeq(r.Op().Access, ".") {
		name, parameter := pathtemplate.Parameter(word)
		if parameter && !slices.ContainsFunc(objects, func(o Aliases) bool { return o.Param == name }) {
			objects = append(objects, Aliases{name, []string{r.Param(name)}})
		}
	}
	for _, access := range Filled(r.Op().Access, objects...) {
		if access != asked && p.Denies(access) {
			return notAllowed("Your token denies %s, which is the same object", p.Denial(access))
		}
	}
	return nil
}

// MayNest refuses a caller who may not do, by an operation of its own, what a request contains. The accesses are those of the same
// operation, by the keys of its objects. To a POST only a denial matters, unless it asks with recursive=true for more than is usual: its own
// access includes what it makes.
func MayNest(r *rest.Request, accesses ...string) error {
	if err := NotDenied(r, accesses...); err != nil {
		return err
	}
	p := r.Principal()
	if len(accesses) == 0 {
		return nil
	}
	op := r.Op()
	asks := r.Bool("recursive") && slices.ContainsFunc(op.Query, func(p rest.Parameter) bool { return p.Name == "recursive" })
	allowed := op.Method == http.MethodPost && !asks
	for _, access := range accesses {
		allowed = allowed || p.Allows(access)
	}
	if !allowed {
		return notAllowed("You also need %s, for what is nested", accesses[0])
	}
	return nil
}

// NotDenied refuses a caller who is denied an operation that a request amounts to. Nobody may do anything without a token.
func NotDenied(r *rest.Request, accesses ...string) error {
	p := r.Principal()
	for _, access := range accesses {
		if p == nil {
			return notAllowed("A token with %s is needed for this", access)
		}
		if p.Denies(access) {
			return notAllowed("Your token denies %s, which this contains", p.Denial(access))
		}
	}
	return nil
}

// notAllowed refuses for want of an access, which the format names.
func notAllowed(format, access string) error {
	return apierr.New(apierr.Forbidden, format, access).With("required_access", access)
}

// Accesses returns the access of an operation on an object, by each of its keys.
func Accesses(k *declaration.Entity, o any, action string) []string {
	var out []string
	for _, key := range AliasesOf(k, o).Keys {
		out = append(out, k.Service+"."+declaration.Dotted(k.Path)+"."+WordOf(key)+"."+action)
	}
	if action == "read" && k.ReadBy != "" {
		out = append(out, k.ReadBy)
	}
	return out
}

// WordOf returns a key as a word of an access.
func WordOf(key string) string {
	var b strings.Builder
	rest.WriteWord(&b, key)
	return b.String()
}

// HasDenials reports whether the caller is denied anything: without a token, everything.
func HasDenials(r *rest.Request) bool {
	p := r.Principal()
	return p == nil || p.HasDenials()
}

// MayRead refuses to show the master tenant's own objects to another tenant.
func MayRead(ctx context.Context, c store.Conn, k *declaration.Entity, scope string) error {
	if k.Scope != declaration.Master {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

// MayWrite refuses changes of objects that no single tenant owns to every tenant but the master.
func MayWrite(ctx context.Context, c store.Conn, k *declaration.Entity, scope string) error {
	if k.Scope == declaration.PerTenant {
		return nil
	}
	return onlyMaster(ctx, c, scope)
}

// Master declares what MayRead and MayWrite refuse.
func Master(k *declaration.Entity, method string) (none rest.Master) {
	if k.Scope == declaration.Master || k.Scope == declaration.Global && method != http.MethodGet {
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
