package wazo_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/moving/wazo"
	"github.com/ringfence/ringfence/moving/wazo/manyusers"
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
			if err := errors.Join(manyusers.Write(out, sampleText(b), size.users), out.Close()); err != nil {
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
