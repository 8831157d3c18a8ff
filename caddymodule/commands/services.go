package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
)

// Services are those on a database that this process has open. As a handler they serve the operator of the machine, who may do everything in
// them, and may let users in again: who hands a request to it has made sure that it comes from there.
type Services struct {
	DB    store.DB
	Auth  *authsvc.Service
	Confd *rest.Service
}

// NewServices describes the services on a database, as a gateway does. Auth must be closed.
func NewServices(db store.DB) (s Services, err error) {
	s.DB = db
	if s.Auth, err = authsvc.New(authsvc.Options{DB: db, Contents: confdsvc.ContentsOf(db, nil), People: confdsvc.People}); err != nil {
		return s, fmt.Errorf("describing the authentication service: %w", err)
	}
	if s.Confd, err = confdsvc.New(confdsvc.Options{DB: db, Installation: s.Auth.Installation, Logins: s.Auth}); err != nil {
		s.Auth.Close()
		return s, fmt.Errorf("describing the configuration service: %w", err)
	}
	s.Auth.Audits(s.Confd)
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s Services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := local.Caller(r.Context(), s.DB, "#")
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	r = r.WithContext(principal.NewContext(r.Context(), caller))
	switch {
	case r.URL.Path == operator.RecoverPath:
		serveRecovery(w, r, s.Auth.Recover)
	case r.URL.Path == operator.AnswerForPath:
		serveRecovery(w, r, s.Auth.AnswerFor)
	case strings.HasPrefix(r.URL.Path, s.Confd.Prefix+"/"):
		s.Confd.ServeHTTP(w, r)
	default:
		s.Auth.REST().ServeHTTP(w, r)
	}
}

// maxRecovery is the longest body of a recovery, in bytes.
const maxRecovery = 16 << 10

// serveRecovery does what the body of a POST says, and answers with what was done.
func serveRecovery[B, R any](w http.ResponseWriter, r *http.Request, do func(ctx context.Context, what B) (R, error)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, errors.New("users are let in by POST"))
		return
	}
	var what B
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRecovery))
	body.DisallowUnknownFields()
	if err := body.Decode(&what); err != nil {
		refuse(w, http.StatusBadRequest, errors.New("the body says which user, and what else the command takes"))
		return
	}
	done, err := do(r.Context(), what)
	if err != nil {
		refuse(w, statusOfRecovery(err), err)
		return
	}
	say(w, http.StatusOK, done)
}

func statusOfRecovery(err error) int {
	switch refused := apierr.As(err); {
	case refused != nil:
		return refused.Status()
	case errors.Is(err, authsvc.ErrNoSuchUser):
		return http.StatusNotFound
	case errors.Is(err, authsvc.ErrNotMaster):
		return http.StatusConflict
	case errors.Is(err, store.ErrUnavailable):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// refuse says why, as Caddy's admin API does.
func refuse(w http.ResponseWriter, status int, why error) {
	say(w, status, map[string]string{"error": why.Error()})
}

func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone otherwise
}

// place is where a gateway keeps its things, for the commands that work without it.
type place struct{ data, database string }

func addPlaceFlags(cmd *cobra.Command) {
	cmd.Flags().String("data", "", "The data folder (default: $RINGFENCE_DATA, else ./data)")
	cmd.Flags().String("database", "", "The database's address (default: $RINGFENCE_DATABASE, else ringfence.db in the data folder)")
}

// placeOf returns what the flags and the environment name.
func placeOf(cmd *cobra.Command) place {
	data := cmp.Or(flagOf(cmd, "data"), os.Getenv("RINGFENCE_DATA"), "data")
	return place{data, cmp.Or(flagOf(cmd, "database"), os.Getenv("RINGFENCE_DATABASE"), open.SQLiteScheme+filepath.Join(data, "ringfence.db"))}
}

const openTimeout = 2 * time.Minute

// openExisting opens a database, which must be one that a gateway has created.
func openExisting(ctx context.Context, address string) (db store.DB, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if path, ok := strings.CutPrefix(address, open.SQLiteScheme); ok {
		if _, err := os.Stat(path); err != nil { // opening it would make it
			if errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("only the user that the gateway runs as can open its database; run this as that user: %w", err)
			}
			return nil, fmt.Errorf("there is no database to change, name another with --data or --database: %w", err)
		}
	}
	if db, err = open.Open(ctx, address); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	schema := db.(store.Migrator)
	version, err := schema.Version(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("reading the database's version: %w", err)
	case version == 0:
		err = errors.New("no gateway has ever used this database; name another with --data or --database")
	default:
		if err = schema.Migrate(ctx); err != nil { // as a gateway of this version would when it starts
			err = fmt.Errorf("bringing the database to this version's schema: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// progressOn returns a function that draws how much is done on a terminal, and writes nothing elsewhere.
func progressOn[N int | int64](w io.Writer, what string) func(done, of N) {
	if !isTerminal(w) {
		return func(N, N) {}
	}
	const width = 40
	return func(done, of N) {
		bar := int(done * width / max(of, 1))
		fmt.Fprintf(w, "\r[%s%s] %d of %d %s", strings.Repeat("#", bar), strings.Repeat(" ", width-bar), done, of, what)
		if done == of {
			fmt.Fprintln(w)
		}
	}
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
