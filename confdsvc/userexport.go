package confdsvc

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserTable is a list of users as a table.
type UserTable struct {
	Headers []string            `json:"headers" doc:"The names of the columns."`
	Content []map[string]string `json:"content" doc:"The rows: the cells, by the name of their column."`
}

func init() { resources = append(resources, declareUserExport) }

func declareUserExport(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/export", Access: "confd.users.export.read", ID: "export_users_csv", Tag: "users",
		Summary: "Export the users of a tenant as a table",
		Description: "As CSV if the request prefers `text/csv`: UTF-8, lines that end with CRLF, booleans as 0 and 1, and an apostrophe before " +
			"each sign at the beginning of a cell that a spreadsheet could take for a formula (`=`, `+`, `-`, `@`). An import takes it away again. " +
			"Users that others change meanwhile are exported as they were or as they are.",
		Query: []rest.Parameter{{
			Name: "labels", Description: "`true`: contexts by their labels, where an import knows them by these.", Schema: &rest.Schema{Type: "boolean"},
		}},
		Success: http.StatusOK, Reply: rest.SchemaOf[UserTable](), Also: csvType + "; charset=utf-8", Tenanted: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) { return exportUsers(ctx, e, r) },
	})
}

// exportedAtOnce is how many users are read in one transaction. None lasts as long as the export does: a client that reads slowly
// would keep the database from its work.
const exportedAtOnce = 500

func exportUsers(ctx context.Context, e *crud.Engine, r *rest.Request) (rest.Reply, error) {
	if err := rights.NotDenied(r, "confd.users.read"); err != nil {
		return rest.Reply{}, err
	}
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	reader, err := newCSVReader(ctx, e, scope)
	if err != nil {
		return rest.Reply{}, err
	}
	users, err := reader.next(ctx) // before the reply begins, so that a failure can still be a refusal
	if err != nil {
		return rest.Reply{}, err
	}
	show := func(_, cell string) string { return cell }
	if r.Bool("labels") {
		err := e.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
			contexts, err := readCSVContexts(ctx, c, e, scope)
			show = contexts.label
			return err
		})
		if err != nil {
			return rest.Reply{}, err
		}
	}
	write := writeJSONTable
	reply := rest.Reply{Header: http.Header{}}
	if r.PrefersAlso() {
		write, reply.Type = writeCSVTable, r.Op().Also
		reply.Header.Set("Content-Disposition", `attachment; filename="users.csv"`)
	}
	reply.Stream = func(w io.Writer) error {
		return write(w, show, func(some func(users []*csvUser) error) (err error) {
			for err == nil && len(users) > 0 {
				if err = some(users); err == nil {
					users, err = reader.next(ctx)
				}
			}
			return err
		})
	}
	return reply, nil
}

// csvReader reads a tenant's users, as they are when it comes to them.
type csvReader struct {
	engine *crud.Engine
	scope  string
	ids    []any // of those that are left
}

// usersInTurn reads the ids of a tenant's users in the order in which an import must make them: it gives a line to its users in the order of their
// rows, and the first becomes the main user. So the users who have no line, or are the main user of theirs, come first, and then the others in the
// order in which they got their lines.
const usersInTurn = `SELECT u.id FROM confd_user u LEFT JOIN {confd_user_line} ul ON ul.user_id = u.id
		AND NOT EXISTS (SELECT 1 FROM {confd_user_line} f WHERE f.user_id = ul.user_id AND f.position < ul.position)
		AND EXISTS (SELECT 1 FROM confd_user_line main WHERE main.line_id = ul.line_id AND main.id < ul.id)
		AND EXISTS (SELECT 1 FROM confd_line_endpoint le WHERE le.line_id = ul.line_id AND le.sip_uuid IS NOT NULL)
	WHERE u.tenant_uuid = $1 ORDER BY coalesce(ul.id, 0), u.id`

func newCSVReader(ctx context.Context, e *crud.Engine, scope string) (*csvReader, error) {
	query, args := e.Visible(ctx, usersInTurn, scope)
	ids, err := store.Select[ID](ctx, e.DB, query, args...)
	x := &csvReader{engine: e, scope: scope, ids: make([]any, len(ids))}
	for i, id := range ids {
		x.ids[i] = id
	}
	return x, err
}

// next returns the next users, with what belongs to them, read in a transaction of its own, and none after the last.
func (x *csvReader) next(ctx context.Context) (out []*csvUser, err error) {
	for len(x.ids) > 0 && len(out) == 0 && err == nil { // there are none if they were all deleted meanwhile, or are denied
		some := x.ids[:min(exportedAtOnce, len(x.ids))]
		x.ids = x.ids[len(some):]
		turn := make(map[any]int, len(some))
		for i, id := range some {
			turn[id] = i
		}
		err = x.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
			users, err := crud.Of[User](x.engine).AsRead(ctx, c, x.scope, "id IN ("+crud.Placeholders(2, len(some))+")", some...)
			if err != nil {
				return err
			}
			slices.SortFunc(users, func(a, b *User) int { return turn[a.ID] - turn[b.ID] })
			out, err = withCSVParts(ctx, c, x.engine, users)
			return err
		})
	}
	return out, err
}

// withCSVParts reads what belongs to users: their voicemails, main lines and SIP endpoints.
func withCSVParts(ctx context.Context, c store.Conn, e *crud.Engine, users []*User) ([]*csvUser, error) {
	var voicemails, lines, endpoints []any
	for _, u := range users {
		if u.Voicemail != nil {
			voicemails = append(voicemails, u.Voicemail.ID)
		}
		if len(u.Lines) > 0 {
			lines = append(lines, u.Lines[0].ID)
			if u.Lines[0].EndpointSIP != nil {
				endpoints = append(endpoints, u.Lines[0].EndpointSIP.UUID)
			}
		}
	}
	voicemailOf, err := byKey[int64, Voicemail](ctx, c, e, "id", voicemails)
	if err != nil {
		return nil, err
	}
	lineOf, err := byKey[int64, Line](ctx, c, e, "id", lines)
	if err != nil {
		return nil, err
	}
	endpointOf, err := byKey[string, EndpointSIP](ctx, c, e, "uuid", endpoints)
	if err != nil {
		return nil, err
	}
	out := make([]*csvUser, len(users))
	for i, u := range users {
		x := &csvUser{user: u}
		if u.Voicemail != nil {
			x.voicemail = voicemailOf[u.Voicemail.ID]
		}
		if len(u.Lines) > 0 {
			if l := lineOf[u.Lines[0].ID]; slices.Contains(csvProtocols, csvProtocol(l)) {
				x.line = l
			}
			if u.Lines[0].EndpointSIP != nil {
				x.endpoint = endpointOf[u.Lines[0].EndpointSIP.UUID]
			}
		}
		out[i] = x
	}
	return out, nil
}

// byKey returns the objects with these first keys, which may be repeated.
func byKey[K comparable, T any](ctx context.Context, c store.Conn, e *crud.Engine, column string, keys []any) (map[K]*T, error) {
	out := make(map[K]*T, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	all := crud.Of[T](e)
	objects, err := all.Select(ctx, c, column+" IN ("+crud.Placeholders(1, len(keys))+")", keys...)
	for _, o := range objects {
		out[all.Key(o).(K)] = o
	}
	return out, err
}

// exportedColumns are the columns of an export.
func exportedColumns() (columns []*csvColumn, names []string) {
	for _, column := range csvColumns() {
		if column.export != nil {
			columns, names = append(columns, column), append(names, column.name)
		}
	}
	return columns, names
}

// writeCSVTable and writeJSONTable write a table. show returns what to write of a column's cell; each runs some for some users after the other.
func writeCSVTable(w io.Writer, show func(column, cell string) string, each func(some func(users []*csvUser) error) error) error {
	columns, names := exportedColumns()
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(names); err != nil {
		return err
	}
	out.Flush()
	cells := make([]string, len(columns))
	err := each(func(users []*csvUser) error {
		for _, x := range users {
			for i, column := range columns {
				cells[i] = harmless(show(column.name, column.export(x)))
			}
			if err := out.Write(cells); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	return errors.Join(err, out.Error())
}

func writeJSONTable(w io.Writer, show func(column, cell string) string, each func(some func(users []*csvUser) error) error) error {
	columns, names := exportedColumns()
	headers, err := rest.Marshal(names)
	if err != nil {
		return err
	}
	between := `{"headers":` + string(headers) + `,"content":[`
	if err := each(func(users []*csvUser) error {
		var text []byte
		for _, x := range users {
			row := make(map[string]string, len(columns))
			for _, column := range columns {
				row[column.name] = show(column.name, column.export(x))
			}
			object, err := json.Marshal(row)
			if err != nil {
				return err
			}
			text = append(append(text, between...), object...)
			between = ","
		}
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	if between == "," {
		between = ""
	}
	_, err = io.WriteString(w, between+"]}")
	return err
}
