package confdsvc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
)

// TestResources tries every resource by what it declares. Each says how to make one of its objects in the file of its tests.
func TestResources(t *testing.T) {
	crudtest.Suite{
		Described: confdsvc.Described(), Access: "confd.#",
		Mount: func(tb testing.TB, db store.DB) http.Handler {
			tb.Helper()
			svc, err := confdsvc.New(confdsvc.Options{DB: db})
			if err != nil {
				tb.Fatal(err)
			}
			return svc
		},
		Resources: map[string]crudtest.Resource{
			"users": userResource, "voicemails": voicemailResource, "contexts": contextResource, "extensions": extensionResource,
			"lines": lineResource, "endpoints/custom": endpointCustomResource,
			"incalls":       incallResource,
			"endpoints/sip": endpointSIPResource, "endpoints/sip/templates": endpointSIPResource, "sip/transports": {}, "registrars": {}, "extensions/features": {},
		},
	}.Run(t)
}

var userResource = crudtest.Resource{
	Minimal: func(_ *crudtest.Client, n int) object { return object{"firstname": fmt.Sprintf("First%d", n)} },
	Values: func(n int) object {
		return object{"email": fmt.Sprintf("al%d@example.org", n), "username": fmt.Sprintf("al%d", n), "password": "abcd"}
	},
	Except: []string{
		"agent", "auth", "device_id", "func_key_template_id", "groups", "switchboards", "call_record_enabled", // not by themselves
		"lines", "voicemail", "forwards", "fallbacks", "incalls", // not on create
	},
	Follow: map[string][]string{
		"call_record_outgoing_external_enabled": {"call_record_enabled"}, "call_record_outgoing_internal_enabled": {"call_record_enabled"},
		"call_record_incoming_internal_enabled": {"call_record_enabled"}, "call_record_incoming_external_enabled": {"call_record_enabled"},
	},
	Parts: map[string]object{
		"forwards":  {"busy": object{"enabled": true, "destination": "123"}, "noanswer": object{"enabled": false, "destination": "456"}},
		"services":  {"dnd": object{"enabled": true}},
		"fallbacks": {"noanswer_destination": object{"type": "none"}},
	},
	Links: map[string]crudtest.Link{"lines": {Ready: func(c *crudtest.Client, _, line object) { giveEndpoint(c, line) }}},
}

var voicemailResource = crudtest.Resource{
	Minimal: func(c *crudtest.Client, n int) object {
		return object{"name": fmt.Sprintf("Name%d", n), "number": fmt.Sprint(1000 + n), "context": contextOf(c)}
	},
	Values: func(n int) object {
		return object{"number": fmt.Sprint(90000 + n), "language": "fr_FR", "max_messages": 5, "options": []any{[]any{"a", "b"}}}
	},
	Except: []string{"delete_messages"},
}

var contextResource = crudtest.Resource{
	Minimal: func(_ *crudtest.Client, n int) object { return object{"label": fmt.Sprintf("Label%d", n)} },
	Values: func(int) object {
		some := []any{object{"start": "100", "end": "199"}}
		return object{
			"user_ranges": some, "group_ranges": some, "queue_ranges": some, "conference_room_ranges": some,
			"incall_ranges": []any{object{"start": "100", "end": "199", "did_length": 2}},
		}
	},
}

var extensionResource = crudtest.Resource{
	Minimal: func(c *crudtest.Client, n int) object {
		return object{"exten": fmt.Sprintf("%05d", n), "context": contextOf(c)}
	},
	Values: func(n int) object { return object{"exten": fmt.Sprint(90000 + n)} },
	Except: []string{"commented"}, // the reverse of enabled
	Follow: map[string][]string{"enabled": {"commented"}},
}

var lineResource = crudtest.Resource{
	Minimal: func(c *crudtest.Client, _ int) object { return object{"context": contextOf(c)} },
	Values:  func(n int) object { return object{"provisioning_code": fmt.Sprint(100000 + n)} },
	Except:  []string{"caller_id_name", "caller_id_num"}, // they need an endpoint
	Follow:  map[string][]string{"provisioning_code": {"provisioning_extension"}, "position": {"device_slot"}},
	Links: map[string]crudtest.Link{
		"extensions": {Ready: func(c *crudtest.Client, line, _ object) { giveEndpoint(c, line) }, Kept: []string{"right"}},
	},
}

var endpointCustomResource = crudtest.Resource{
	Minimal: func(_ *crudtest.Client, n int) object { return object{"interface": fmt.Sprintf("Local/%d@default", n)} },
}

// contextOf is the name of a context that the tenant has, with all numbers of five digits for users.
func contextOf(c *crudtest.Client) string {
	return c.Once("context", func() object {
		return c.Create("/contexts", object{"label": "for others", "user_ranges": []any{object{"start": "00000", "end": "99999"}}})
	}).Text("name")
}

func giveEndpoint(c *crudtest.Client, line object) {
	endpoint := c.Create("/endpoints/custom", object{"interface": "Local/" + line.Text("id") + "@line"})
	c.Do(http.MethodPut, "/lines/"+line.Text("id")+"/endpoints/custom/"+endpoint.Text("id"), nil).Want(http.StatusNoContent)
}
