package wazo_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/moving/wazo"
)

// sampleText is the sample as text.
func sampleText(t testing.TB) string {
	t.Helper()
	needsRestore(t)
	text, err := exec.CommandContext(t.Context(), "pg_restore", "--data-only", "-f", "-", sample).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func needsRestore(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("pg_restore"); err != nil {
		t.Skip("pg_restore, of PostgreSQL's programs, is missing")
	}
}

// compile imports a dump up to the backup.
func compile(t *testing.T, content []byte) (*wazo.Job, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	job := &wazo.Job{File: file}
	t.Cleanup(func() { _ = job.Close() })
	_, err := job.Make(t.Context())
	return job, err
}

func TestBadDumps(t *testing.T) {
	text := sampleText(t)
	archive, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, with string) []byte {
		if !strings.Contains(text, old) {
			t.Fatalf("the sample has no %q", old)
		}
		return []byte(strings.Replace(text, old, with, 1))
	}
	zipped := func(content []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(content)
		_ = w.Close()
		return b.Bytes()
	}
	for name, tt := range map[string]struct {
		dump []byte
		want string
	}{
		"nothing":            {nil, "neither a backup"},
		"another file":       {[]byte("hello\n"), "neither a backup"},
		"a cut archive":      {archive[:len(archive)/2], "damaged or cut"},
		"a cut zip":          {zipped([]byte(text))[:20_000], "unexpected EOF"},
		"text cut in a row":  {[]byte(text[:len(text)/2]), "ends in the middle"},
		"text without end":   {[]byte(text[:strings.Index(text, "-- PostgreSQL database dump complete")]), "ends in the middle"},
		"an unknown head":    {change("1e0ff683a94e", "5a9dbb6a2ed1"), `is "5a9dbb6a2ed1", which this program does not know; it knows 1e0ff683a94e (release 26.08)`},
		"an unknown auth":    {change("1c862ebfbb3a", "0000"), "it knows 1c862ebfbb3a"},
		"another column":     {change("COPY public.auth_user (uuid, username,", "COPY public.auth_user (uuid, login,"), "has no column username"},
		"a row too short":    {change("\tdefault\n", "\n"), "it has"},
		"a table twice":      {[]byte(strings.Replace(text, "COPY public.callfilter (", "COPY public.callerid (", 1)), "the table callerid twice"},
		"no table":           {change("COPY public.voicemail (", "COPY public.voicemails ("), "has no table voicemail"},
		"another database":   {[]byte("--\n-- PostgreSQL database dump\n--\nCOPY public.users (id) FROM stdin;\n1\n\\.\n-- PostgreSQL database dump complete\n"), "has no table"},
		"inserts":            {[]byte("-- PostgreSQL database dump\nINSERT INTO public.users VALUES (1);\n"), "without --inserts"},
		"no master":          {change("72776527-26ce-4c06-bf99-f75f8159e0f8\tmaster\tnative", "65042aeb-f802-4c02-b42e-6ede54f40f86\tmaster\tnative"), "must have one, the master tenant"},
		"a line without end": {[]byte(strings.Replace(text, "\tAlice\t", "\t"+strings.Repeat("x", 5<<20)+"\t", 1)), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compile(t, tt.dump)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "9qUnYHHbBgPbtzXM") {
				t.Error("the error has a password")
			}
		})
	}
}

// rows adds rows to a table of the sample.
func rows(t *testing.T, text, table string, lines ...string) string {
	t.Helper()
	at := strings.Index(text, "COPY public."+table+" (")
	if at < 0 {
		t.Fatalf("the sample has no table %s", table)
	}
	at += strings.Index(text[at:], "\n") + 1
	return text[:at] + strings.Join(lines, "\n") + "\n" + text[at:]
}

// What cannot be is left out and told; the rest is imported.
func TestHostileRows(t *testing.T) {
	const (
		a        = "00000000-0000-4000-8000-00000000000a"
		b        = "00000000-0000-4000-8000-00000000000b"
		alice    = "31f50e67-aeca-4867-abe6-813a7785b7d9"
		lyonDoes = "cce803c7-d6cb-4793-a943-86b3726bd312"
	)
	text := sampleText(t)
	// auth_tenant: uuid, name, phone, contact_uuid, parent_uuid, slug, default_authentication_method
	text = rows(t, text, "auth_tenant", a+"\tRing A\t\\N\t\\N\t"+b+"\tringa\tnative", b+"\tRing B\t\\N\t\\N\t"+a+"\tringb\tnative")
	// auth_policy: uuid, name, description, tenant_uuid, config_managed, slug, shared
	text = rows(t, text, "auth_policy",
		a+"\tstandardiste\t\\N\t"+fournier+"\tf\tother\tf", // is Standardiste in the form in which we compare
		b+"\t\\\\N\t\\N\t"+fournier+"\tf\tbackslash\tf")    // is no null
	text = rows(t, text, "auth_access", "900\tcalld.sw*.read", "901\t!confd.us*.read")
	text = rows(t, text, "auth_policy_access", a+"\t900", a+"\t901", a+"\t12345")
	text = rows(t, text, "auth_user_policy", lyonDoes+"\t"+a, lyonDoes+"\t"+b) // policies that Lyon does not see, of which the first denies
	// context: id, uuid, tenant_uuid, name, displayname, contexttype, commented, description
	text = rows(t, text, "context", "900\t"+a+"\t"+fournier+"\tevil\\n[general]\tx\tinternal\t0\t\\N")
	text = rows(t, text, "dialaction", "busy\tuser\t1\tuser\t99999\t", "answer\tincall\t99999\tuser\t1\t", "congestion\tuser\t1\tgroup\t4\t\\N",
		"noanswer\tuser\t1\tcustom\tSystem(x)\t\\N") // Alice has another one
	// queuemember: queue_name, interface, penalty, commented, usertype, userid, channel, category, position
	text = rows(t, text, "queuemember", "grp-gone\tLocal/1@x\t0\t0\tuser\t0\tLocal\tgroup\t1")
	job, err := compile(t, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	if err := job.Report.Print(&told); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the tenants above it do not lead to the master tenant (2)", ": Ring A",
		"a name that another policy of the tenant has", `standardiste: calld.sw*.read`,
		"the whole word is denied", "the user does not see the policy", "a policy that its tenant does not see, which stays, since it denies", "its name has control characters",
		"leads to what is not there", "leads to what is of another tenant", "its owner is not there", "another row has its key", "the group or the user is not there",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("nothing tells: %s", want)
		}
	}
	if t.Failed() {
		t.Log(told.String())
	}
	db, err := sqlite.OpenBeside(t.Context(), filepath.Join(job.Folder(), "ringfence.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, want := range map[string]int64{
		"SELECT count(*) FROM auth_tenant":                                                                         3,
		"SELECT count(*) FROM auth_policy WHERE name = '\\N'":                                                      1,
		"SELECT count(*) FROM auth_policy WHERE name LIKE 'standardiste " + a + "'":                                1,
		"SELECT count(*) FROM auth_policy_access WHERE policy_uuid = '" + a + "' AND access = '!confd.*.read'":     1,
		"SELECT count(*) FROM auth_policy_access WHERE policy_uuid = '" + a + "'":                                  1,
		"SELECT count(*) FROM auth_user_policy WHERE user_uuid = '" + lyonDoes + "' AND policy_uuid = '" + a + "'": 1,
		"SELECT count(*) FROM auth_user_policy WHERE user_uuid = '" + lyonDoes + "' AND policy_uuid = '" + b + "'": 0,
		"SELECT count(*) FROM confd_context WHERE id = 900":                                                        0,
		"SELECT count(*) FROM confd_destination WHERE of_user_id = 1 AND slot IN ('busy', 'congestion')":           0,
		"SELECT count(*) FROM confd_user WHERE uuid = '" + alice + "'":                                             1,
		"SELECT count(*) FROM confd_context WHERE tenant_uuid = '" + lyon + "'":                                    1,
	} {
		if n, err := store.Get[int64](t.Context(), db, query); err != nil || n != want {
			t.Errorf("%s: %d, want %d, %v", query, n, want, err)
		}
	}
}

// However many rows are wrong, the report is not longer than people and memory can bear, and has their number.
func TestManyWrongRows(t *testing.T) {
	text, many := sampleText(t), 3000
	at := strings.Index(text, "COPY public.extensions (") // id, commented, context, exten, type, typeval
	head, _, _ := strings.Cut(text[at:], "\n")
	gone, bad := strings.Builder{}, strings.Builder{}
	for i := range many {
		fmt.Fprintf(&gone, "%d\t0\tgone\t%d\tuser\t0\n", 1000+i, i)
		fmt.Fprintf(&bad, "00000000-0000-4000-8000-%012d\t%s\tcall me %d\t\\N\tf\tf\n", i, fournier, i)
	}
	if head != "COPY public.extensions (id, commented, context, exten, type, typeval) FROM stdin;" {
		t.Fatal(head)
	}
	text = rows(t, text, "extensions", strings.TrimSuffix(gone.String(), "\n"))
	text = rows(t, text, "phone_number", strings.TrimSuffix(bad.String(), "\n"))
	job, err := compile(t, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, l := range job.Report.Left {
		listed[l.Kind]++
	}
	for _, table := range job.Report.Tables {
		if name := table.Name; name == "extensions" || name == "phone_number" {
			if listed[name] < 1000 || listed[name] > 1001 || table.Left != int64(many) || table.Kept != table.Read-table.Left {
				t.Errorf("%d are listed of %+v", listed[name], table)
			}
		}
	}
}

// Much of one table is read as a stream, and its rows that are wrong cost no memory each.
func TestMuchOfOneTable(t *testing.T) {
	const many = 300_000
	text := sampleText(t)
	var wrong strings.Builder
	for i := range many { // auth_policy: uuid, name, description, tenant_uuid, config_managed, slug, shared
		fmt.Fprintf(&wrong, "%d\tPolicy\t%0300d\t%s\tf\tslug\tf\n", i, i, fournier)
	}
	file := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(file, []byte(rows(t, text, "auth_policy", strings.TrimSuffix(wrong.String(), "\n"))), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong.Reset()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	job := &wazo.Job{File: file}
	defer job.Close()
	if _, err := job.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
		t.Errorf("%d MB more of memory", grown>>20)
	}
	listed := 0
	for _, l := range job.Report.Left {
		if l.Kind == "auth_policy" {
			listed++
			if l.Of != many || l.Reason != "its uuid is no UUID" {
				t.Fatalf("%+v", l)
			}
		}
	}
	i := slices.IndexFunc(job.Report.Tables, func(of wazo.Table) bool { return of.Name == "auth_policy" })
	if listed != 1000 || job.Report.Tables[i].Left < many {
		t.Errorf("%d are listed of %+v", listed, job.Report.Tables[i])
	}
}

// A table with more rows than any company has is refused as soon as that is known.
func TestTooMuchOfOneTable(t *testing.T) {
	row := strings.Repeat("x", 1<<20) + "\n"
	endless := io.MultiReader(strings.NewReader("COPY public.extensions (id) FROM stdin;\n"), &repeated{text: row})
	var read int64
	err := wazo.ReadCopies(endless, func(string, []string) (wazo.RowsOfTable, error) {
		return func(row []*string) error { read += int64(len(*row[0])); return nil }, nil
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "more rows than any company has") || read > wazo.MaxTable {
		t.Errorf("%d bytes, %v", read, err)
	}
}

// repeated reads a text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(into []byte) (int, error) {
	n := copy(into, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// The same dump makes the same rows, whatever it came in.
func TestSameTwice(t *testing.T) {
	text := sampleText(t)
	archive, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	first, err := compile(t, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	second, err := compile(t, archive)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, first, second)
}

// With the key that is there already, the same dump makes the same backup, byte for byte, with what is sealed in it.
func TestSameBytes(t *testing.T) {
	needsRestore(t)
	data, backups := t.TempDir(), [2][]byte{}
	for i := range backups {
		job := &wazo.Job{File: sample, KeyFile: filepath.Join(data, "sealing-key")}
		t.Cleanup(func() { _ = job.Close() })
		file, err := job.Make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if backups[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(filepath.Join(job.Folder(), "sealing-key"))
		if err == nil { // as a restore does
			err = os.WriteFile(job.KeyFile, key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(backups[0], backups[1]) {
		t.Errorf("%d and %d bytes differ", len(backups[0]), len(backups[1]))
	}
}

// sameRows compares what two jobs have made.
func sameRows(t *testing.T, first, second *wazo.Job) {
	t.Helper()
	for _, table := range []string{"auth_user", "auth_policy_access", "auth_refresh_token", "confd_user", "confd_line", "confd_destination", "confd_func_key", "confd_sound"} {
		columns := "*"
		if table == "auth_refresh_token" {
			columns = "uuid, hex(digest), client_id"
		}
		rowsOf := func(job *wazo.Job) string {
			db, err := sqlite.OpenBeside(t.Context(), filepath.Join(job.Folder(), "ringfence.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			found, err := store.Select[string](t.Context(), db, "SELECT quote(group_concat(row)) FROM (SELECT json_array("+columnsOf(t, db, table, columns)+") AS row FROM "+table+" ORDER BY 1)")
			if err != nil {
				t.Fatal(err)
			}
			return found[0]
		}
		if rowsOf(first) != rowsOf(second) {
			t.Errorf("the rows of %s differ", table)
		}
	}
}

func columnsOf(t *testing.T, db store.Conn, table, columns string) string {
	t.Helper()
	if columns != "*" {
		return columns
	}
	names, err := store.Select[string](t.Context(), db, "SELECT name FROM pragma_table_xinfo('"+table+"') WHERE hidden = 0 ORDER BY cid")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	return strings.Join(names, ", ")
}
