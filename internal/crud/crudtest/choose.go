package crudtest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// chosen: `fields` chooses attributes of an object and of a list's items, each alone and all together. The entity tag is that of the
// whole object, so a change can depend on it.
func (x *trial) chosen() {
	o := x.make(x.a, nil)
	whole, all := x.a.Get(x.at(o)), x.a.Get(x.all()).List()
	names := slices.DeleteFunc(x.k.Schema.Names(), func(name string) bool { _, shown := whole.Object()[name]; return !shown })
	for _, fields := range append([]string{strings.Join(names, ","), names[len(names)-1] + "&fields=" + names[0]}, names...) {
		sent := strings.Split(strings.ReplaceAll(fields, "&fields=", ","), ",")
		one := x.a.Get(x.at(o) + "?fields=" + fields).Want(http.StatusOK)
		if want := only(whole.Object(), sent); !reflect.DeepEqual(one.Object(), want) {
			x.Errorf("%s: %v, want %v", fields, one.Object(), want)
		}
		if one.Header.Get("ETag") != whole.Header.Get("ETag") {
			x.Errorf("%s: entity tag %s, want %s", fields, one.Header.Get("ETag"), whole.Header.Get("ETag"))
		}
		list := x.a.Get(x.all() + "?fields=" + fields).List()
		if list.Total != all.Total || len(list.Items) != len(all.Items) {
			x.Fatalf("%s: %d items, total %d", fields, len(list.Items), list.Total)
		}
		for i, item := range list.Items {
			if want := only(all.Items[i], sent); !reflect.DeepEqual(item, want) {
				x.Errorf("%s: item %v, want %v", fields, item, want)
			}
		}
	}
	unknown := []string{"", "no_such", names[0] + ",", names[0] + ",no_such", "*", strings.ToUpper(names[0]), " " + names[0], names[0] + ".x"}
	for i := range x.k.Schema.Properties {
		if p := &x.k.Schema.Properties[i]; p.WriteOnly {
			unknown = append(unknown, p.Name)
		}
	}
	for _, fields := range unknown {
		for _, path := range []string{x.all(), x.at(o)} {
			x.a.Do(http.MethodGet, path, nil, resttest.Query("fields", fields)).Want(http.StatusBadRequest).Says("fields: There is no attribute '")
		}
	}
	x.a.Get(x.at(o)+"?fields="+names[0], resttest.Header("If-None-Match", whole.Header.Get("ETag"))).Want(http.StatusNotModified).Empty()
}

func only(o Object, names []string) Object {
	out := Object{}
	for _, name := range names {
		out[name] = o[name]
	}
	return out
}
