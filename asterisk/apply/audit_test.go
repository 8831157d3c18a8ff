package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The audit has what became of each job that makes files, and a job is only there if its request is in the audit too.
func TestJobsAreAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plant(t, db)
		n := start(t, db, nil, false)
		job := do(t, n)
		if err := n.Generate(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		n.store("extensions.conf", "[internal]\ninclude = gone\n")
		wantState(t, do(t, n), jobs.Failed, "gone")
		rows, err := store.Select[string](t.Context(), db, `SELECT CAST(tenant_uuid AS text) || ' ' || service || ' ' || action || ' ' || resource || ' ' || after FROM audit ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(rows, "\n"), strings.Join([]string{
			master + ` sysconfd apply apply {"generation":1,"state":"done"}`,
			master + ` sysconfd generate apply {"generation":1,"state":"done"}`,
			master + ` sysconfd apply apply {"generation":0,"state":"failed"}`,
		}, "\n"); got != want {
			t.Errorf("the audit:\n%s\nwant:\n%s", got, want)
		}
		if object, err := store.Get[string](t.Context(), db, `SELECT object FROM audit ORDER BY id LIMIT 1`); err != nil || object != job.UUID {
			t.Errorf("%q, %v", object, err)
		}
		n.stop()
		refused := errors.New("the audit cannot be written")
		asked := func(context.Context, store.Conn, string) error { return refused }
		if _, err := n.Apply(t.Context(), jobs.Options{Asked: asked}); !errors.Is(err, refused) {
			t.Errorf("Apply: %v", err)
		}
		if waiting, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_job WHERE state = 'waiting'`); err != nil || waiting != 0 {
			t.Errorf("%d jobs wait, %v", waiting, err)
		}
	})
}
