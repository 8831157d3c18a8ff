package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["outcalls"] = simpleKind{"outcall_id", object{"name": "out"}}
	samples["outcalls"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("Outcall %d", n)} },
		Links: map[string]crudtest.Link{"extensions": {
			Ready: func(c *crudtest.Client, _, extension object) { moveTo(c, extension, "outcall") },
			Kept:  []string{"right"},
		}},
	}
}

// An outgoing call has patterns of a context of its own type, each with its digits, and trunks in order.
func TestOutcall(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		outside, inside := c.Create("/contexts", object{"label": "out", "type": "outcall"}), c.Create("/contexts", object{"label": "in"})
		outcall := c.Create("/outcalls", object{"name": "out"})
		path := "/outcalls/" + outcall.Text("id")
		for _, exten := range []string{"_.", "_[9-0]X", "_1["} {
			c.Do(http.MethodPost, "/extensions", object{"exten": exten, "context": outside["name"]}).Want(http.StatusBadRequest).Says("some numbers are like, and not all")
		}
		x := c.Create("/extensions", object{"exten": "_0NXX.", "context": outside["name"]})
		pattern := path + "/extensions/" + x.Text("id")
		wrong := path + "/extensions/" + c.Create("/extensions", object{"exten": "0123", "context": inside["name"]}).Text("id")
		c.Do(http.MethodPut, wrong, object{}).Want(http.StatusBadRequest).Says("ContextType 'internal' cannot be associated")
		for _, body := range []object{{"prefix": "+abc"}, {"external_prefix": "00 "}, {"strip_digits": -1}, {"strip_digits": "1"}} {
			c.Do(http.MethodPut, pattern, body).Want(http.StatusBadRequest)
		}
		c.Do(http.MethodPut, pattern, object{"prefix": "+33", "strip_digits": 1}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, pattern, object{"caller_id": "+15551234"}).Want(http.StatusNoContent) // the others stay
		other := "/outcalls/" + c.Create("/outcalls", object{"name": "other"}).Text("id")
		c.Do(http.MethodPut, other+"/extensions/"+x.Text("id"), object{}).Want(http.StatusBadRequest).Says("Outcall")

		custom := c.Create("/endpoints/custom", object{"interface": "DAHDI/g1"})
		first, second := c.Create("/trunks", object{}), c.Create("/trunks", object{})
		c.Do(http.MethodPut, "/trunks/"+second.Text("id")+"/endpoints/custom/"+custom.Text("id"), nil).Want(http.StatusNoContent)
		list := func(trunks ...object) object {
			items := []any{}
			for _, one := range trunks {
				items = append(items, object{"id": one["id"]})
			}
			return object{"trunks": items}
		}
		c.Do(http.MethodPut, path+"/trunks", list(first, first)).Want(http.StatusBadRequest).Says("Cannot associate same trunk more than once.")
		c.Do(http.MethodPut, path+"/trunks", list(object{"id": 999999})).Want(http.StatusBadRequest).Says("Trunk was not found")
		c.Do(http.MethodPut, path+"/trunks", list(second, first)).Want(http.StatusNoContent)
		for kind, body := range map[string]object{"schedules": {"closed_destination": object{"type": "none"}}, "callpermissions": {"name": "cp"}} {
			c.Do(http.MethodPut, path+"/"+kind+"/"+c.Create("/"+kind, body).Text("id"), nil).Want(http.StatusNoContent)
		}
		got := c.Get(path).Object()
		for attribute, want := range map[string]any{
			"extensions.0.exten": "_0NXX.", "extensions.0.prefix": "+33", "extensions.0.caller_id": "+15551234", "trunks.0.id": second["id"],
			"trunks.0.endpoint_custom.interface": "DAHDI/g1", "trunks.1.id": first["id"], "call_permissions.0.name": "cp", "schedules.0.tenant_uuid": outcall["tenant_uuid"],
		} {
			if at(got, attribute) != want {
				t.Errorf("%s is %v, want %v", attribute, at(got, attribute), want)
			}
		}
		if got := c.Get("/trunks/" + first.Text("id")).Object(); at(got, "outcalls.0.name") != "out" {
			t.Errorf("the trunk shows %v", got)
		}
		incall := c.Create("/incalls", object{"destination": object{"type": "outcall", "outcall_id": outcall["id"], "exten": "01234"}})
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
		if got := at(c.Get("/incalls/"+incall.Text("id")).Object(), "destination.type"); got != "none" {
			t.Errorf("the incall leads to %v", got)
		}
	})
}

// An outgoing call is made with its patterns and its trunks in one request that asks for it: all of it, or nothing.
func TestOutcallIsMadeWhole(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		outside := c.Create("/contexts", object{"label": "out", "type": "outcall"})["name"]
		first, second := c.Create("/trunks", object{}), c.Create("/trunks", object{})
		pattern := func(exten string) object {
			return object{"exten": exten, "context": outside, "prefix": "+33", "strip_digits": 1, "external_prefix": "1010", "caller_id": "+15551234"}
		}
		body := func(name string, patterns []any, trunks ...object) object {
			list := []any{}
			for _, one := range trunks {
				list = append(list, object{"id": one["id"]})
			}
			return object{"name": name, "extensions": patterns, "trunks": list}
		}
		made := c.Do(http.MethodPost, "/outcalls?recursive=true", body("out", []any{pattern("_0X."), object{"exten": "_1X.", "context": outside}}, second, first)).Want(http.StatusCreated)
		path := "/outcalls/" + made.Object().Text("id")
		read := c.Get(path)
		if read.Body != made.Body {
			t.Errorf("it is %s, made was %s", read.Body, made.Body)
		}
		for attribute, want := range map[string]any{
			"extensions.0.exten": "_0X.", "extensions.0.prefix": "+33", "extensions.0.external_prefix": "1010", "extensions.0.caller_id": "+15551234",
			"extensions.0.strip_digits": 1, "extensions.1.prefix": nil, "extensions.1.strip_digits": 0, "trunks.0.id": second["id"], "trunks.1.id": first["id"],
		} {
			if got := at(read.Object(), attribute); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s is %v, want %v", attribute, got, want)
			}
		}

		// What was read can be sent back; of a pattern that is there, what is not sent stays; and without recursive it all does.
		c.Do(http.MethodPut, path+"?recursive=true", read.Object()).Want(http.StatusNoContent)
		kept := []any{object{"id": at(read.Object(), "extensions.0.id")}, object{"id": at(read.Object(), "extensions.1.id")}}
		c.Do(http.MethodPut, path+"?recursive=true", object{"extensions": kept}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path, body("out", []any{})).Want(http.StatusNoContent)
		if now := c.Get(path).Body; now != read.Body {
			t.Errorf("sent back, it is %s, and was %s", now, read.Body)
		}
		c.Do(http.MethodPut, path+"?recursive=true", object{"extensions": []any{object{"id": kept[0].(object)["id"], "prefix": nil}}, "trunks": []any{object{"id": first["id"]}}}).
			Want(http.StatusNoContent)
		now := c.Get(path).Object()
		if at(now, "extensions.0.prefix") != nil || at(now, "extensions.0.caller_id") != "+15551234" || len(now["extensions"].([]any)) != 1 || len(now["trunks"].([]any)) != 1 {
			t.Errorf("it is %v", now)
		}

		// What is refused leaves nothing.
		many := make([]any, 10000)
		for i := range many {
			many[i] = pattern(fmt.Sprintf("_0%05d", i))
		}
		inside, theirs := c.Create("/contexts", object{"label": "in"})["name"], w.as(t, "b")
		for said, wrong := range map[string]object{
			"Longer than maximum length 1000":        body("many", many),
			"Trunk was not found":                    body("theirs", []any{pattern("_2X.")}, theirs.Create("/trunks", object{})),
			"Cannot associate same trunk more":       body("twice", []any{pattern("_2X.")}, first, first),
			"ContextType 'internal' cannot":          body("inside", []any{pattern("_2X."), object{"exten": "123", "context": inside}}, first),
			"{1: {'prefix'":                          body("prefix", []any{pattern("_2X."), object{"exten": "_3X.", "context": outside, "prefix": "abc"}}),
			"Outcall is associated with a Extension": body("taken", []any{pattern("_2X."), pattern("_0X.")}, first),
			"Context was not found":                  body("foreign", []any{object{"exten": "_2X.", "context": theirs.Create("/contexts", object{"label": "out", "type": "outcall"})["name"]}}),
		} {
			before := counts(t, db)
			c.Do(http.MethodPost, "/outcalls?recursive=true", wrong).Want(http.StatusBadRequest).Says(said)
			if after := counts(t, db); !reflect.DeepEqual(after, before) {
				t.Errorf("%s: left something: %v, before %v", said, after, before)
			}
		}

		// It takes the accesses of all that it contains, and what is denied cannot be nested.
		needed := []string{"confd.outcalls.create", "confd.extensions.create", "confd.outcalls.*.extensions.*.update", "confd.outcalls.*.trunks.update"}
		for i := 1; i < len(needed); i++ { // the gate checks the first
			before := counts(t, db)
			w.holding(t, slices.Delete(slices.Clone(needed), i, i+1)...).Do(http.MethodPost, "/outcalls?recursive=true", body("more", []any{pattern("_4X.")}, first)).
				Want(http.StatusForbidden).Says(needed[i][len(needed[i])-6:])
			if after := counts(t, db); !reflect.DeepEqual(after, before) {
				t.Errorf("without %s it left something", needed[i])
			}
		}
		w.holding(t, append(needed, "!confd.trunks."+first.Text("id")+".read")...).
			Do(http.MethodPost, "/outcalls?recursive=true", body("more", []any{}, first)).Want(http.StatusForbidden)
		extension := c.Create("/extensions", object{"exten": "_5X.", "context": outside})
		for _, named := range []object{{"id": extension["id"]}, {"exten": "_5X.", "context": outside}} {
			w.holding(t, append(needed, "!confd.extensions."+extension.Text("id")+".read")...).
				Do(http.MethodPost, "/outcalls?recursive=true", body("more", []any{named})).Want(http.StatusForbidden)
		}
		w.holding(t, needed...).Do(http.MethodPost, "/outcalls?recursive=true", body("more", []any{pattern("_4X.")}, first)).Want(http.StatusCreated)
		w.holding(t, "confd.outcalls.*.update").Do(http.MethodPut, path+"?recursive=true", object{"extensions": []any{object{"id": kept[0].(object)["id"], "prefix": "+44"}}}).
			Want(http.StatusForbidden)
	})
}
