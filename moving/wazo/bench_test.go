package wazo_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/moving/wazo"
)

// BenchmarkImport imports the dump of a large company, up to the first answer. peak-MB is the most memory that the process has had.
func BenchmarkImport(b *testing.B) {
	for _, size := range []struct {
		engine string
		users  int
	}{{"sqlite", 10_000}, {"postgres", 100_000}} {
		b.Run(size.engine+"/"+strconv.Itoa(size.users), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "dump.sql")
			out, err := os.Create(file)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(writeDump(out, sampleText(b), size.users), out.Close()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				data := b.TempDir()
				o := backup.Options{Data: data, Database: open.SQLiteScheme + filepath.Join(data, "ringfence.db")}
				if size.engine == "postgres" {
					o.Database = storetest.NewDatabase(b, storetest.Server(b), true)
				}
				firstAnswer(b, file, o, size.users)
			}
			b.ReportMetric(peak(b), "peak-MB")
		})
	}
}

func firstAnswer(b *testing.B, file string, o backup.Options, users int) {
	b.Helper()
	job := &wazo.Job{File: file}
	defer job.Close()
	made, err := job.Make(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	f, err := backup.Open(b.Context(), made)
	if err != nil {
		b.Fatal(err)
	}
	_, err = f.Restore(b.Context(), o, false)
	if err := errors.Join(err, f.Close()); err != nil {
		b.Fatal(err)
	}
	db, err := open.Open(b.Context(), o.Database)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	confd, err := confdsvc.New(confdsvc.Options{DB: db})
	if err != nil {
		b.Fatal(err)
	}
	me, err := local.Caller(b.Context(), db, "#")
	if err != nil {
		b.Fatal(err)
	}
	var list struct{ Total int }
	if err := local.Call(b.Context(), confd, me, fournier, http.MethodGet, "/users?limit=10", nil, &list); err != nil || list.Total != users+30 {
		b.Fatalf("%d users, %v", list.Total, err)
	}
}

// peak returns the most memory that this process has had, in MB; 0 where the system does not say.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0
	}
	return n / 1024
}

// first is the number of the first person that is added: that of their rows in each table.
const first = 100_000

// person are the rows of one person: tables, and columns and values in turn, in which %[1]d is the person's number. The other columns are those of
// the first row of the table that has Like in a column.
var person = []struct {
	table, column, like string
	values              []string
}{
	{"auth_user", "username", "alice.martin", []string{"uuid", "00000000-0000-4000-8001-%012[1]d", "username", "person%[1]d"}},
	{"auth_email", "address", "alice.martin@fournier.example", []string{
		"uuid", "00000000-0000-4000-8002-%012[1]d", "address", "person%[1]d@fournier.example", "user_uuid", "00000000-0000-4000-8001-%012[1]d",
	}},
	{"userfeatures", "id", "1", []string{
		"id", "%[1]d", "uuid", "00000000-0000-4000-8001-%012[1]d", "email", "person%[1]d@fournier.example", "firstname", "Person", "lastname", "Number %[1]d",
		"voicemailid", "%[1]d", "func_key_private_template_id", "%[1]d", "loginclient", "",
	}},
	{"func_key_template", "id", "2", []string{"id", "%[1]d"}},
	{"voicemail", "uniqueid", "1", []string{"uniqueid", "%[1]d", "mailbox", "%[1]d", "fullname", "Number %[1]d"}},
	{"endpoint_sip", "name", "fakgg4ny", []string{"uuid", "00000000-0000-4000-8003-%012[1]d", "name", "p%[1]d"}},
	{"endpoint_sip_section", "uuid", "7fb083eb-02c2-4fe6-8ef4-c51ae32ac3dc", []string{
		"uuid", "00000000-0000-4000-8004-%012[1]d", "endpoint_sip_uuid", "00000000-0000-4000-8003-%012[1]d",
	}},
	{"endpoint_sip_section", "uuid", "7c604e38-d872-4859-bb8e-cccb8cac04a5", []string{
		"uuid", "00000000-0000-4000-8005-%012[1]d", "endpoint_sip_uuid", "00000000-0000-4000-8003-%012[1]d",
	}},
	{"endpoint_sip_section_option", "value", "fakgg4ny", []string{
		"uuid", "00000000-0000-4000-8006-%012[1]d", "value", "p%[1]d", "endpoint_sip_section_uuid", "00000000-0000-4000-8004-%012[1]d",
	}},
	{"endpoint_sip_section_option", "value", "fakgg4ny", []string{
		"uuid", "00000000-0000-4000-8007-%012[1]d", "key", "password", "value", "secret%[1]d", "endpoint_sip_section_uuid", "00000000-0000-4000-8004-%012[1]d",
	}},
	{"endpoint_sip_section_option", "value", "fakgg4ny", []string{
		"uuid", "00000000-0000-4000-8008-%012[1]d", "key", "callerid", "value", `"Number %[1]d" <%[1]d>`,
		"endpoint_sip_section_uuid", "00000000-0000-4000-8005-%012[1]d",
	}},
	{"endpoint_sip_template", "child_uuid", "b535f7e6-4044-4eb4-acac-5645680162a5", []string{"child_uuid", "00000000-0000-4000-8003-%012[1]d"}},
	{"linefeatures", "id", "1", []string{
		"id", "%[1]d", "name", "p%[1]d", "number", "%[1]d", "provisioningid", "%[1]d", "endpoint_sip_uuid", "00000000-0000-4000-8003-%012[1]d",
	}},
	{"extensions", "id", "1", []string{"id", "%[1]d", "exten", "%[1]d", "typeval", "%[1]d"}},
	{"user_line", "user_id", "1", []string{"user_id", "%[1]d", "line_id", "%[1]d"}},
	{"line_extension", "line_id", "1", []string{"line_id", "%[1]d", "extension_id", "%[1]d"}},
	{"dialaction", "categoryval", "1", []string{
		"event", "busy", "category", "user", "categoryval", "%[1]d", "action", "voicemail", "actionarg1", "%[1]d", "actionarg2", "b",
	}},
	{"auth_user_group", "user_uuid", "31f50e67-aeca-4867-abe6-813a7785b7d9", []string{"user_uuid", "00000000-0000-4000-8001-%012[1]d"}},
}

// writeDump writes the rows of a small company, and of so many people more, each with an account, a line, a number and a voicemail.
func writeDump(w io.Writer, small string, people int) error {
	out := bufio.NewWriterSize(w, 1<<20)
	table, columns, rows := "", []string(nil), [][]string(nil)
	for line := range strings.Lines(small) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, "COPY public."); ok {
			name, list, _ := strings.Cut(strings.TrimSuffix(head, ") FROM stdin;"), " (")
			table, columns, rows = name, strings.Split(strings.ReplaceAll(list, `"`, ""), ", "), nil
		} else if line == `\.` && table != "" {
			if err := more(out, table, columns, rows, people); err != nil {
				return err
			}
			table = ""
		} else if table != "" {
			rows = append(rows, strings.Split(line, "\t"))
		}
		if _, err := out.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return out.Flush()
}

// more writes the rows of people.
func more(out io.Writer, table string, columns []string, rows [][]string, people int) error {
	for _, p := range person {
		if p.table != table {
			continue
		}
		at := slices.IndexFunc(rows, func(row []string) bool { return row[slices.Index(columns, p.column)] == p.like })
		if at < 0 {
			return fmt.Errorf("%s has no row with %s %s", table, p.column, p.like)
		}
		row := slices.Clone(rows[at])
		for pair := range slices.Chunk(p.values, 2) {
			row[slices.Index(columns, pair[0])] = pair[1]
		}
		for i, value := range row { // what is no pattern is written as it is
			if !slices.Contains(p.values, value) {
				row[i] = strings.ReplaceAll(value, "%", "%%")
			}
		}
		pattern := strings.Join(row, "\t") + "\n"
		counted := strings.Contains(pattern, "%[1]d") || strings.Contains(pattern, "%012[1]d")
		for n := first; counted && n < first+people; n++ {
			if _, err := fmt.Fprintf(out, pattern, n); err != nil {
				return err
			}
		}
	}
	return nil
}
