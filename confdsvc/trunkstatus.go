package confdsvc

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// TrunkStatus is how a trunk is just now, as the telephone system knows it.
type TrunkStatus struct {
	Loaded     bool     `json:"loaded" doc:"Whether Asterisk has the SIP endpoint. If not, it is not live yet, or was left out."`
	Registered *bool    `json:"registered" doc:"Whether it is registered at its carrier; null if it does not register."`
	Reachable  *bool    `json:"reachable" doc:"Whether the other side answers; null if it is not asked, or nobody knows where it is."`
	Latency    *float64 `json:"latency" minimum:"0" example:"12.5" doc:"How long the last answer took, in milliseconds."`
}

// declareTrunkStatus adds the operation that reads how a trunk is. ask asks the telephone system, by the name of a SIP endpoint.
func declareTrunkStatus(e *crud.Engine, ask func(ctx context.Context, endpoint string) (TrunkStatus, error)) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/trunks/{trunk_id}/status", Access: "confd.trunks.{trunk_id}.status.read", ID: "get_trunk_status", Tag: "trunks",
		Summary: "Read whether a trunk is registered and answers", Description: "Of a trunk without a SIP endpoint nothing is known.",
		Success: http.StatusOK, Reply: rest.SchemaOf[TrunkStatus](), Statuses: []int{http.StatusNotFound, http.StatusServiceUnavailable}, Tenanted: true,
		Handle: func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
			var status TrunkStatus
			trunk, err := crud.Of[Trunk](e).Named(ctx, r)
			switch {
			case err != nil:
				return reply, err
			case trunk.EndpointSIP == nil:
			case ask == nil:
				err = apierr.New(apierr.Unavailable, "This gateway has no Asterisk to ask")
			default:
				status, err = ask(ctx, trunk.EndpointSIP.Name)
			}
			return rest.Reply{Body: status}, err
		},
	})
}
