package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// CallFilter lets some users, the surrogates, take the calls to another, the recipient.
type CallFilter struct {
	ID         ID     `db:"id" json:"id" readOnly:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string `db:"name" json:"name" required:"true" maxLength:"128" example:"Management" doc:"No other call filter of the tenant has it."`
	//nolint:lll // a tag cannot be wrapped
	Strategy          string  `db:"strategy" json:"strategy" required:"true" enum:"all-recipients-then-linear-surrogates,all-recipients-then-all-surrogates,all-surrogates-then-all-recipients,linear-surrogates-then-all-recipients,all" doc:"Who rings first, and whether surrogates ring at once or one after the other."`
	Source            string  `db:"source" json:"source" required:"true" enum:"internal,external,all" doc:"Which calls are filtered."`
	CallerIDMode      *string `db:"caller_id_mode" json:"caller_id_mode" enum:"prepend,overwrite,append"`
	CallerIDName      *string `db:"caller_id_name" json:"caller_id_name" maxLength:"80"`
	SurrogatesTimeout *int64  `db:"surrogates_timeout" json:"surrogates_timeout" minimum:"0" maximum:"2147483647" doc:"In seconds; 0 and null: as the recipient."`
	Description       *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Enabled           bool    `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Recipients FilterRecipients    `json:"recipients" readOnly:"true" doc:"Whose calls are filtered: one user."`
	Surrogates FilterSurrogates    `json:"surrogates" readOnly:"true" doc:"Who takes the calls, while the filter is on for them."`
	Fallbacks  CallFilterFallbacks `json:"fallbacks" readOnly:"true"`
}

// FilterRecipients are the users whose calls are filtered.
type FilterRecipients struct {
	Users []FilterRecipient `json:"users" readOnly:"true"`
}

// FilterRecipient is a user as their filter shows them.
type FilterRecipient struct {
	UserRef
	recipientTimeout
}

type recipientTimeout struct {
	Timeout *int64 `db:"timeout" json:"timeout" joining:"true" minimum:"0" maximum:"2147483647" doc:"In seconds; 0 and null: as without a filter."`
}

// FilterSurrogates are the users who take the calls, in their order.
type FilterSurrogates struct {
	Users []FilterSurrogate `json:"users" readOnly:"true"`
}

// FilterSurrogate is a user as the filter shows them whose calls they take.
type FilterSurrogate struct {
	UserRef

	MemberID int64   `db:"member_id" json:"member_id" joining:"true" readOnly:"true" doc:"What function keys name the surrogate by."`
	Exten    *string `json:"exten" readOnly:"true" example:"*371" doc:"What is dialled to switch the filter for them. Null: the code bsfilter is disabled."`
}

// CallFilterFallbacks are where filtered calls go that nobody takes.
type CallFilterFallbacks struct {
	NoAnswer *Destination `json:"noanswer_destination"`
}

const (
	filterRecipients crud.Relation[CallFilter, User] = "confd_callfilter_recipient"
	filterSurrogates crud.Relation[CallFilter, User] = "confd_callfilter_surrogate"
)

func init() {
	resources = append(resources, declareCallFilters)
	clientIDs["list_callfilters"] = "list_call_filters"
	words["callfilter"], words["callfilters"] = "call filter", "call filters"
	words["/recipients/users"], words["/surrogates/users"] = "users whose calls are filtered", "users who take the calls"
	words["CallFilter.recipients"], words["CallFilter.surrogates"], words["CallFilter.source"] = "whose calls", "who takes them", "which calls"
	words["CallFilter.strategy"], words["CallFilter.surrogates_timeout"] = "who rings first", "seconds that each who takes them rings"
	helps["CallFilter.surrogates_timeout"] = "Empty: as long as the called person's telephone."
	helps["CallFilter.strategy"], helps["CallFilter.source"], helps["CallFilter.name"] = "", "", ""
	helps["FuncKeyDestinationBsfilter.filter_member_id"] = "The key switches the filter for them."
	helps["CallfilterUsersItem.timeout"] = "In seconds. Empty: as without a filter."
	words["filter_member_id"] = "filter and who takes its calls"
	words["source=all"], words["source=external"], words["source=internal"] = "all calls", "calls from outside", "calls from inside"
	for strategy, said := range map[string]string{
		"all-recipients-then-linear-surrogates": "the called person, then the others one after the other",
		"all-recipients-then-all-surrogates":    "the called person, then the others at once",
		"all-surrogates-then-all-recipients":    "the others at once, then the called person",
		"linear-surrogates-then-all-recipients": "the others one after the other, then the called person",
		"all":                                   "everybody at once",
	} {
		words["strategy="+strategy] = said
	}
}

var callFilterDestinations = holds[CallFilter]("of_callfilter_id")

func declareCallFilters(e *crud.Engine) {
	columns := []string{"name", "id", "description"}
	crud.Collect(e, crud.Resource[CallFilter]{
		Path: "callfilters", Singular: "callfilter", Param: "callfilter_id", Title: "CallFilter", Table: "confd_callfilter", Keys: []string{"id"},
		About: "Whose calls are taken by others first: a boss and their secretaries.", Lists: []string{"name", "recipients", "surrogates", "strategy", "enabled"},
		Order: columns, Filters: columns, Search: columns,
		Beside: []crud.Beside[CallFilter]{callFilterDestinations.beside(e)},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[CallFilter]) error {
			if t := change.New.SurrogatesTimeout; t != nil && *t == 0 {
				change.New.SurrogatesTimeout = nil
			}
			return nil
		},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[CallFilter]) error {
			return losesFilterKeys(ctx, c, change.Request, "callfilter_id = $1", change.Old.ID)
		},
		Present: func(ctx context.Context, c store.Conn, _ string, filters []*CallFilter) error {
			return showCodes(ctx, c, "bsfilter", func(code func(number int64) *string) {
				for _, f := range filters {
					for i := range f.Surrogates.Users {
						f.Surrogates.Users[i].Exten = code(f.Surrogates.Users[i].MemberID)
					}
				}
			})
		},
	})
	crud.Part[CallFilter, CallFilterFallbacks]{
		Path: "fallbacks", ID: "call_filter_fallback", Replaces: true, Field: func(f *CallFilter) *CallFilterFallbacks { return &f.Fallbacks },
	}.On(e)
	crud.Link[CallFilter, User]{
		Relation: filterRecipients, Path: "recipients/users", Only: []string{"set"}, LeftHas: crud.AtMostOne, Row: crud.RowOf[recipientTimeout](),
		LeftShows: []crud.Show{crud.Many(func(f *CallFilter) *[]FilterRecipient { return &f.Recipients.Users })},
		Set:       &crud.List{ID: "update_call_filter_caller_users", By: []string{"uuid"}, Repeated: "Cannot associate more than one recipient."},
		Allow:     crud.All(crud.SameTenant, oneRecipient, isNotBoth("confd_callfilter_surrogate")),
	}.On(e)
	crud.Link[CallFilter, User]{
		Relation: filterSurrogates, Path: "surrogates/users", Only: []string{"set"}, Position: "position",
		LeftShows: []crud.Show{crud.Many(func(f *CallFilter) *[]FilterSurrogate { return &f.Surrogates.Users })},
		Set:       &crud.List{ID: "update_call_filter_member_users", By: []string{"uuid"}, Repeated: "Cannot associate same user more than once."},
		Allow:     crud.All(crud.SameTenant, isNotBoth("confd_callfilter_recipient")),
		MayEnd: crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[CallFilter, User]) error {
			return losesFilterKeys(ctx, c, pair.Request, "callfilter_id = $1 AND user_id = $2", pair.Left.ID, pair.Right.ID)
		}),
	}.On(e)
}
