package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/ringfence/ringfence/internal/store"
)

// timeText is how the driver writes a time.Time under _time_format=sqlite.
const timeText = "2006-01-02 15:04:05.999999999-07:00"

func init() {
	sqlite.MustRegisterDeterministicScalarFunction("fold", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			switch x := args[0].(type) {
			case nil:
				return nil, nil
			case string:
				return store.Fold(x), nil
			default:
				return nil, fmt.Errorf("fold takes text, not %T", x)
			}
		})
	sqlite.MustRegisterDeterministicScalarFunction("as_uuid", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) { return args[0], nil })
	sqlite.MustRegisterDeterministicScalarFunction("has_line", 2,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			lines, texts := args[0].(string)
			line, text := args[1].(string)
			if !texts || !text {
				return nil, fmt.Errorf("has_line takes texts, not %T and %T", args[0], args[1])
			}
			return line != "" && slices.Contains(strings.Split(lines, "\n"), line), nil
		})
	sqlite.MustRegisterScalarFunction("now_utc", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return utc(time.Now()).Format(timeText), nil
		})
}

// utc returns a time as both engines store it: in UTC, cut to microseconds.
func utc(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
