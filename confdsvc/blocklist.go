package confdsvc

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// BlocklistNumber is a number from which a user takes no calls. Users write those of their own; others only read them.
//
//nolint:lll // a tag cannot be wrapped
type BlocklistNumber struct {
	UUID       string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Number     string  `db:"number" json:"number" required:"true" maxLength:"128" pattern:"^(\\+?[0-9]+|anonymous)$" example:"+15551234" doc:"With + (E.164), or anonymous: calls without a number."`
	Label      *string `db:"label" json:"label" minLength:"1" maxLength:"1024" example:"Sells windows" doc:"Who that is, in one's own words."`
	UserID     int64   `db:"user_id" json:"user_id" ref:"users.id" owner:"true" readOnly:"true"`
	UserUUID   string  `db:"user_uuid" computed:"true" json:"user_uuid" format:"uuid" readOnly:"true"`
	Firstname  string  `db:"user_firstname" computed:"true" json:"user_firstname" readOnly:"true"`
	Lastname   *string `db:"user_lastname" computed:"true" json:"user_lastname" readOnly:"true"`
	crud.Hrefs
}

// Anonymous is the number of calls without one.
const Anonymous = "anonymous"

// internationalForm is a number of the public network, of any country (E.164).
var internationalForm = regexp.MustCompile(`^\+[1-9][0-9]{2,14}$`)

func init() {
	resources = append(resources, declareBlocklist)
	clientIDs["list_users_blocklist_numbers"], clientIDs["list_my_blocklist_numbers"] = "list_blocklist_numbers", "list_users_me_blocklist_numbers"
	for _, action := range []string{"create", "get", "update", "delete"} {
		clientIDs[action+"_my_blocklist_number"] = action + "_users_me_blocklist_number"
	}
	words["/users/blocklist/numbers"], words["blocklist_number"] = "blocked numbers", "blocked number"
}

func declareBlocklist(e *crud.Engine) {
	columns := []string{"number", "label", "user_uuid"}
	// Who is denied the user reads none of their numbers.
	ofUser := func(column string) string {
		return "SELECT u." + column + " FROM {+confd_user} u WHERE u.id = confd_blocklist_number.user_id"
	}
	crud.Collect(e, crud.Resource[BlocklistNumber]{
		Path: "users/blocklist/numbers", Singular: "blocklist_number", Param: "blocklist_number_uuid", Title: "BlocklistNumber", Rel: "user_blocklist_numbers",
		Table: "confd_blocklist_number", Keys: []string{"uuid"}, Only: []string{"list", "read"},
		About: "Numbers from which users take no calls.", Lists: []string{"number", "label", "user_firstname", "user_lastname"},
		Order: columns, Filters: columns, Search: []string{"number", "label"},
		Matches: map[string]crud.Match{"user_uuid": {Condition: "user_id IN (SELECT u.id FROM {confd_user} u WHERE u.uuid = %s)", Type: "uuid"}},
		Virtual: map[string]string{
			"user_uuid":      "SELECT CAST(u.uuid AS text) FROM {+confd_user} u WHERE u.id = confd_blocklist_number.user_id",
			"user_firstname": ofUser("firstname"), "user_lastname": ofUser("lastname"),
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[BlocklistNumber]) error {
			if n := change.New.Number; n != Anonymous && !internationalForm.MatchString(n) {
				return apierr.New(apierr.Invalid, "Invalid E.164 phone number").On("number")
			}
			return nil
		},
		Describe: func(_ string, op *rest.Operation) { op.Access, op.Tag = "confd.users.blocklist.read", "users" },
	})
	own := summaries(map[string]string{
		"create": "Block a number", "read": "Read a number that one blocks", "update": "Change a number that one blocks", "delete": "Unblock a number",
	})
	crud.Children[User, BlocklistNumber]{
		Column: "user_id", Path: "blocklist/numbers", Access: "blocklist", Me: true, Only: []string{"create", "read", "update", "delete"},
		Most: 1000, // each is an extension of everybody's dialplan
		Describe: func(action string, op *rest.Operation) {
			if own(action, op); action == "create" {
				op.Description = "Calls from outside with it do not ring at the user's."
			}
		},
	}.On(e)
	e.Add(rest.Operation{
		Method: http.MethodHead, Path: "/users/{user_id}/blocklist/numbers", Access: "confd.users.{user_id}.blocklist.read", ID: "lookup_user_blocklist_number",
		Tag: "users", Summary: "Whether a user blocks a number", Description: "204 names the number in its headers; 404: it is not blocked.", Tenanted: true,
		Query: []rest.Parameter{{
			Name: "number_exact", Required: true, Description: "The number, with or without +.", Schema: rest.SchemaOf[string](),
		}},
		Success: http.StatusNoContent, Statuses: []int{http.StatusNotFound}, Located: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) { return isBlocked(ctx, e, r) },
	})
}

// isBlocked answers whether a user blocks a number.
func isBlocked(ctx context.Context, e *crud.Engine, r *rest.Request) (reply rest.Reply, err error) {
	typed, _ := r.Query("number_exact")
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return reply, err
	}
	return reply, e.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		user, err := crud.Of[User](e).NamedIn(ctx, c, r, scope)
		if err != nil {
			return err
		}
		number, err := firstOf(crud.Of[BlocklistNumber](e).Select(ctx, c, "user_id = $1 AND number IN ($2, $3)", user.ID, typed, "+"+strings.TrimSpace(typed)))
		if err != nil {
			return err
		}
		if number == nil {
			return apierr.New(apierr.NotFound, "BlocklistNumber was not found")
		}
		reply.Header = http.Header{
			"Location": {e.Prefix + "/users/blocklist/numbers/" + number.UUID}, "Wazo-Blocklist-Number-Uuid": {number.UUID},
			"Wazo-Blocklist-Number-Label": {orEmpty(number.Label)},
		}
		return nil
	})
}
