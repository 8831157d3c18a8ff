package authsvc

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/rest"
)

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
