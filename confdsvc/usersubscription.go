package confdsvc

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserSubscription is a type of subscription that users have.
type UserSubscription struct {
	ID    int64 `db:"id" json:"id" doc:"The type: the attribute subscription_type of users."`
	Count int64 `db:"count" json:"count" doc:"How many users of the tenant have it."`
}

// UserSubscriptions holds the types that a tenant's users have.
type UserSubscriptions struct {
	Items []UserSubscription `json:"items"`
	Total int                `json:"total"`
}

func init() { resources = append(resources, declareUserSubscriptions) }

func declareUserSubscriptions(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/subscriptions", Access: "confd.users.subscriptions.read", ID: "get_users_subscriptions", Tag: "users",
		Summary: "Count the users of a tenant by their type of subscription", Success: http.StatusOK, Reply: rest.SchemaOf[UserSubscriptions](), Tenanted: true,
		Handle: e.Reading(func(ctx context.Context, c store.Conn, _ *rest.Request, scope string) (any, error) {
			query, args := e.Seen(ctx, `SELECT subscription_type AS id, count(*) AS count FROM {confd_user} u WHERE tenant_uuid = $1
				GROUP BY subscription_type ORDER BY subscription_type`, scope)
			types, err := store.Select[UserSubscription](ctx, c, query, args...)
			return UserSubscriptions{append([]UserSubscription{}, types...), len(types)}, err
		}),
	})
}
