package merge

import (
	"slices"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// today are the kinds that have links.
var today = []string{
	"callpickups", "conferences", "contexts", "emergency-numbers", "groups", "incalls", "lines", "outcalls", "pagings", "parkinglots", "trunks", "users",
}

// sample returns an object as a schema shows it, with everything in it.
func sample(s *rest.Schema, depth int) object {
	o := object{}
	for i := range s.Properties {
		p := &s.Properties[i]
		of := p.Schema
		if of.Items != nil {
			of = of.Items
		}
		o[p.Name] = "something"
		if len(of.Properties) > 0 && depth > 0 {
			o[p.Name] = sample(of, depth-1)
		}
	}
	return o
}

// The definition says which kinds there are, in which order they can be made, and which links and parts they have; an object shows each of its links.
func TestPlan(t *testing.T) {
	service, err := confdsvc.New(confdsvc.Options{DB: store.NewLate()})
	if err != nil {
		t.Fatal(err)
	}
	kinds := plan(service.Operations)
	var order []string
	for _, k := range linksInOrder(slices.Clone(kinds)) {
		o := sample(k.shown, 2)
		for _, l := range k.links { // a link of a later kind that is not shown by its name is an attribute too, or needs a word in plan.go
			if slices.Contains(today, k.path) && shownAs(o, l.path) == nil {
				t.Errorf("%s shows nothing of its links %s, so they are not brought", k.path, l.path)
			}
		}
	}
	at := map[string]*kind{}
	for _, k := range kinds {
		order = append(order, k.path)
		at[k.path] = k
	}
	before := func(one, other string) {
		t.Helper()
		if a, b := slices.Index(order, one), slices.Index(order, other); a < 0 || b < 0 || a > b {
			t.Errorf("%s is at %d, and %s at %d of %q", one, a, other, b, order)
		}
	}
	before("contexts", "extensions")
	before("contexts", "voicemails")
	before("endpoints/sip/templates", "endpoints/sip")
	before("funckeys/templates", "users")
	before("moh", "users")
	for path, want := range map[string][]string{
		"users":    {"callpermissions", "lines", "schedules", "voicemails", "part fallbacks", "part forwards", "part funckeys", "part services"},
		"groups":   {"callpermissions", "extensions", "members/extensions", "members/users", "schedules", "part fallbacks"},
		"lines":    {"applications", "endpoints/custom", "endpoints/sip", "extensions"},
		"outcalls": {"callpermissions", "extensions", "schedules", "trunks"},
	} {
		var got []string
		for _, l := range at[path].links {
			got = append(got, l.path)
		}
		for _, p := range at[path].parts {
			got = append(got, "part "+p.path)
		}
		for _, one := range want {
			if !slices.Contains(got, one) {
				t.Errorf("%s has %q, and not %s", path, got, one)
			}
		}
	}
	if !at["sip/transports"].shared || at["users"].shared || !circular(at["incalls"]) || circular(at["lines"]) {
		t.Error("transports belong to no tenant, and incalls lead to others")
	}
}
