package confdsvc_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// While others create users, an import makes all of its own or none, nothing fails, and no number is given twice.
func TestImportBesideOtherWriters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "a"))
		const rows, writers, each = 40, 3, 8
		var file strings.Builder
		file.WriteString("firstname,line_protocol,context,exten,voicemail_name,voicemail_number,voicemail_context\n")
		for i := range rows {
			fmt.Fprintf(&file, "Imported,sip,%s,%d,Box,%d,%[1]s\n", c.in, 1000+i, 1000+i)
		}
		var all sync.WaitGroup
		var answers [2]answer
		for i := range answers { // both want the same numbers
			all.Go(func() { answers[i] = importUsers(c.Client, file.String()) })
		}
		var created sync.Map
		for n := range writers {
			all.Go(func() {
				for i := range each {
					number := fmt.Sprint(1500 + 100*n + i)
					if i%4 == 0 { // a number that the imports want too
						number = fmt.Sprint(1000 + 10*n + i)
					}
					body := c.user(number)
					body["firstname"] = "Typed"
					got := c.Do(http.MethodPost, "/users", body)
					if got.Status == http.StatusCreated {
						created.Store(number, true)
					} else if got.Status != http.StatusBadRequest && got.Status != http.StatusConflict && got.Status != http.StatusServiceUnavailable {
						t.Errorf("POST /users: %d %s", got.Status, got.Body)
					}
				}
			})
		}
		all.Wait()
		done := 0
		for _, got := range answers {
			switch got.Status {
			case http.StatusCreated:
				done += len(imported(got))
			case http.StatusBadRequest, http.StatusConflict, http.StatusServiceUnavailable:
			default:
				t.Errorf("import: %d %s", got.Status, got.Body)
			}
		}
		if done != 0 && done != rows {
			t.Errorf("%d rows were imported, want 0 or %d", done, rows)
		}
		typed := 0
		created.Range(func(any, any) bool { typed++; return true })
		if got := c.Get("/users?firstname=Imported").List().Total; got != done {
			t.Errorf("%d imported users, want %d", got, done)
		}
		if got := c.Get("/users?firstname=Typed").List().Total; got != typed {
			t.Errorf("%d created users, want %d", got, typed)
		}
		for table, column := range map[string]string{"confd_extension": "exten", "confd_voicemail": "number"} {
			twice, err := store.Select[string](t.Context(), db, "SELECT "+column+" FROM "+table+" GROUP BY "+column+", context HAVING count(*) > 1")
			if err != nil || len(twice) > 0 {
				t.Errorf("%s has twice %v: %v", table, twice, err)
			}
		}
		shared, err := store.Select[int64](t.Context(), db, "SELECT extension_id FROM confd_line_extension GROUP BY extension_id HAVING count(*) > 1")
		if err != nil || len(shared) > 0 {
			t.Errorf("%v ring several lines: %v", shared, err)
		}
	})
}

// A node reads two files at once. A third import is told to come back, and is taken when one has ended.
func TestImportsAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		var files []*io.PipeWriter
		answers := make(chan answer, 2)
		for range 2 {
			r, w := io.Pipe()
			files = append(files, w)
			go func() {
				answers <- importUsers(c, "", func(h *http.Request) { h.Body, h.ContentLength = r, -1 })
			}()
			if _, err := io.WriteString(w, "firstname\n"); err != nil { // it returns when the import reads, and so has begun
				t.Fatal(err)
			}
		}
		third := importUsers(c, "firstname\nAl\n").Want(http.StatusTooManyRequests)
		if third.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		importUsers(c, "firstname\nAl\n", resttest.Query("dry_run", "true")).Want(http.StatusTooManyRequests)
		for _, file := range files {
			if _, err := io.WriteString(file, "Bo\n"); err != nil {
				t.Fatal(err)
			}
			_ = file.Close() // it never fails
			(<-answers).Want(http.StatusCreated)
		}
		importUsers(c, "firstname\nAl\n").Want(http.StatusCreated)
		if l := c.Get("/users").List(); l.Total != 3 {
			t.Errorf("%d users", l.Total)
		}
	})
}
