package confdsvc

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// OutgoingCallerID is a caller ID with which a user can telephone.
type OutgoingCallerID struct {
	Type   string  `json:"type" enum:"main,associated,shared,anonymous"`
	Number *string `json:"number,omitempty"`
	Name   *string `json:"caller_id_name,omitempty" doc:"The name that goes with the number; empty if it has none."`
}

// UserCTI is the stored state of the user's computer client: nothing.
type UserCTI struct{}

func init() { resources = append(resources, declareUserReads, declareUserSubscriptions) }

// declareUserReads adds the operations that read something below a user that is not part of the object.
func declareUserReads(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/{user_id}/callerids/outgoing", Access: "confd.users.{user_id}.callerids.outgoing.read",
		ID: "list_user_callerid_outgoing", Tag: "users", Summary: "List the caller IDs that a user can telephone with", Success: http.StatusOK,
		Reply: rest.ListOf(rest.SchemaOf[OutgoingCallerID](), false), Statuses: []int{404}, Tenanted: true, Conditional: true,
		Handle: ofUser(e, func(ctx context.Context, c store.Conn, user *User) (any, error) {
			args := []any{user.TenantUUID}
			for _, number := range numbersTo(user) {
				digits := strings.TrimPrefix(number, "+")
				args = append(args, digits, "+"+digits)
			}
			theirs := "number IN (" + crud.Placeholders(2, len(args)-1) + ")"
			condition, args := e.Visible(ctx, "uuid IN (SELECT n.uuid FROM {confd_phone_number} n) AND tenant_uuid = $1 AND (shared OR "+theirs+")", args...)
			numbers, err := crud.Of[PhoneNumber](e).Select(ctx, c, condition, args...)
			if err != nil {
				return nil, err
			}
			return rest.Listed(outgoingCallerIDs(user, numbers)), nil
		}),
	})
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/{user_id}/cti", Access: "confd.users.{user_id}.cti.read", ID: "get_user_cti", Tag: "users",
		Summary: "Read what a user's computer client keeps", Description: "It is an empty object.", Success: http.StatusOK,
		Reply: rest.SchemaOf[UserCTI](), Statuses: []int{404}, Tenanted: true, Conditional: true,
		Handle: ofUser(e, func(context.Context, store.Conn, *User) (any, error) { return UserCTI{}, nil }),
	})
}

// numbersTo returns the numbers by which incoming calls reach a user.
func numbersTo(user *User) (numbers []string) {
	for _, incall := range user.Incalls {
		for _, x := range incall.Extensions {
			if !strings.HasPrefix(x.Exten, "_") { // a pattern is not a number
				numbers = append(numbers, x.Exten)
			}
		}
	}
	return numbers
}

// outgoingCallerIDs returns the tenant's main number, the numbers that lead to the user, the tenant's shared numbers, and none;
// each number once. known are the tenant's shared numbers, and those that lead to the user.
func outgoingCallerIDs(user *User, known []*PhoneNumber) []OutgoingCallerID {
	slices.SortFunc(known, func(a, b *PhoneNumber) int { return strings.Compare(a.Number, b.Number) })
	names := map[string]string{}
	for _, n := range known {
		if n.CallerIDName != nil {
			names[strings.TrimPrefix(n.Number, "+")] = *n.CallerIDName
		}
	}
	var ids []OutgoingCallerID
	seen := map[string]bool{}
	add := func(kind, number string) {
		if digits := strings.TrimPrefix(number, "+"); !seen[digits] {
			seen[digits] = true
			name := names[digits]
			ids = append(ids, OutgoingCallerID{Type: kind, Number: &number, Name: &name})
		}
	}
	for _, n := range known {
		if n.Main {
			add("main", n.Number)
		}
	}
	for _, number := range numbersTo(user) {
		add("associated", number)
	}
	for _, n := range known {
		if n.Shared {
			add("shared", n.Number)
		}
	}
	return append(ids, OutgoingCallerID{Type: "anonymous"})
}

// ofUser returns a handler that reads something of the user that the path names.
func ofUser(e *crud.Engine, read func(ctx context.Context, c store.Conn, user *User) (any, error)) rest.Handler {
	return e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		user, err := crud.Of[User](e).ReadIn(ctx, c, r, scope)
		if err != nil {
			return nil, err
		}
		return read(ctx, c, user)
	})
}

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

func declareUserSubscriptions(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/users/subscriptions", Access: "confd.users.subscriptions.read", ID: "get_users_subscriptions", Tag: "users",
		Summary: "Count the users of a tenant by their type of subscription", Success: http.StatusOK, Reply: rest.SchemaOf[UserSubscriptions](), Tenanted: true,
		Handle: e.Reading(func(ctx context.Context, c store.Conn, _ *rest.Request, scope string) (any, error) {
			query, args := e.Visible(ctx, `SELECT subscription_type AS id, count(*) AS count FROM {confd_user} u WHERE tenant_uuid = $1
				GROUP BY subscription_type ORDER BY subscription_type`, scope)
			types, err := store.Select[UserSubscription](ctx, c, query, args...)
			return UserSubscriptions{types, len(types)}, err
		}),
	})
}
