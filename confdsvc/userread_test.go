package confdsvc_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestOutgoingCallerIDs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		user := c.Create("/users", object{"firstname": "Al"})
		path := "/users/" + user.Text("uuid") + "/callerids/outgoing"
		if l := c.Get(path).List(); l.Total != 1 || !reflect.DeepEqual(l.Column("type"), []string{"anonymous"}) {
			t.Errorf("%v", l)
		}
		from := c.Create("/contexts", object{"label": "From outside", "type": "incall", "incall_ranges": []any{object{"start": "5000", "end": "5999"}}})
		for _, exten := range []string{"5002", "5001", "_50XX"} {
			incall := c.Create("/incalls", object{"destination": object{"type": "user", "user_id": user["id"]}})
			x := c.Create("/extensions", object{"exten": exten, "context": from["name"]})
			c.Do(http.MethodPut, "/incalls/"+incall.Text("id")+"/extensions/"+x.Text("id"), nil).Want(http.StatusNoContent)
		}
		main := c.Create("/phone-numbers", object{"number": "+5009", "shared": true, "caller_id_name": "House"})
		c.Do(http.MethodPut, "/phone-numbers/main", object{"phone_number_uuid": main["uuid"]}).Want(http.StatusNoContent)
		for number, shared := range map[string]bool{"5008": true, "+5001": true, "5007": false} {
			c.Create("/phone-numbers", object{"number": number, "shared": shared})
		}
		c.Create("/phone-numbers", object{"number": "+5002", "caller_id_name": "Al's own"})
		l := c.Get(path).List()
		var got []string
		for _, id := range l.Items {
			got = append(got, id.Text("type")+" "+id.Text("number")+" "+id.Text("caller_id_name"))
		}
		if want := []string{"main +5009 House", "associated 5002 Al's own", "associated 5001 ", "shared 5008 "}; l.Total != 5 || !reflect.DeepEqual(got[:4], want) {
			t.Errorf("%v", got)
		}
		if last := l.Items[4]; last["type"] != "anonymous" || len(last) != 1 {
			t.Errorf("%v", last)
		}
		w.as(t, "b").Get(path).Want(http.StatusNotFound)
	})
}

func TestUserCTI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		path := "/users/" + w.as(t, "a").Create("/users", object{"firstname": "Al"}).Text("uuid") + "/cti"
		if got := w.as(t, "a").Get(path).Want(http.StatusOK).Object(); len(got) != 0 {
			t.Errorf("%v", got)
		}
		w.as(t, "b").Get(path).Want(http.StatusNotFound)
	})
}
