package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// callerIDs returns the caller ID of a line, and the option of its endpoint.
func callerIDs(c *resttest.Client, line string) string {
	c.T.Helper()
	l := c.Get(line).Want(http.StatusOK).Object()
	option := any(nil)
	if sip, ok := at(l, "endpoint_sip.uuid").(string); ok {
		for _, pair := range c.Get("/endpoints/sip/" + sip).Object()["endpoint_section_options"].([]any) {
			if pair := pair.([]any); pair[0] == "callerid" {
				option = pair[1]
			}
		}
	}
	return fmt.Sprintf("%v|%v|%v", l["caller_id_name"], l["caller_id_num"], option)
}

func wantCallerID(c *resttest.Client, line, want string) {
	c.T.Helper()
	if got := callerIDs(c, line); got != want {
		c.T.Errorf("%s: %s, want %s", line, got, want)
	}
}

// The caller ID of a line is what its endpoint has, and nothing without one.
func TestCallerIDOfLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		line := "/lines/" + c.Create("/lines", object{"context": "default", "caller_id_name": nil, "caller_id_num": nil}).Text("id")
		const refused = `["Cannot set caller id if no endpoint associated"]`
		for _, body := range []object{{"caller_id_name": "Al"}, {"caller_id_num": "12"}, {"caller_id_name": "Al", "endpoint_sip": object{}}} {
			if got := c.Do(http.MethodPut, line, body).Want(http.StatusBadRequest); got.Body != refused {
				t.Errorf("%v: %s", body, got.Body)
			}
		}
		if got := c.Do(http.MethodPost, "/lines", object{"context": "default", "caller_id_num": "1"}).Want(http.StatusBadRequest); got.Body != refused {
			t.Error(got.Body)
		}
		custom := c.Create("/lines", object{"context": "default", "endpoint_custom": object{"interface": "Local/1@x"}}).Text("id")
		if got := c.Do(http.MethodPut, "/lines/"+custom, object{"caller_id_name": "Al"}).Want(http.StatusBadRequest); got.Body != refused {
			t.Error(got.Body)
		}
		c.Do(http.MethodPut, line, object{"caller_id_name": nil, "position": 2}).Want(http.StatusNoContent)
		sip := c.Create("/endpoints/sip", object{"endpoint_section_options": pairs("callerid=Al callerid=<12> language=fr")}).Text("uuid")
		c.Do(http.MethodPut, line+"/endpoints/sip/"+sip, nil).Want(http.StatusNoContent)
		wantCallerID(c, line, `<nil>|12|<12>`)
		read := c.Get(line)
		c.Do(http.MethodPut, line, read.Object(), resttest.Header("If-Match", read.Header.Get("Etag"))).Want(http.StatusNoContent)
		wantCallerID(c, line, `<nil>|12|<12>`)

		for _, step := range []struct {
			body object
			want string
		}{
			{object{"caller_id_name": `Al "the \ man" One`}, `Al "the \ man" One|12|"Al \"the \\ man\" One" <12>`},
			{object{"caller_id_num": "34"}, `Al "the \ man" One|34|"Al \"the \\ man\" One" <34>`},
			{object{"position": 3}, `Al "the \ man" One|34|"Al \"the \\ man\" One" <34>`},
			{object{"caller_id_name": nil}, `<nil>|34|"" <34>`},
			{object{"caller_id_name": "12 <3>", "caller_id_num": nil}, `12 <3>|<nil>|"12 <3>"`},
			{object{"caller_id_name": nil}, `<nil>|<nil>|<nil>`},
		} {
			c.Do(http.MethodPut, line, step.body).Want(http.StatusNoContent)
			wantCallerID(c, line, step.want)
		}
		c.Do(http.MethodPut, line, object{"caller_id_num": "+1"}).Want(http.StatusBadRequest).Says("caller_id_num")

		// Of what the endpoint has, lists know too; what is no number in digits stays as it is.
		for option, want := range map[string]string{
			`"Al" <+33>`: "Al|<nil>", `Al One <33>`: "Al One|33", `33`: "<nil>|33", `"33"`: "33|<nil>", `"a>" <1`: `"a>" <1|<nil>`, `<>`: "<nil>|<nil>", ` `: "<nil>|<nil>",
		} {
			c.Do(http.MethodPut, "/endpoints/sip/"+sip, object{"endpoint_section_options": []any{[]any{"callerid", option}}}).Want(http.StatusNoContent)
			c.Do(http.MethodPut, line, c.Get(line).Object()).Want(http.StatusNoContent)
			wantCallerID(c, line, want+"|"+option)
		}
		c.Do(http.MethodPut, line, object{"caller_id_name": "Zoé", "caller_id_num": "7788990"}).Want(http.StatusNoContent)
		for _, query := range []string{"search=zoe", "search=7788990", "caller_id_name=Zoé", "caller_id_num=7788990"} {
			if l := c.Get("/lines?order=caller_id_name&" + query).List(); l.Total != 1 {
				t.Errorf("%s: %v", query, l)
			}
		}

		made := c.Create("/lines", object{"context": "default", "caller_id_name": "Bo", "caller_id_num": "5", "endpoint_sip": object{}})
		if made["caller_id_name"] != "Bo" {
			t.Error(made)
		}
		wantCallerID(c, "/lines/"+made.Text("id"), `Bo|5|"Bo" <5>`)
		later := "/lines/" + c.Create("/lines", object{"context": "default"}).Text("id")
		c.Do(http.MethodPut, later+"?recursive=true", object{"caller_id_name": "Cy", "endpoint_sip": object{}}).Want(http.StatusNoContent)
		wantCallerID(c, later, `Cy|<nil>|"Cy"`)
		c.Do(http.MethodDelete, "/endpoints/sip/"+sip, nil).Want(http.StatusNoContent)
		wantCallerID(c, line, `<nil>|<nil>|<nil>`)
	})
}

// When a line has its main user and its number, it calls by the user's caller ID, and by that number if the caller ID has none, whichever
// came last.
func TestCallerIDOfUserAndNumber(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		al := "/users/" + c.Create("/users", object{"firstname": `Al "X"`, "lastname": "One"}).Text("id")
		bo := "/users/" + c.Create("/users", object{"firstname": "Bo"}).Text("id")
		line := func() string {
			return "/lines/" + c.Create("/lines", object{"context": c.in, "endpoint_sip": object{"endpoint_section_options": pairs("callerid=Old")}}).Text("id")
		}
		number := func(exten string) string {
			return "/extensions/" + c.Create("/extensions", object{"exten": exten, "context": c.in}).Text("id")
		}
		put := func(path string) { c.Do(http.MethodPut, path, nil).Want(http.StatusNoContent) }

		one := line()
		put(one + number("1001"))
		wantCallerID(c.Client, one, "Old|<nil>|Old")
		put(al + one)
		wantCallerID(c.Client, one, `Al X One|1001|"Al X One" <1001>`)
		c.Do(http.MethodPut, one, object{"caller_id_name": "Desk"}).Want(http.StatusNoContent)
		put(al + one) // it is so already
		put(bo + one) // not its main user
		wantCallerID(c.Client, one, `Desk|1001|"Desk" <1001>`)
		c.Do(http.MethodDelete, bo+one, nil).Want(http.StatusNoContent)

		two := line()
		put(bo + two)
		wantCallerID(c.Client, two, "Old|<nil>|Old")
		put(two + number("1002"))
		wantCallerID(c.Client, two, `Bo|1002|"Bo" <1002>`)

		three := line()
		put(three + number("_10XX"))
		c.Do(http.MethodPut, al+"/lines", object{"lines": []any{object{"id": c.Get(one).Object()["id"]}, object{"id": c.Get(three).Object()["id"]}}}).Want(http.StatusNoContent)
		wantCallerID(c.Client, one, `Desk|1001|"Desk" <1001>`)
		wantCallerID(c.Client, three, `Al X One|<nil>|"Al X One"`)

		four := line()
		put(al + four)
		c.Do(http.MethodPost, four+"/extensions", object{"exten": "1004", "context": c.in}).Want(http.StatusCreated)
		wantCallerID(c.Client, four, `Al X One|1004|"Al X One" <1004>`)

		made := c.Create("/users", c.user("1005"))
		nested := fmt.Sprintf("/lines/%v", at(made, "lines.0.id"))
		if at(made, "lines.0.caller_id_name") != "Al One" {
			t.Errorf("%v", made["lines"])
		}
		wantCallerID(c.Client, nested, `Al One|1005|"Al One" <1005>`)
		c.Do(http.MethodPut, "/users/"+made.Text("id")+"?recursive=true", object{
			"lines": []any{object{"id": at(made, "lines.0.id"), "extensions": []any{object{"exten": "1006"}}}},
		}).Want(http.StatusNoContent)
		wantCallerID(c.Client, nested, `Al One|1006|"Al One" <1006>`)
		giveLine(c.Client, c.Create("/users", object{"firstname": "Di"})) // a custom endpoint has no caller ID

		// Their own caller ID counts before their names, and reaches the lines whose main user they are whenever it changes.
		for _, step := range []struct{ callerID, one, three string }{
			{`"Sales"`, `Sales|1001|"Sales" <1001>`, `Sales|<nil>|"Sales"`},
			{`"Al" <+339>`, `Al|<nil>|"Al" <+339>`, `Al|<nil>|"Al" <+339>`},
			{`"Al" <9>`, `Al|9|"Al" <9>`, `Al|9|"Al" <9>`},
			{`"Bo"`, `Bo|1001|"Bo" <1001>`, `Bo|<nil>|"Bo"`},
		} {
			put(bo + one)
			c.Do(http.MethodPut, al, object{"caller_id": step.callerID}).Want(http.StatusNoContent)
			wantCallerID(c.Client, one, step.one)
			wantCallerID(c.Client, three, step.three)
			c.Do(http.MethodPut, bo, object{"caller_id": step.callerID + " "}).Want(http.StatusBadRequest)
		}
		five := line() // without a number
		put(al + five)
		c.Do(http.MethodPut, al, object{"caller_id": `"Cy"`}).Want(http.StatusNoContent)
		wantCallerID(c.Client, five, `Cy|<nil>|"Cy"`)
		c.Do(http.MethodPut, five, object{"caller_id_num": "5"}).Want(http.StatusNoContent)
		for _, step := range [][2]string{{`"Di"`, `Di|5|"Di" <5>`}, {`"Di" <6>`, `Di|6|"Di" <6>`}, {`"Bo"`, `Bo|<nil>|"Bo"`}} {
			c.Do(http.MethodPut, al, object{"caller_id": step[0]}).Want(http.StatusNoContent)
			wantCallerID(c.Client, five, step[1])
		}
		c.Do(http.MethodPut, al, object{"firstname": "Zoe"}).Want(http.StatusNoContent)
		wantCallerID(c.Client, one, `Bo|1001|"Bo" <1001>`)
		withOwn := c.user("1007")
		withOwn["caller_id"] = `"Desk 7" <77>`
		for range 2 {
			made := c.Create("/users", withOwn)
			wantCallerID(c.Client, fmt.Sprintf("/lines/%v", at(made, "lines.0.id")), `Desk 7|77|"Desk 7" <77>`)
			withOwn = object{"firstname": "Ed", "caller_id": `"Desk 7" <77>`, "lines": []any{object{
				"context": c.in, "endpoint_sip": object{}, "extensions": []any{object{"exten": "1008"}},
			}}}
		}

		// It reaches a line without a number too, unless that has a caller ID of its own.
		bare := object{"firstname": "Flo", "caller_id": `"Desk" <78>`, "lines": []any{
			object{"context": c.in, "endpoint_sip": object{}}, object{"context": c.in, "caller_id_name": "Hall", "endpoint_sip": object{}},
		}}
		flo := c.Create("/users", bare)
		wantCallerID(c.Client, fmt.Sprintf("/lines/%v", at(flo, "lines.0.id")), `Desk|78|"Desk" <78>`)
		wantCallerID(c.Client, fmt.Sprintf("/lines/%v", at(flo, "lines.1.id")), `Hall|<nil>|"Hall"`)
		six := "/lines/" + c.Create("/lines", object{"context": c.in, "endpoint_sip": object{}}).Text("id")
		put("/users/" + flo.Text("id") + six)
		wantCallerID(c.Client, six, `Desk|78|"Desk" <78>`)
	})
}

// Whoever is denied a user reads the endpoint of the user's line without the caller ID, and leaves it there by writing back what they have read.
func TestConcealedCallerIDStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, d := w.as(t, "master"), newDoorkeeper(t, w.svc)
		made := c.Create("/users", object{"firstname": "Alice", "lines": []any{
			object{"context": withRanges(c, "internal", nil), "endpoint_sip": object{"endpoint_section_options": pairs("dtmf_mode=info")}},
		}})
		user, line := made.Text("uuid"), fmt.Sprint(made["lines"].([]any)[0].(map[string]any)["id"])
		was := callerIDs(c, "/lines/"+line)
		endpoint := "/endpoints/sip/" + at(c.Get("/lines/"+line).Object(), "endpoint_sip.uuid").(string)
		caller := d.holding(t, w.tenants["master"], uuid.NewString(), "confd.#", "!confd.users."+user+".read")
		read := caller.Get(endpoint).Want(http.StatusOK)
		if strings.Contains(read.Body, "Alice") || !strings.Contains(read.Body, "dtmf_mode") {
			t.Error(read.Body)
		}
		options := read.Object()["endpoint_section_options"].([]any)
		for _, header := range []string{read.Header.Get("Etag"), "*"} {
			caller.Do(http.MethodPut, endpoint, object{"endpoint_section_options": options}, resttest.Header("If-Match", header)).Want(http.StatusNoContent)
			wantCallerID(c, "/lines/"+line, was)
			options = append(options, []any{"language", "fr"})
		}
		if got := c.Get(endpoint).Body; !strings.Contains(got, "language") || !strings.Contains(got, "Alice") {
			t.Error(got)
		}
	})
}
