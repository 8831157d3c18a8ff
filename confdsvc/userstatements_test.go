package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A telephone user costs as many statements as were counted when this was written: 18 to make it, and 16 to read it for the reply,
// which has the line's whole endpoint.
func TestTelephoneUserStatements(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var all sync.Mutex
		var sent []string
		c := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			all.Lock()
			defer all.Unlock()
			sent = append(sent, sql)
		})).as(t, "a")
		in := withRanges(c, "internal", object{"user_ranges": []object{{"start": "1000000", "end": "1999999"}}})
		c.Create("/users", telephoneUser(in, "1000000"))
		sent = nil
		c.Create("/users", telephoneUser(in, "1000001"))
		if len(sent) > 34 {
			t.Errorf("%d statements:\n%s", len(sent), strings.Join(sent, "\n"))
		}
	})
}

// A transaction that gave a line its endpoint knows when the endpoint is gone again.
func TestEndpointIsGoneInTheSameTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		for i, gone := range []string{"/endpoints/%[3]s/%[2]s", "/lines/%[1]s/endpoints/%[3]s/%[2]s"} {
			for kind, body := range map[string]object{"sip": {}, "custom": {"interface": fmt.Sprintf("Local/%d@x", i)}} {
				line := c.Create("/lines", object{"context": c.in}).Text("id")
				endpoint := c.Create("/endpoints/"+kind, body)
				key := endpoint.Text("id")
				if kind == "sip" {
					key = endpoint.Text("uuid")
				}
				exten := c.Create("/extensions", object{"exten": fmt.Sprintf("10%d%d", i, len(kind)), "context": c.in}).Text("id")
				operation := func(method, path string) object { return object{"method": method, "path": path} }
				c.Do(http.MethodPost, "/bulk", object{"operations": []any{
					operation(http.MethodPut, "/lines/"+line+"/endpoints/"+kind+"/"+key),
					operation(http.MethodDelete, fmt.Sprintf(gone, line, key, kind)),
					operation(http.MethodPut, "/lines/"+line+"/extensions/"+exten),
				}}).Want(http.StatusBadRequest).Says("operations[2]: ").Says("Line must be associated with a Endpoint")
			}
		}
	})
}
