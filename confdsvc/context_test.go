package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["contexts"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"label": fmt.Sprintf("Label%d", n)} },
		Except:  []string{"name"}, // an older word for the label
		Values: func(int) object {
			some := []any{object{"start": "100", "end": "199"}}
			return object{
				"user_ranges": some, "group_ranges": some, "queue_ranges": some, "conference_room_ranges": some,
				"incall_ranges": []any{object{"start": "100", "end": "199", "did_length": 2}},
			}
		},
	}
}

// contextOf returns the name of a context that the tenant owns, with all numbers of five digits for users.
func contextOf(c *crudtest.Client) string {
	return c.Once("context", func() object {
		return c.Create("/contexts", object{"label": "for others", "user_ranges": []any{object{"start": "00000", "end": "99999"}}})
	}).Text("name")
}

func TestContextIsPreparedOnCreateAndUpdate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		made := c.Create("/contexts", object{"name": "old name", "user_ranges": []any{object{"start": "100"}}})
		path := "/contexts/" + made.Text("id")
		if made["label"] != "old name" || made["name"] == "old name" {
			t.Errorf("made %v", made)
		}
		for _, name := range []any{"", "two\nlines", strings.Repeat("x", 129), nil} {
			c.Do(http.MethodPost, "/contexts", object{"name": name}).Want(http.StatusBadRequest).Says("label")
		}
		c.Do(http.MethodPut, path, object{
			"name": "another", "user_ranges": []any{object{"start": "200"}}, "incall_ranges": []any{object{"start": "0300", "did_length": 2}},
		}).Want(http.StatusNoContent)
		got := c.Get(path)
		if o := got.Object(); o["label"] != "another" || o["name"] != made["name"] || o["uuid"] != made["uuid"] {
			t.Errorf("it is %v, and was %v", o, made)
		}
		for _, ranges := range []string{`"user_ranges":[{"start":"200","end":"200"}]`, `{"start":"0300","end":"0300","did_length":2}`} {
			if !strings.Contains(got.Body, ranges) {
				t.Errorf("no %s in %s", ranges, got.Body)
			}
		}
		c.Do(http.MethodPut, path, object{"user_ranges": []any{object{"start": "200", "end": "100"}}}).Want(http.StatusBadRequest).Says("user_ranges: {0: {'end': ['Must not be before the start']}}")
	})
}

// What belongs to the tenant of its context keeps that tenant: another tenant's context is refused, even one that the caller sees.
func TestContextsDoNotMoveObjectsToOtherTenants(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, master := w.as(t, "a"), w.as(t, "master")
		for path, body := range map[string]object{
			"/lines":      {"context": "default"},
			"/extensions": {"exten": "1000", "context": "default"},
			"/voicemails": voicemail("1000"),
		} {
			one := path + "/" + c.Create(path, body).Text("id")
			for _, caller := range []*resttest.Client{c, master} {
				caller.Do(http.MethodPut, one, object{"context": "of-a1"}).Want(http.StatusBadRequest).
					Says("different tenants").Says("_tenant_uuid': '" + w.tenants["a"] + "', 'context_tenant_uuid': '" + w.tenants["a1"] + "')")
				caller.Do(http.MethodPut, one, object{"context": "of-b"}).Want(http.StatusBadRequest).Says("Context was not found ('context': 'of-b')")
			}
			c.Do(http.MethodPut, one, object{"context": "other"}).Want(http.StatusNoContent)
			if o := c.Get(one).Object(); o["context"] != "other" || o["tenant_uuid"] != w.tenants["a"] {
				t.Errorf("%s: %v", path, o)
			}
		}
	})
}
