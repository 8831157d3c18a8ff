package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	simple["schedules"] = simpleKind{"schedule_id", object{"closed_destination": object{"type": "none"}}}
	samples["schedules"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object { return object{"closed_destination": object{"type": "none"}} },
		Values: func(n int) object {
			period := object{"hours_start": "08:00", "hours_end": "12:00", "week_days": []any{1 + n%7}, "month_days": []any{1}, "months": []any{2, 3}}
			return object{
				"closed_destination": object{"type": "hangup", "cause": "busy", "timeout": float64(n)}, "open_periods": []any{period},
				"exceptional_periods": []any{object{
					"hours_start": "12:00", "hours_end": "13:00", "week_days": []any{1}, "month_days": []any{1}, "months": []any{2}, "destination": object{"type": "none"},
				}},
			}
		},
	}
}

// The destinations of a schedule lead to objects, as all destinations do: they are none once the objects are deleted.
func TestScheduleDestinations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		al, bo := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		to := func(user object) object { return object{"type": "user", "user_id": user["id"]} }
		period := func(start, end string, user object) object {
			return object{"hours_start": start, "hours_end": end, "destination": to(user)}
		}
		schedule := c.Create("/schedules", object{"closed_destination": to(al), "exceptional_periods": []any{period("08:00", "08:00", al), period("09:00", "10:00", bo)}})
		path := "/schedules/" + schedule.Text("id")
		is := func(want ...any) {
			t.Helper()
			got := c.Get(path).Object()
			shown := []any{at(got, "closed_destination.user_firstname")}
			for i := range got["exceptional_periods"].([]any) {
				shown = append(shown, at(got, fmt.Sprintf("exceptional_periods.%d.destination.user_firstname", i)))
			}
			if !reflect.DeepEqual(shown, want) {
				t.Errorf("it leads to %v, want %v", shown, want)
			}
		}
		is("Al", "Al", "Bo")
		c.Do(http.MethodPut, path, object{"exceptional_periods": []any{period("09:00", "10:00", bo)}}).Want(http.StatusNoContent)
		is("Al", "Bo")
		for _, wrong := range []object{
			{"open_periods": []any{object{"hours_start": "09:00", "hours_end": "08:59"}}}, {"exceptional_periods": []any{period("09:00", "08:00", al)}},
		} {
			c.Do(http.MethodPut, path, wrong).Want(http.StatusBadRequest).Says("hours_end is before hours_start")
		}
		days := func(months, days []any) object {
			return object{"open_periods": []any{object{"hours_start": "09:00", "hours_end": "10:00", "months": months, "month_days": days}}}
		}
		c.Do(http.MethodPut, path, days([]any{2, 4}, []any{31})).Want(http.StatusBadRequest).Says("none of the months has one of these days")
		for _, month := range []int{2, 3} {
			c.Do(http.MethodPut, path, days([]any{month}, []any{29, 31})).Want(http.StatusNoContent)
		}
		foreign := w.as(t, "b").Create("/users", object{"firstname": "Di"})
		c.Do(http.MethodPut, path, object{"exceptional_periods": []any{period("09:00", "10:00", foreign)}}).Want(http.StatusBadRequest).Says("User was not found")
		c.Do(http.MethodDelete, "/users/"+bo.Text("uuid"), nil).Want(http.StatusNoContent)
		is("Al", nil)
		if got := at(c.Get(path).Object(), "exceptional_periods.0.destination.type"); got != "none" {
			t.Errorf("it leads to %v", got)
		}
	})
}
