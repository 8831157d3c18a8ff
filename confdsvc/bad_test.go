package confdsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestBadIntegers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		for _, value := range []string{"1e400", "1e1", "9007199254740993", "9223372036854775808", "1.0", "-0", "NaN", `"17"`, "true", "[]", "-1", "10801", "01", "+1", "0x1"} {
			got := c.Do(http.MethodPut, path, `{"ring_seconds":`+value+`}`).Want(http.StatusBadRequest)
			if value[0] == '"' || value[0] >= '1' && value[0] <= '9' {
				got.Says("ring_seconds")
			}
		}
		c.Do(http.MethodPut, path, `{"ring_seconds":0,"simultaneous_calls":20}`).Want(http.StatusNoContent)
		if o := c.Get(path).Object(); o.Text("ring_seconds") != "0" || o.Text("simultaneous_calls") != "20" {
			t.Errorf("%v", o)
		}
	})
}

// A refusal lists all errors, in the schema's order.
func TestEveryWrongFieldIsNamed(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	got := c.Do(http.MethodPost, "/users", `{"enabled":1,"email":"x","firstname":null,"ring_seconds":"1"}`).Want(http.StatusBadRequest)
	var messages []string
	resttest.Decode(t, got.Body, &messages)
	want := []string{"firstname", "email", "ring_seconds", "enabled"}
	if len(messages) != len(want) {
		t.Fatalf("%q", messages)
	}
	for i, name := range want {
		if !strings.HasPrefix(messages[i], "Input Error - "+name+": ") {
			t.Errorf("message %d is %q", i, messages[i])
		}
	}
}
