package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
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
