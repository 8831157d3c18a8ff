package confdsvc

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// csvType is the media type of lists of users as spreadsheets read and write them (RFC 4180).
const csvType = "text/csv"

// csvUser is a user with what the columns of a CSV file say of them: of several lines the main one, of several numbers of it the first. No column
// says what a custom endpoint rings, so a line with one, or without an endpoint, is left out: nothing could make it again.
type csvUser struct {
	user      *User
	voicemail *Voicemail
	line      *Line
	endpoint  *EndpointSIP
}

// csvColumn is a column of the files.
type csvColumn struct {
	name string
	// part and attribute are where an import puts the cell in the body of POST /users, and jsonType what it makes of it: a text, unless it says
	// otherwise. Of columns without an attribute none is made as they are.
	part                csvPart
	attribute, jsonType string
	// export returns the cell for a user; columns without one are only imported.
	export func(x *csvUser) string
}

// csvPart is an object in the body of POST /users, by the path at which its attributes are.
type csvPart string

const (
	csvOfUser      csvPart = ""
	csvOfVoicemail csvPart = "voicemail."
	csvOfLine      csvPart = "lines[0]."
	csvOfExtension csvPart = "lines[0].extensions[0]."
)

// csvColumns are all columns, in the order of an export. Those of attributes are written, and read, as the schemas of these say.
var csvColumns = sync.OnceValue(func() []*csvColumn {
	user := csvAttributes("", csvOfUser, func(x *csvUser) *User { return x.user })
	voicemail := csvAttributes("voicemail_", csvOfVoicemail, func(x *csvUser) *Voicemail { return x.voicemail })
	line := csvAttributes("", csvOfLine, func(x *csvUser) *Line { return x.line })
	other := func(name string, export func(x *csvUser) string) []*csvColumn {
		return []*csvColumn{{name: name, export: export}}
	}
	return slices.Concat(
		other("uuid", func(x *csvUser) string { return x.user.UUID }),
		user("subscription_type", "firstname", "lastname", "email", "mobile_phone_number", "outgoing_caller_id", "language",
			"call_permission_password", "enabled", "ring_seconds", "simultaneous_calls", "supervision_enabled", "call_transfer_enabled",
			"dtmf_hangup_enabled", "call_record_outgoing_external_enabled", "call_record_outgoing_internal_enabled",
			"call_record_incoming_internal_enabled", "call_record_incoming_external_enabled", "online_call_record_enabled", "userfield"),
		voicemail("name", "number", "context", "password", "email", "attach_audio", "delete_messages", "ask_password"),
		other("line_protocol", (*csvUser).protocol),
		line("provisioning_code", "context"),
		other("sip_username", func(x *csvUser) string { return x.sipAuth("username") }),
		other("sip_secret", func(x *csvUser) string { return x.sipAuth("password") }),
		[]*csvColumn{{name: "exten", part: csvOfExtension, attribute: "exten", export: func(x *csvUser) string { return x.lineExtension().Exten }}},
		other("incall_exten", func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Exten }) }),
		other("incall_context", func(x *csvUser) string { return x.ofIncalls(func(e ExtensionRef) string { return e.Context }) }),
		other("call_permissions", (*csvUser).permissions),
		user("username"),
		[]*csvColumn{{name: "password", attribute: "password"}},
		other("incall_ring_seconds", nil),
	)
})

// csvAttributes returns what makes the columns of the attributes of a part, whose names begin with a text.
func csvAttributes[T any](name string, part csvPart, of func(x *csvUser) *T) func(attributes ...string) []*csvColumn {
	return func(attributes ...string) (out []*csvColumn) {
		for _, attribute := range attributes {
			p := rest.SchemaOf[T]().Property(attribute)
			out = append(out, &csvColumn{name + attribute, part, attribute, p.Schema.Type, func(x *csvUser) string {
				o := reflect.ValueOf(of(x))
				if o.IsNil() {
					return ""
				}
				return cell(o.Elem().FieldByIndex(p.Index()))
			}})
		}
		return out
	}
}

// permissions returns the names of the user's call permissions.
func (x *csvUser) permissions() string {
	var names []string
	for _, p := range x.user.CallPermissions {
		names = append(names, p.Name)
	}
	return strings.Join(names, csvSeparator)
}

// csvProtocols are what lines in the files speak.
var csvProtocols = []string{"sip", "webrtc"}

// protocol returns what the user's main line speaks.
func (x *csvUser) protocol() string {
	if x.line == nil {
		return ""
	}
	return csvProtocol(x.line)
}

// csvProtocol returns what a line speaks, in the words of the files; any other word is that of a line that they do not have.
func csvProtocol(l *Line) string {
	if l.IsWebRTC {
		return "webrtc"
	}
	return orEmpty(l.Protocol)
}

// sipAuth returns an option with which the user's telephone authenticates.
func (x *csvUser) sipAuth(option string) string {
	if x.endpoint == nil {
		return ""
	}
	value, _ := x.endpoint.Auth.last(option)
	return value
}

func (x *csvUser) lineExtension() ExtensionRef {
	if x.line == nil || len(x.user.Lines[0].Extensions) == 0 {
		return ExtensionRef{}
	}
	return x.user.Lines[0].Extensions[0]
}

// csvSeparator stands between the values of a cell that has several.
const csvSeparator = ";"

// ofIncalls returns something of each number by which incoming calls reach the user.
func (x *csvUser) ofIncalls(of func(ExtensionRef) string) string {
	var all []string
	for _, incall := range x.user.Incalls {
		for _, number := range incall.Extensions {
			all = append(all, of(number))
		}
	}
	return strings.Join(all, csvSeparator)
}

// cell writes a value: null as nothing, booleans as 0 and 1.
func cell(value reflect.Value) string {
	switch {
	case value.Kind() == reflect.Pointer && value.IsNil():
		return ""
	case value.Kind() == reflect.Pointer:
		return cell(value.Elem())
	case value.Kind() != reflect.Bool:
		return fmt.Sprint(value)
	case value.Bool():
		return "1"
	default:
		return "0"
	}
}

// csvFormula finds where a spreadsheet could begin to read a formula: at the beginning of a cell, and behind a character at which
// another spreadsheet would begin a cell, whatever spaces there are. Apostrophes before it are those that harmless added, and those
// that the text has itself. Japanese spreadsheets also read the wide signs.
var csvFormula = regexp.MustCompile("((?:^|[;\t\r\n])[\\p{Z}\\p{Cc}\\p{Cf}]*)('*)([=+@＝＋＠－-])")

// harmless returns the text of a cell that no spreadsheet takes for a formula: it has an apostrophe before each sign that could
// begin one. Telephone numbers with a plus get one too; else a spreadsheet would make numbers of them, without the plus.
func harmless(text string) string { return csvFormula.ReplaceAllString(text, "$1'$2$3") }

var csvHarmless = regexp.MustCompile("((?:^|[;\t\r\n])[\\p{Z}\\p{Cc}\\p{Cf}]*)'('*[=+@＝＋＠－-])")

// unharmed undoes harmless. In what harmless has not written, it takes an apostrophe away where harmless would have added one.
func unharmed(text string) string { return csvHarmless.ReplaceAllString(text, "$1$2") }

// csvRows reads the rows of a CSV file one by one.
type csvRows struct {
	reader *csv.Reader
	// columns are those of the file, in its order: nil for one that is ignored.
	columns []*csvColumn
	rows    int
	// broken says that the quotes are wrong, or that there are too many rows: what follows is not read.
	broken bool
}

// csvRow is a row of a CSV file: its cells, by column.
type csvRow struct {
	number int // 1 is the row after the names of the columns
	line   int
	cells  map[*csvColumn]string
	// typed are the cells that name contexts by their labels.
	typed map[*csvColumn]string
}

// longestRow is how many bytes a row may have.
const longestRow = 64 << 10

// newCSVRows reads the names of the columns. wrong says what is wrong with them.
func newCSVRows(r io.Reader) (rows *csvRows, wrong *apierr.Error, err error) {
	in := bufio.NewReader(r)
	mark, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}), bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		return nil, apierr.New(apierr.Invalid, "The file is in UTF-16; save it as CSV in UTF-8"), nil
	case string(mark) == "\ufeff":
		_, _ = in.Discard(len(mark))
	}
	rows = &csvRows{reader: csv.NewReader(in)}
	rows.reader.FieldsPerRecord = -1
	names, err := rows.reader.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, apierr.New(apierr.Invalid, "The file is empty; its first row must name the columns"), nil
	case err != nil:
		wrong, err := unreadableRow(err)
		return nil, wrong, err
	}
	return rows, rows.name(names), nil
}

// name reads the names of the columns.
func (r *csvRows) name(names []string) *apierr.Error {
	seen := map[string]bool{}
	for _, name := range names {
		folded := strings.ToLower(strings.TrimSpace(name))
		at := slices.IndexFunc(csvColumns(), func(c *csvColumn) bool { return c.name == folded })
		switch {
		case at < 0:
			r.columns = append(r.columns, nil)
			continue
		case name != folded:
			return apierr.InvalidField(folded, "case", "The column is named in another spelling; names are in lower case and without spaces")
		case seen[name]:
			return apierr.InvalidField(name, "duplicate", "Two columns have this name")
		}
		seen[name] = true
		r.columns = append(r.columns, csvColumns()[at])
	}
	if !seen["firstname"] {
		return apierr.InvalidField("firstname", "required", "No column has this name; the first row must name the columns, with commas between them")
	}
	return nil
}

// next returns the next row, and nil after the last. The error is a refusal of the row, or a failure to read the file.
func (r *csvRows) next() (*csvRow, error) {
	before := r.reader.InputOffset()
	cells, err := r.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	r.rows++
	row := &csvRow{number: r.rows}
	if err != nil {
		refusal, err := unreadableRow(err)
		if refusal == nil {
			return nil, err
		}
		if p := new(csv.ParseError); errors.As(refusal.Err, &p) {
			row.line = p.StartLine
		}
		r.broken = true
		return row, refusal
	}
	row.line, _ = r.reader.FieldPos(0)
	switch {
	case r.rows > maxImportedRows:
		r.broken = true
		return row, apierr.New(apierr.Invalid, "The file has more than %d rows; import it in parts", maxImportedRows)
	case r.reader.InputOffset()-before > longestRow:
		return row, apierr.New(apierr.Invalid, "The row has more than %d bytes", longestRow)
	case len(cells) != len(r.columns):
		return row, apierr.New(apierr.Invalid, "The row has %d cells, and the first row names %d columns", len(cells), len(r.columns))
	}
	row.cells = make(map[*csvColumn]string, len(cells))
	for i, column := range r.columns {
		if !utf8.ValidString(cells[i]) {
			return &csvRow{number: row.number, line: row.line}, apierr.New(apierr.Invalid, "The row is not in UTF-8")
		}
		if column != nil && cells[i] != "" {
			row.cells[column] = unharmed(cells[i])
		}
	}
	return row, nil
}

// unreadableRow returns the refusal of what is no CSV. Other errors are those of reading the body.
func unreadableRow(err error) (*apierr.Error, error) {
	p := new(csv.ParseError)
	if !errors.As(err, &p) {
		return nil, err
	}
	e := apierr.New(apierr.Invalid, "The quotes are wrong at line %d, column %d: a cell with quotes or commas stands between quotes, "+
		"and has each of its own quotes twice", p.Line, p.Column)
	e.Err = err
	return e, nil
}

// csvSecrets are the columns that no error repeats.
var csvSecrets = []string{"password", "sip_secret", "voicemail_password", "call_permission_password"}

// shown returns the cells as an error repeats them.
func (r *csvRow) shown() map[string]string {
	out := map[string]string{}
	for column, text := range r.cells {
		if !slices.Contains(csvSecrets, column.name) {
			out[column.name] = cmp.Or(r.typed[column], text)
		}
	}
	return out
}

// text returns the cell of a column, by its name.
func (r *csvRow) text(name string) string { return r.cells[columnNamed(name)] }

func columnNamed(name string) *csvColumn {
	return csvColumns()[slices.IndexFunc(csvColumns(), func(c *csvColumn) bool { return c.name == name })]
}

// texts returns the values of a cell that has several, by the name of its column.
func (r *csvRow) texts(name string) []string {
	text := r.text(name)
	if text == "" {
		return nil
	}
	values := strings.Split(text, csvSeparator)
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}

// csvContexts are the contexts of a tenant. A cell names one by its name, or by a label that no other has of those of its kind.
type csvContexts struct {
	labels map[string]string // by name
	// labelled are the names of those with a label, and of those of a type with a label.
	labelled map[[2]string][]string
}

// csvContextColumns are the columns that name contexts, each with the type that it names where several have a label.
var csvContextColumns = []struct{ name, kind string }{{"context", "internal"}, {"voicemail_context", "internal"}, {"incall_context", "incall"}}

// add adds a context.
func (x *csvContexts) add(name, label, kind string) {
	x.labels[name] = label
	for _, of := range []string{"", kind} {
		x.labelled[[2]string{of, label}] = append(x.labelled[[2]string{of, label}], name)
	}
}

// readCSVContexts reads the contexts of a tenant, with the labels that the caller may see.
func readCSVContexts(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string) (*csvContexts, error) {
	query, args := e.Visible(ctx, `SELECT c.name, coalesce((SELECT v.label FROM {confd_context} v WHERE v.id = c.id), c.name) AS label, c.type
		FROM confd_context c WHERE c.tenant_uuid = $1`, tenantUUID)
	contexts, err := store.Select[struct{ Name, Label, Type string }](ctx, c, query, args...)
	x := &csvContexts{labels: map[string]string{}, labelled: map[[2]string][]string{}}
	for _, one := range contexts {
		x.add(one.Name, one.Label, one.Type)
	}
	return x, err
}

// label returns a cell of a column with labels in the place of the names for which an import takes them.
func (x *csvContexts) label(column, cell string) string {
	for _, of := range csvContextColumns {
		if of.name != column {
			continue
		}
		names := strings.Split(cell, csvSeparator)
		for i, name := range names {
			label := x.labels[name]
			if meant, refused := x.named(column, of.kind, label); refused == nil && meant == name && !strings.Contains(label, csvSeparator) {
				names[i] = label
			}
		}
		return strings.Join(names, csvSeparator)
	}
	return cell
}

// named returns the name of the context that a column names.
func (x *csvContexts) named(column, kind, text string) (string, *apierr.Error) {
	if _, is := x.labels[text]; is {
		return text, nil
	}
	found := x.labelled[[2]string{"", text}]
	if of := x.labelled[[2]string{kind, text}]; len(found) > 1 && len(of) == 1 {
		found = of
	}
	switch len(found) {
	case 0:
		return "", crud.Missing(column, "Context", column, text)
	case 1:
		return found[0], nil
	default:
		return "", apierr.InvalidField(column, "ambiguous", "Several contexts have this label; name the one by its name")
	}
}

// nameContexts replaces labels by the names of the contexts that have them.
func (r *csvRow) nameContexts(contexts *csvContexts) *apierr.Error {
	for _, column := range csvContextColumns {
		texts := r.texts(column.name)
		for i, text := range texts {
			name, refused := contexts.named(column.name, column.kind, text)
			if refused != nil {
				return refused
			}
			texts[i] = name
		}
		if at := columnNamed(column.name); len(texts) > 0 {
			if r.typed == nil {
				r.typed = map[*csvColumn]string{}
			}
			r.typed[at], r.cells[at] = r.cells[at], strings.Join(texts, csvSeparator)
		}
	}
	return nil
}

// body returns the body of POST /users that says the same as the row. ring is how long an incoming call rings.
func (r *csvRow) body(templates map[string]*string) (body map[string]any, ring *float64, refused *apierr.Error) {
	parts := map[csvPart]map[string]any{csvOfUser: {}, csvOfVoicemail: {}, csvOfLine: {}, csvOfExtension: {}}
	var wrong []apierr.Field
	for _, column := range csvColumns() {
		text, there := r.cells[column]
		if !there || column.attribute == "" {
			continue
		}
		value, err := column.value(text)
		if err != nil {
			wrong = append(wrong, *err)
			continue
		}
		parts[column.part][column.attribute] = value
	}
	body = parts[csvOfUser]
	wrong = append(wrong, r.giveLine(parts[csvOfLine], templates)...)
	if extension := parts[csvOfExtension]; len(extension) > 0 {
		parts[csvOfLine]["extensions"] = []any{extension}
	}
	if line := parts[csvOfLine]; len(line) > 0 {
		body["lines"] = []any{line}
	}
	if voicemail := parts[csvOfVoicemail]; len(voicemail) > 0 {
		body["voicemail"] = voicemail
	}
	wrong = append(wrong, r.giveIncalls(body)...)
	ring, ringWrong := r.ring(body)
	wrong = append(wrong, ringWrong...)
	if len(wrong) > 0 {
		return nil, nil, &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	return body, ring, nil
}

// value reads a cell.
func (c *csvColumn) value(text string) (any, *apierr.Field) {
	switch c.jsonType {
	case "boolean":
		switch strings.ToLower(text) {
		case "0", "false":
			return false, nil
		case "1", "true":
			return true, nil
		}
		return nil, &apierr.Field{Name: c.name, Constraint: "type", Message: "Must be 0 or 1"}
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, &apierr.Field{Name: c.name, Constraint: "type", Value: "integer", Message: "Must be an integer"}
		}
		return json.Number(strconv.FormatInt(n, 10)), nil
	default:
		return text, nil
	}
}

// csvLineColumns are the columns that need a line: without any of them there is none, whatever it would speak.
var csvLineColumns = []string{"provisioning_code", "context", "sip_username", "sip_secret", "exten"}

// giveLine completes the user's line, with the endpoint that the protocol asks for. Credentials that the row does not have are random.
func (r *csvRow) giveLine(line map[string]any, templates map[string]*string) []apierr.Field {
	protocol := r.text("line_protocol")
	column := slices.IndexFunc(csvLineColumns, func(name string) bool { return r.text(name) != "" })
	switch {
	case column < 0 && (protocol == "" || slices.Contains(csvProtocols, protocol)):
		return nil
	case slices.Contains(csvProtocols, protocol):
	case protocol == "":
		return []apierr.Field{{Name: "line_protocol", Constraint: "depends", Message: "Is required beside " + csvLineColumns[column]}}
	default:
		message := "Must be one of " + strings.Join(csvProtocols, ", ")
		return []apierr.Field{{Name: "line_protocol", Constraint: "enum", Value: map[string]any{"choices": csvProtocols}, Message: message}}
	}
	username, secret := cmp.Or(r.text("sip_username"), randomSection()), cmp.Or(r.text("sip_secret"), randomPassword())
	// A telephone finds its endpoint by its username, so both have one name.
	endpoint := map[string]any{"name": username, "auth_section_options": []any{[]any{"username", username}, []any{"password", secret}}}
	if template := templates[protocol]; template != nil {
		endpoint["templates"] = []any{map[string]any{"uuid": *template}}
	}
	line["endpoint_sip"] = endpoint
	return nil
}

// giveIncalls makes an incall of each number by which incoming calls reach the user. Their contexts are as many, or one for all.
func (r *csvRow) giveIncalls(body map[string]any) []apierr.Field {
	extens, contexts := r.texts("incall_exten"), r.texts("incall_context")
	if len(contexts) > 1 && len(contexts) != len(extens) {
		return []apierr.Field{{Name: "incall_context", Constraint: "depends", Message: "Must be one, or as many as there are in incall_exten"}}
	}
	var incalls []any
	for i := range max(len(extens), len(contexts)) {
		extension := map[string]any{}
		if len(extens) > 0 {
			extension["exten"] = extens[i]
		}
		if len(contexts) > 0 {
			extension["context"] = contexts[min(i, len(contexts)-1)]
		}
		incalls = append(incalls, map[string]any{"extensions": []any{extension}})
	}
	if len(incalls) > 0 {
		body["incalls"] = incalls
	}
	return nil
}

// csvShared is an object that several users may share: the user's attribute for it, the columns that identify it, and those that describe it.
// The rows of all these users have all the columns, and an import makes the object for the first of them.
type csvShared struct {
	part           string
	key, describes []string
}

var csvShareds = []csvShared{
	{"voicemail", []string{"voicemail_number", "voicemail_context"}, []string{
		"voicemail_name", "voicemail_password", "voicemail_email", "voicemail_attach_audio", "voicemail_delete_messages", "voicemail_ask_password",
	}},
	{"lines", []string{"provisioning_code"}, []string{"line_protocol", "context", "sip_username", "sip_secret", "exten"}},
}

// csvSharing knows the first row of each voicemail and each line of a file.
type csvSharing map[string]csvFirst

// csvFirst is such a row, and its place among those that are written.
type csvFirst struct {
	row *csvRow
	at  int
}

// take returns the places of the rows before this one that have the same voicemail or line. It refuses a row that describes it differently.
func (s csvSharing) take(row *csvRow, at int) (map[string]int, *apierr.Error) {
	shares := map[string]int{}
	for _, shared := range csvShareds {
		key := shared.part
		for _, name := range shared.key {
			if row.text(name) == "" {
				key = ""
				break
			}
			key += "\x00" + row.text(name)
		}
		first, there := s[key]
		switch {
		case key == "":
			continue
		case !there:
			s[key] = csvFirst{row, at}
			continue
		}
		for _, name := range shared.describes {
			if row.text(name) != first.row.text(name) {
				return nil, apierr.InvalidField(name, "conflict", "Must be as in row %d, which has the same %s", first.row.number, strings.Join(shared.key, " and "))
			}
		}
		shares[shared.part] = first.at
	}
	return shares, nil
}

// ring reads how long an incoming call rings.
func (r *csvRow) ring(body map[string]any) (*float64, []apierr.Field) {
	text := r.text("incall_ring_seconds")
	if text == "" {
		return nil, nil
	}
	refuse := func(message string) (*float64, []apierr.Field) {
		return nil, []apierr.Field{{Name: "incall_ring_seconds", Constraint: "type", Message: message}}
	}
	seconds, err := strconv.ParseUint(text, 10, 31)
	switch {
	case err != nil:
		return refuse("Must be an integer, 0 or more")
	case body["incalls"] == nil:
		return refuse("Needs incall_exten")
	}
	n := float64(seconds)
	return &n, nil
}

// csvColumnOf returns the name of the column from which the attribute at a path was made, or the path.
func csvColumnOf(path string) string {
	const auth = "lines[0].endpoint_sip.auth_section_options"
	switch {
	case strings.HasPrefix(path, auth+"[1]"):
		return "sip_secret"
	case strings.HasPrefix(path, auth), path == "lines[0].endpoint_sip.name":
		return "sip_username"
	case strings.HasPrefix(path, "incalls[") && strings.HasSuffix(path, ".exten"):
		return "incall_exten"
	case strings.HasPrefix(path, "incalls[") && strings.HasSuffix(path, ".context"):
		return "incall_context"
	}
	for _, column := range csvColumns() {
		if column.attribute != "" && string(column.part)+column.attribute == path {
			return column.name
		}
	}
	return path
}
