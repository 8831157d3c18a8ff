package confdsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// contest sends requests at once, half of them to another node, and fails the test unless exactly one succeeds and the others are
// refused with 400 or 409.
func contest(t *testing.T, nodes [2]*resttest.Client, n int, send func(c *resttest.Client, i int) answer) {
	t.Helper()
	statuses := make([]int, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { statuses[i] = send(nodes[i%2], i).Status })
	}
	all.Wait()
	won, lost := 0, 0
	for _, status := range statuses {
		switch status {
		case http.StatusCreated, http.StatusNoContent:
			won++
		case http.StatusBadRequest, http.StatusConflict:
			lost++
		}
	}
	if won != 1 || won+lost != n {
		t.Errorf("%v", statuses)
	}
}

// Of several clients, on two nodes, that want one number, or one line, at once, one gets it and the others hear that it is taken.
func TestExactlyOneWins(t *testing.T) {
	const callers = 6
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		nodes := [2]*resttest.Client{c, resttest.To(t, newService(t, db), prefix, c.Principal)}
		ranges := []any{object{"start": "100", "end": "199"}}
		in := c.Create("/contexts", object{"label": "in", "user_ranges": ranges, "group_ranges": ranges})["name"]
		line := func() string {
			l := c.Create("/lines", object{"context": in}).Text("id")
			e := c.Create("/endpoints/custom", object{"interface": "Local/" + l + "@contest"}).Text("id")
			c.Do(http.MethodPut, "/lines/"+l+"/endpoints/custom/"+e, nil).Want(http.StatusNoContent)
			return l
		}
		made := 0
		number := func() string { made++; return fmt.Sprint(100 + made) }
		extension := func() string {
			return c.Create("/extensions", object{"exten": number(), "context": in}).Text("id")
		}
		several := func(create func() string) []string {
			ids := make([]string, callers)
			for i := range ids {
				ids[i] = create()
			}
			return ids
		}
		t.Run("one exten in one context", func(t *testing.T) {
			body := object{"exten": number(), "context": in}
			contest(t, nodes, callers, func(c *resttest.Client, _ int) answer { return c.Do(http.MethodPost, "/extensions", body) })
		})
		t.Run("one free number, changed to", func(t *testing.T) {
			ids, body := several(extension), object{"exten": number()}
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer { return c.Do(http.MethodPut, "/extensions/"+ids[i], body) })
		})
		t.Run("one free number for a line of each user", func(t *testing.T) {
			ids, body := several(line), object{"exten": number(), "context": in}
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPost, "/lines/"+ids[i]+"/extensions", body)
			})
			if list := c.Get("/extensions?exten=" + body.Text("exten")).List(); list.Total != 1 {
				t.Errorf("%d extensions", list.Total)
			}
		})
		t.Run("one free number for several new users", func(t *testing.T) {
			exten := number()
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPost, "/users", object{"firstname": "Contender", "lines": []any{object{
					"context": in, "endpoint_custom": object{"interface": fmt.Sprintf("Local/%d@new", i)},
					"extensions": []any{object{"exten": exten, "context": in}},
				}}})
			})
			for path, want := range map[string]int{"/users?search=Contender": 1, "/extensions?exten=" + exten: 1, "/endpoints/custom?search=@new": 1} {
				if list := c.Get(path).List(); list.Total != want {
					t.Errorf("%s: %d", path, list.Total)
				}
			}
		})
		t.Run("one extension for lines of several users", func(t *testing.T) {
			ids, x := several(func() string {
				l := line()
				c.Do(http.MethodPut, "/users/"+c.Create("/users", object{"firstname": "Al"}).Text("id")+"/lines/"+l, nil).Want(http.StatusNoContent)
				return l
			}), extension()
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPut, "/lines/"+ids[i]+"/extensions/"+x, nil)
			})
		})
		t.Run("one line for several extensions", func(t *testing.T) {
			ids, l := several(extension), line()
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPut, "/lines/"+l+"/extensions/"+ids[i], nil)
			})
		})
		t.Run("one line for several endpoints", func(t *testing.T) {
			l := c.Create("/lines", object{"context": in}).Text("id")
			ids := several(func() string {
				return c.Create("/endpoints/custom", object{"interface": "Local/" + number() + "@line"}).Text("id")
			})
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPut, "/lines/"+l+"/endpoints/custom/"+ids[i], nil)
			})
		})
		t.Run("one number for a user's line and for a group", func(t *testing.T) {
			x, l := extension(), line()
			group := c.Create("/groups", object{"label": "G"}).Text("uuid")
			paths := []string{"/lines/" + l, "/groups/" + group}
			contest(t, nodes, 2, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPut, paths[i]+"/extensions/"+x, nil)
			})
		})
		t.Run("one number for several incalls", func(t *testing.T) {
			outside := c.Create("/contexts", object{"label": "outside", "type": "incall"})["name"]
			x := c.Create("/extensions", object{"exten": number(), "context": outside}).Text("id")
			ids := several(func() string {
				return c.Create("/incalls", object{"destination": object{"type": "none"}}).Text("id")
			})
			contest(t, nodes, callers, func(c *resttest.Client, i int) answer {
				return c.Do(http.MethodPut, "/incalls/"+ids[i]+"/extensions/"+x, nil)
			})
		})
		t.Run("a user's lines are whole", func(t *testing.T) { // each list replaces the other
			user := c.Create("/users", object{"firstname": "Al"}).Text("id")
			ids := several(line)
			var all sync.WaitGroup
			for i := range ids {
				all.Go(func() {
					mine := []any{object{"id": json.Number(ids[i])}, object{"id": json.Number(ids[(i+1)%callers])}}
					if got := nodes[i%2].Do(http.MethodPut, "/users/"+user+"/lines", object{"lines": mine}); got.Status != http.StatusNoContent {
						t.Errorf("%d %s", got.Status, got.Body)
					}
				})
			}
			all.Wait()
			var shown []string
			for _, l := range c.Get("/users/" + user).Object()["lines"].([]any) {
				shown = append(shown, object(l.(map[string]any)).Text("id"))
			}
			if first := slices.Index(ids, shown[0]); len(shown) != 2 || shown[1] != ids[(first+1)%callers] {
				t.Errorf("%v of %v", shown, ids)
			}
		})
	})
}
