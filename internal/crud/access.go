package crud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// accessOf returns the documented access of a path: service, segments, action.
func accessOf(service, path, name string) string {
	action := name
	if name == "list" {
		action = "read"
	}
	return service + dotted(path) + "." + action
}

// aliases returns all keys by which a path parameter can name one object.
type aliases struct {
	param string
	keys  []string
}

func (k *CollectionOf[T]) aliases(o T) aliases {
	s := aliases{param: k.Param}
	for _, name := range k.names() {
		if value := reflect.Indirect(reflect.ValueOf(k.field(o, name))); value.IsValid() {
			s.keys = append(s.keys, fmt.Sprint(value.Interface()))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(k.Known)) {
		if k.field(o, k.Known[word]) == true {
			s.keys = append(s.keys, word)
		}
	}
	return s
}

// refuseDenied refuses a caller whose token denies the operation under another key of its objects than the path's. The gate has
// checked the access for the key in the path: a caller who is denied confd.users.{uuid}.delete must not delete the user by id.
func refuseDenied(r *rest.Request, objects ...aliases) error {
	p, asked := r.Principal(), r.Match().Access()
	accesses := []rest.Match{*r.Match()}
	for _, o := range objects {
		if len(o.keys) == 0 {
			continue // this request has no such object
		}
		var all []rest.Match
		for i := range accesses {
			for _, key := range o.keys {
				all = append(all, accesses[i].With(o.param, key))
			}
		}
		accesses = all
	}
	for i := range accesses {
		if access := accesses[i].Access(); access != asked && p.Denies(access) {
			return notAllowed("Your token denies %s, which is the same object", access)
		}
	}
	return nil
}

// refuseAlso refuses a caller who is denied the operation by another path of the object.
func (k *CollectionOf[T]) refuseAlso(r *rest.Request, o T) error {
	if k.Also == nil {
		return nil
	}
	return NotDenied(r, k.Also(r, o)...)
}

// MayNest refuses a caller who may not do, by an operation of its own, what a request contains. The accesses are those of the same
// operation, by the keys of its objects. To a POST only a denial matters: its own access includes what it makes.
func MayNest(r *rest.Request, accesses ...string) error {
	if err := NotDenied(r, accesses...); err != nil {
		return err
	}
	p := r.Principal()
	if len(accesses) == 0 {
		return nil
	}
	allowed := r.Op().Method == http.MethodPost
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
			return notAllowed("Your token denies %s, which this contains", access)
		}
	}
	return nil
}

func notAllowed(format, access string) error {
	e := apierr.New(apierr.Forbidden, format, access)
	e.Details = map[string]any{"required_access": access}
	return e
}

// accesses returns the access of an operation on an object, by each of its keys.
func (k *CollectionOf[T]) accesses(o T, action string) []string {
	var out []string
	for _, key := range k.aliases(o).keys {
		out = append(out, k.engine.Service+"."+dotted(k.Path)+"."+wordOf(key)+"."+action)
	}
	return out
}

// wordOf returns a key as a word of an access.
func wordOf(key string) string {
	var b strings.Builder
	rest.WriteWord(&b, key)
	return b.String()
}

// NotDenied refuses a caller who is denied an operation on an object that a request amounts to.
func (k *CollectionOf[T]) NotDenied(r *rest.Request, o T, action string) error {
	return NotDenied(r, k.accesses(o, action)...)
}

// NoneDenied is NotDenied for all objects that a condition finds. They are looked up only if the caller is denied anything.
func (k *CollectionOf[T]) NoneDenied(ctx context.Context, c store.Conn, r *rest.Request, action, condition string, args ...any) error {
	if !HasDenials(r) {
		return nil
	}
	objects, err := k.Rows(ctx, c, condition, args...)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := k.NotDenied(r, o, action); err != nil {
			return err
		}
	}
	return nil
}

// HasDenials reports whether the caller is denied anything: without a token, everything.
func HasDenials(r *rest.Request) bool {
	p := r.Principal()
	return p == nil || p.HasDenials()
}
