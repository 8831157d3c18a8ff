package callrecords

import (
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

const csvType = "text/csv; charset=utf-8"

// cells are the columns of a file of calls, and how each is written.
var cells = []struct {
	name string
	of   func(c *Call) string
}{
	{"id", func(c *Call) string { return strconv.FormatInt(c.ID, 10) }},
	{"start", func(c *Call) string { return c.Start.Format(time.RFC3339) }},
	{"answer", func(c *Call) string {
		if c.Answer == nil {
			return ""
		}
		return c.Answer.Format(time.RFC3339)
	}},
	{"end", func(c *Call) string { return c.End.Format(time.RFC3339) }},
	{"duration", func(c *Call) string { return strconv.FormatInt(c.Duration, 10) }},
	{"call_direction", func(c *Call) string { return c.Direction }},
	{"call_status", func(c *Call) string { return c.Status }},
	{"source_name", func(c *Call) string { return c.SourceName }},
	{"source_extension", func(c *Call) string { return c.Source }},
	{"destination_name", func(c *Call) string { return c.DestName }},
	{"destination_extension", func(c *Call) string { return c.Destination }},
	{"requested_extension", func(c *Call) string { return c.Requested }},
	{"conversation_id", func(c *Call) string { return c.ConversationID }},
}

// formula finds where a spreadsheet could begin to read a formula: anybody may call by such a name.
var formula = regexp.MustCompile("((?:^|[;\t\r\n])[\\p{Z}\\p{Cc}\\p{Cf}]*)([=+@＝＋＠－-])")

// atOnce is how many calls are read by one statement. A client that reads slowly does not keep the database from its work.
const atOnce = 500

// export answers a list as a file. What is removed meanwhile is left out.
func (s *Service) export(ctx context.Context, q *query) (reply rest.Reply, err error) {
	most, whole := q.Limit, false
	if most == 0 {
		most, whole = exported+1, true
	}
	ids, err := s.ids(ctx, s.db, q, most, whole)
	if err == nil && len(ids) > exported {
		err = apierr.New(apierr.Invalid, "A file has at most %d calls, and more match: bring from and until closer together, or set a limit", exported)
	}
	if err != nil {
		return reply, err
	}
	return rest.Reply{
		Type: csvType, Header: http.Header{"Content-Disposition": {`attachment; filename="calls.csv"`}},
		Stream: func(w io.Writer) error {
			out := csv.NewWriter(w)
			out.UseCRLF = true
			row := make([]string, len(cells))
			for i, cell := range cells {
				row[i] = cell.name
			}
			if err := out.Write(row); err != nil {
				return err
			}
			for some := range slices.Chunk(ids, atOnce) {
				calls, err := s.calls(ctx, s.db, q, some)
				if err != nil {
					return err
				}
				for _, c := range calls {
					for i, cell := range cells {
						row[i] = formula.ReplaceAllString(cell.of(c), "$1'$2")
					}
					if err := out.Write(row); err != nil {
						return err
					}
				}
			}
			out.Flush()
			return out.Error()
		},
	}, nil
}
