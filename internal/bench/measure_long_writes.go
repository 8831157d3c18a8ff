package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// The budgets of what one tenant asks for that takes long: how long others may wait for SQLite's only writer, and a range of 10,000 numbers.
const (
	longestWait  = 200 * time.Millisecond
	longestRange = 2 * time.Second
)

// longWriteRows has one tenant import many users and make many numbers on SQLite, while another client changes a user without a pause.
func (b *bench) longWriteRows() (rows []row, err error) {
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.folder, "long-writes")
	n, err := b.startNode(release, data, "", "RINGFENCE_ADMIN_PASSWORD="+adminPassword)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	if err := n.answers("/readyz"); err != nil {
		return nil, err
	}
	admin, err := n.logIn("admin", adminPassword)
	if err != nil {
		return nil, err
	}
	w := &longWrites{node: n, token: admin, http: &http.Client{Transport: &http.Transport{TLSClientConfig: anyCertificate()}}}
	if _, err := w.send(http.MethodPost, "/contexts", "application/json", `{"label": "many", "user_ranges": [{"start": "100000", "end": "999999"}]}`); err != nil {
		return nil, err
	}
	if _, err := w.send(http.MethodPost, "/users", "application/json", `{"firstname": "Waiting"}`); err != nil {
		return nil, err
	}
	users := 20_000
	if b.quick {
		users = 2000
	}
	inside, err := contextOf(data)
	if err != nil {
		return nil, err
	}
	var file strings.Builder
	file.WriteString("firstname,context,exten,line_protocol\n")
	for i := range users {
		fmt.Fprintf(&file, "First%d,%s,%d,sip\n", i, inside, 100_000+i)
	}
	const numbers = `{"start_number": "+1555000000", "end_number": "+1555009999"}`
	for _, l := range []struct {
		what, path, kind, body string
		budget                 time.Duration
	}{
		{fmt.Sprintf("dry run of an import of %d users", users), "/users/import?dry_run=true", "text/csv", file.String(), 0},
		{fmt.Sprintf("import of %d users with a line and a number", users), "/users/import", "text/csv", file.String(), 0},
		{"range of 10,000 phone numbers", "/phone-numbers/ranges", "application/json", numbers, longestRange},
	} {
		took, waited, err := w.measure(l.path, l.kind, l.body)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", l.what, err)
		}
		one := row{what: l.what + ", SQLite", measured: millis(took)}
		if l.budget > 0 {
			one.budget, one.verdict = millis(l.budget), judge(took < l.budget)
		}
		rows = append(rows, one, row{
			what:     "a change of a user meanwhile: the longest, SQLite (wall clock)",
			measured: fmt.Sprintf("%s (median %s)", millis(percentile(waited, 100)), millis(median(waited))),
			budget:   millis(longestWait), verdict: judge(percentile(waited, 100) < longestWait),
		})
	}
	return rows, nil
}

// contextOf returns the name of the context that was made last.
func contextOf(data string) (string, error) {
	db, err := sqlite.OpenBeside(context.Background(), filepath.Join(data, "ringfence.db"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	return store.Get[string](context.Background(), db, `SELECT name FROM confd_context ORDER BY id DESC LIMIT 1`)
}

// longWrites are the clients of a gateway.
type longWrites struct {
	node  *node
	token string
	http  *http.Client
}

func (w *longWrites) send(method, path, kind, body string) (took time.Duration, err error) {
	r, err := http.NewRequestWithContext(context.Background(), method, "https://"+w.node.address()+"/api/confd/1.1"+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = http.Header{"Accept": {"application/json"}, "Content-Type": {kind}, "X-Auth-Token": {w.token}}
	began := time.Now()
	answer, err := w.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("answered %d: %.300s", answer.StatusCode, text)
	}
	return time.Since(began), err
}

// measure sends a request that takes long, and meanwhile changes of a user, one after the other.
func (w *longWrites) measure(path, kind, body string) (took time.Duration, waited []time.Duration, err error) {
	type result struct {
		took time.Duration
		err  error
	}
	done := make(chan result, 1)
	go func() {
		took, err := w.send(http.MethodPost, path, kind, body)
		done <- result{took, err}
	}()
	for i := 0; ; i++ {
		one, err := w.send(http.MethodPut, "/users/1", "application/json", fmt.Sprintf(`{"userfield": "%d"}`, i))
		if err != nil {
			return 0, nil, fmt.Errorf("a change meanwhile: %w", err)
		}
		waited = append(waited, one)
		select {
		case r := <-done:
			return r.took, waited, r.err
		default:
		}
	}
}
