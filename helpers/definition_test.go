package helpers_test

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The definition is the contract: a change of it must show in a review.
func TestGoldenDefinition(t *testing.T) {
	service, err := helpers.New(helpers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resttest.CheckDefinition(t, service.REST().Definition(), *update)
}

// Whatever is sent, nothing is an error of ours, and a refused request changes nothing: neither in the database nor in the folders.
func TestHostileRequests(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db, helpers.Options{Telephony: &system{db: db}})
		w.mailbox("ctx-a", "1001")
		w.keeping() // one backup is made as long as the test runs
		contents := storetest.Contents(t, db)
		id := w.exec("{}")
		resttest.Hostile{
			Client: w.inProcess("master", "#"), Params: map[string]string{"request_uuid": id, "job_uuid": jobUUID, "generation": "7", "backup": "a"},
			State: func() string {
				// What GET /commonconf_apply does with success is in the audit, and no refusal.
				rows := slices.DeleteFunc(settled(contents), func(row string) bool { return strings.Contains(row, "commonconf_apply") })
				return strings.Join(rows, "\n") + strings.Join(w.files(w.spool), "\n") + strings.Join(w.files(w.moh), "\n")
			},
		}.Run(t)
	})
}

// waitingState is in the audit's row of a request for commands that was accepted. PostgreSQL doubles the quotes.
var waitingState = regexp.MustCompile(`"+state"+:"+waiting"`)

// settled returns the rows of the database when the audit has what became of every accepted request for commands: it is written after
// the answer.
func settled(contents func() string) []string {
	for {
		rows := strings.Split(contents(), "\n")
		waiting := 0
		for _, row := range rows {
			switch {
			case !strings.Contains(row, "exec_request_handlers"):
			case waitingState.MatchString(row):
				waiting++
			default:
				waiting--
			}
		}
		if waiting == 0 {
			return rows
		}
	}
}
