package authsvc

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/tenant"
)

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
	MaxUserSessions int           `json:"max_user_concurrent_sessions"`
	PasswordHash    string        `json:"password_hash" doc:"Parameters of argon2id."`
	Service         serviceConfig `json:"rest_api"`
}

type serviceConfig struct {
	Prefix  string `json:"prefix"`
	Version string `json:"version"`
}

// configPatch is one step of a JSON Patch (RFC 6902).
type configPatch struct {
	Op    string `json:"op" required:"true" enum:"replace"`
	Path  string `json:"path" required:"true" enum:"/debug,/profiling_enabled"`
	Value bool   `json:"value" required:"true"`
}

var (
	configPatchItem = rest.SchemaOf[configPatch]()
	configPatchBody = &rest.Schema{Type: "array", Items: configPatchItem}
)

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
	for _, item := range value.([]any) {
		step := item.(map[string]any)
		steps = append(steps, configPatch{step["op"].(string), step["path"].(string), step["value"].(bool)})
	}
	return steps, nil
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
