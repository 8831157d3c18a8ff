package authsvc

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Node is what the overview says of the node that answers.
type Node struct {
	Version   string
	StartedAt time.Time
	// Certificate is the self-signed certificate that the node serves; nil if it serves none.
	Certificate *Certificate
}

// Certificate is a self-signed certificate, to compare with what a client sees.
type Certificate struct {
	Names    []string  `json:"names" doc:"The names and addresses that it is for."`
	NotAfter time.Time `json:"not_after" doc:"The end of its validity. It is renewed before, with the same key."`
	SHA256   string    `json:"sha256" example:"9F:86:D0:81:88:4C:7D:65:9A:2F:EA:A0:C5:5A:D0:15:A3:BF:4F:1B:2B:0B:82:2C:D1:5D:6C:15:B0:F0:0A:08"`
}

// UseNode sets the function that describes this node.
func (s *Service) UseNode(f func() Node) { s.node.Store(&f) }

// recent counts what this node has decided in the last hour. It is safe for concurrent use, and nobody waits for anybody.
type recent struct {
	succeeded, refused minutes
	denials            sync.Map // by reason: *minutes
	// logins are all logins since the start.
	logins struct{ succeeded, refused, throttled atomic.Uint64 }
}

// Logins are the logins that this node has decided since it started. Throttled ones were refused without a look at the password.
type Logins struct{ Succeeded, Refused, Throttled uint64 }

// Logins returns how many logins this node has decided.
func (s *Service) Logins() Logins {
	l := &s.recent.logins
	return Logins{l.succeeded.Load(), l.refused.Load(), l.throttled.Load()}
}

// LiveSessions returns the number of the sessions that have not expired, of all tenants and nodes.
func (s *Service) LiveSessions(ctx context.Context) (int, error) {
	return store.Get[int](ctx, s.db, `SELECT count(*) FROM auth_token WHERE expires_at > now_utc()`)
}

// Denied counts a request that a gate of this node has refused. The reason is one of few.
func (s *Service) Denied(reason string) {
	counts, ok := s.recent.denials.Load(reason)
	if !ok {
		counts, _ = s.recent.denials.LoadOrStore(reason, new(minutes))
	}
	counts.(*minutes).add(time.Now())
}

// countingLogins counts the logins that handle lets in, and those that it refuses. What is no login at all, and what the node could
// not decide, is neither.
func (s *Service) countingLogins(handle rest.Handler) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		reply, err := handle(ctx, r)
		refusal := apierr.As(err)
		switch {
		case err == nil:
			s.recent.succeeded.add(time.Now())
			s.recent.logins.succeeded.Add(1)
		case refusal != nil && refusal.Kind == apierr.TooMany:
			s.recent.refused.add(time.Now())
			s.recent.logins.throttled.Add(1)
		case refusal != nil && refusal.Kind == apierr.Unauthorized:
			s.recent.refused.add(time.Now())
			s.recent.logins.refused.Add(1)
		}
		return reply, err
	}
}

type overviewAnswer struct {
	Version     string           `json:"version" doc:"The gateway's version." example:"1.4.0"`
	StartedAt   time.Time        `json:"started_at" doc:"When the node was started."`
	Database    string           `json:"database" enum:"SQLite,PostgreSQL" doc:"The database that the node uses."`
	Sessions    int              `json:"sessions" doc:"Live sessions, of all tenants."`
	Certificate *Certificate     `json:"certificate" doc:"The self-signed certificate that is served; null if there is none."`
	Logins      []loginMinute    `json:"logins" doc:"One entry for each of the last 60 minutes, the oldest first."`
	Denials     map[string][]int `json:"denials" doc:"Requests that the gates have refused, by reason: one number for each minute, as in logins."`
}

type loginMinute struct {
	At        time.Time `json:"at" doc:"The beginning of the minute."`
	Succeeded int       `json:"succeeded" doc:"How many logins succeeded."`
	Refused   int       `json:"refused" doc:"How many logins were refused."`
}

func (s *Service) overviewOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodGet, Path: "/overview", Access: "auth.overview.read", ID: "read_overview", Tag: "status",
		Summary: "How is the node that answers, and what has it decided in the last hour?",
		Description: "For users of the master tenant. The counts are of this node alone, since it started; a reload of its configuration keeps " +
			"them. A reason for a denial is listed from its first time on.",
		Success: http.StatusOK, Reply: rest.SchemaOf[overviewAnswer](), Master: rest.FromMaster, Handle: s.readOverview,
	}}
}

func (s *Service) readOverview(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if err := s.masterOnly(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	f := s.node.Load()
	if f == nil {
		return rest.Reply{}, apierr.New(apierr.Unavailable, "Nothing is known of this node yet")
	}
	sessions, err := s.LiveSessions(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	node, now := (*f)(), time.Now().UTC()
	answer := overviewAnswer{
		Version: node.Version, StartedAt: node.StartedAt.UTC().Truncate(time.Second), Database: "SQLite", Sessions: sessions,
		Certificate: node.Certificate, Denials: map[string][]int{},
	}
	if s.db.Engine() == "postgres" {
		answer.Database = "PostgreSQL"
	}
	oldest := now.Truncate(time.Minute).Add(-(shownMinutes - 1) * time.Minute)
	succeeded, refused := s.recent.succeeded.last(now), s.recent.refused.last(now)
	for i := range succeeded {
		answer.Logins = append(answer.Logins, loginMinute{oldest.Add(time.Duration(i) * time.Minute), succeeded[i], refused[i]})
	}
	s.recent.denials.Range(func(reason, counts any) bool {
		answer.Denials[reason.(string)] = counts.(*minutes).last(now)
		return true
	})
	return rest.Reply{Body: answer}, nil
}

const shownMinutes = 60

// minutes counts events by the minute, for the last hour. A slot holds the number of its minute since 1970 in its upper half, and
// the count in its lower half, so that one atomic step counts or begins a new minute.
type minutes struct{ slots [shownMinutes]atomic.Uint64 }

func (m *minutes) add(now time.Time) {
	minute := minuteOf(now)
	slot := &m.slots[minute%shownMinutes]
	for {
		old := slot.Load()
		next := old + 1
		if old>>32 != minute {
			next = minute<<32 | 1
		}
		if slot.CompareAndSwap(old, next) {
			return
		}
	}
}

// last returns the counts of the last minutes, the oldest first; the last one is of the minute that has begun.
func (m *minutes) last(now time.Time) []int {
	counts := make([]int, shownMinutes)
	newest := minuteOf(now)
	for i := range counts {
		minute := newest - shownMinutes + 1 + uint64(i)
		if slot := m.slots[minute%shownMinutes].Load(); slot>>32 == minute {
			counts[i] = int(uint32(slot)) //nolint:gosec // the lower half is the count
		}
	}
	return counts
}

// minuteOf returns the number of the minutes since 1970. A clock that stands before it is taken for one that stands an hour after.
func minuteOf(now time.Time) uint64 {
	return uint64(max(now.Unix()/60, shownMinutes))
}

// nodeConfig is the configuration that can be changed while this node runs, and lasts until it ends.
type nodeConfig struct {
	debug     atomic.Bool
	profiling atomic.Bool
}

// configAnswer is what an administrator may know of the service's configuration. It consists of named settings, so that no secret
// can ever be among them: the existing platform shows its whole configuration, passwords included.
type configAnswer struct {
	Debug           bool          `json:"debug" doc:"Why a login is refused is logged on this node."`
	Profiling       bool          `json:"profiling_enabled" doc:"This node records where it blocks, for /debug/pprof on its admin socket."`
	Backends        []string      `json:"backends" doc:"In the order in which they are tried."`
	TokenLifetime   int           `json:"default_token_lifetime" doc:"In seconds."`
	MaxUserSessions int           `json:"max_user_concurrent_sessions" doc:"How many live sessions one user may have."`
	PasswordHash    string        `json:"password_hash" doc:"Parameters of argon2id." example:"argon2id"`
	Service         serviceConfig `json:"rest_api"`
}

type serviceConfig struct {
	Prefix  string `json:"prefix" doc:"The path below which the service is served." example:"/api/auth/0.1"`
	Version string `json:"version" doc:"The version." example:"0.1"`
}

// configPatch is one step of a JSON Patch (RFC 6902).
type configPatch struct {
	Op    string `json:"op" required:"true" enum:"replace" doc:"What to do; a setting can only be replaced."`
	Path  string `json:"path" required:"true" enum:"/debug,/profiling_enabled"`
	Value bool   `json:"value" required:"true" doc:"The value to be set."`
}

var configPatchBody = &rest.Schema{Type: "array", Items: rest.SchemaOf[configPatch]()}

// configOperations show the service's configuration to administrators of the master tenant.
func (s *Service) configOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/config", Access: "auth.config.read", ID: "read_config", Tag: "config",
			Summary: "Read the service's configuration", Description: "For users of the master tenant. It holds no secret.",
			Success: http.StatusOK, Reply: rest.SchemaOf[configAnswer](), Master: rest.FromMaster, Handle: s.getConfig,
		},
		{
			Method: http.MethodPatch, Path: "/config", Access: "auth.config.update", ID: "update_config", Tag: "config",
			Summary:     "Change the service's configuration by a JSON Patch",
			Description: "For users of the master tenant. It changes the node that answers, until it ends.",
			Body:        configPatchBody, MaxBody: maxAuthBody, Success: http.StatusOK, Reply: rest.SchemaOf[configAnswer](),
			Master: rest.FromMaster, Handle: s.patchConfig,
		},
	}
}

// masterOnly refuses users of other tenants. The existing platform returns 401; here, as everywhere, an authenticated caller who
// may not gets 403.
func (s *Service) masterOnly(ctx context.Context, r *rest.Request) error {
	of := r.Principal().TenantUUID
	master, err := tenant.IsMaster(ctx, s.db, of)
	if err == nil && !master {
		err = apierr.New(apierr.Forbidden, "This is for users of the master tenant, and the token's is %s", of).
			Named("unauthorized-tenant").With("tenant_uuid", of)
	}
	return err
}

func (s *Service) getConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if err := s.masterOnly(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Body: s.showConfig()}, nil
}

func (s *Service) showConfig() configAnswer {
	settings := s.settings.Load()
	return configAnswer{
		Debug: s.config.debug.Load(), Profiling: s.config.profiling.Load(), Backends: s.backendNames(),
		TokenLifetime: int(settings.Sessions.Lifetime.Seconds()), MaxUserSessions: settings.Sessions.PerUser, PasswordHash: settings.Passwords.Params.String(),
		Service: serviceConfig{Prefix: s.rest.Prefix, Version: s.rest.Version},
	}
}

func (s *Service) patchConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if err := s.masterOnly(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	steps, err := configSteps(r)
	if err != nil {
		return rest.Reply{}, err
	}
	for _, step := range steps {
		if step.Path == "/debug" {
			s.config.debug.Store(step.Value)
		} else {
			s.config.profile(step.Value)
		}
		slog.InfoContext(ctx, "the configuration of this node was changed", "path", step.Path, "value", step.Value, "user_uuid", r.Principal().UserUUID)
	}
	return rest.Reply{Body: s.showConfig()}, nil
}

// configSteps reads the body, which is a list, and checks all of it before anything is done.
func configSteps(r *rest.Request) ([]configPatch, error) {
	text, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	value, err := rest.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	if _, isList := value.([]any); !isList {
		return nil, apierr.New(apierr.Invalid, "The body must be a JSON list")
	}
	if fields := configPatchBody.Validate("", value); len(fields) > 0 {
		return nil, &apierr.Error{Kind: apierr.Invalid, Fields: fields}
	}
	var steps []configPatch
	return steps, json.Unmarshal(text, &steps)
}

// How much profiling records: one in so many contentions, and blocking events of so many nanoseconds on average.
const (
	mutexFraction = 100
	blockRate     = 10_000
)

func (c *nodeConfig) profile(on bool) {
	c.profiling.Store(on)
	if on {
		runtime.SetMutexProfileFraction(mutexFraction)
		runtime.SetBlockProfileRate(blockRate)
		return
	}
	runtime.SetMutexProfileFraction(0)
	runtime.SetBlockProfileRate(0)
}

type backendsAnswer struct {
	Data []string `json:"data"`
}

// statusOperations report what the service is able to do now; they need no token.
func (s *Service) statusOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodHead, Path: "/status", Public: true, ID: "check_status", Tag: "status",
			Summary: "Can the service work?", Success: http.StatusOK,
			Handle: func(ctx context.Context, _ *rest.Request) (rest.Reply, error) {
				return rest.Reply{}, s.db.Ping(ctx)
			},
		},
		{
			Method: http.MethodGet, Path: "/backends", Public: true, ID: "list_backends", Tag: "backends",
			Summary: "The authentication backends, in the order in which they are tried", Success: http.StatusOK,
			Reply: rest.SchemaOf[backendsAnswer](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: backendsAnswer{Data: s.backendNames()}}, nil
			},
		},
	}
}
