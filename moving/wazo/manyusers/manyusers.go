// Package manyusers makes the dump of a large company of the dump of a small one, for tests and benchmarks.
package manyusers

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

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

// Write writes the rows of a small company, and of so many people more, each with an account, a line, a number and a voicemail.
func Write(w io.Writer, small string, people int) error {
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
