package confdsvc

import (
	"cmp"
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// KeyFilters switches a call filter for one of its surrogates.
type KeyFilters struct {
	keyHref

	//nolint:lll // a tag cannot be wrapped
	FilterMemberID ID      `json:"filter_member_id" required:"true" names:"callfilters.member_id" doc:"The number of the surrogate, which their filter shows as member_id."`
	Firstname      *string `json:"filter_member_firstname" readOnly:"true" example:"Alice" doc:"The first name of the surrogate."`
	Lastname       *string `json:"filter_member_lastname" readOnly:"true" example:"Martin" doc:"The last name of the surrogate."`
}

func init() { funcKeyKinds = append(funcKeyKinds, kind[KeyFilters]("bsfilter", "")) }

// mayFilter refuses a key for a surrogate whom the tenant does not have, or of a filter in which the user of the keys is not.
func (k *KeyFilters) mayFilter(ctx context.Context, c store.Conn, t *FuncKeyTemplate) error {
	filter, err := firstOf(store.Select[ID](ctx, c, `SELECT f.id FROM confd_callfilter_surrogate s JOIN confd_callfilter f ON f.id = s.callfilter_id
		WHERE s.member_id = $1 AND f.tenant_uuid = $2`, k.FilterMemberID, t.TenantUUID))
	if err != nil {
		return err
	}
	if filter == 0 {
		return crud.Missing("filter_member_id", "FilterMember", "filter_member_id", k.FilterMemberID)
	}
	if t.UserID == nil {
		return nil // it works for those of the template's users who are in the filter
	}
	n, err := store.Get[int](ctx, c, `SELECT (SELECT count(*) FROM confd_callfilter_recipient WHERE callfilter_id = $1 AND user_id = $2)
		+ (SELECT count(*) FROM confd_callfilter_surrogate WHERE callfilter_id = $1 AND user_id = $2)`, filter, *t.UserID)
	if err == nil && n == 0 {
		err = style.NotAssociated("User", "BSFilter", "user_id", *t.UserID)
	}
	return err
}

// showFilterMembers fills in the names of the surrogates to whom keys lead.
func showFilterMembers(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	byMember, ids := map[ID][]*KeyFilters{}, []any{}
	for _, d := range destinations {
		if key, is := d.keys.(*KeyFilters); is {
			byMember[key.FilterMemberID], ids = append(byMember[key.FilterMemberID], key), append(ids, key.FilterMemberID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type named struct {
		ID        ID      `db:"member_id"`
		Firstname *string `db:"firstname"`
		Lastname  *string `db:"lastname"`
	}
	query, args := e.Visible(ctx, `SELECT s.member_id, u.firstname, u.lastname FROM {confd_callfilter_surrogate} s JOIN {confd_user} u ON u.id = s.user_id
		WHERE s.member_id IN (`+crud.Placeholders(1, len(ids))+")", ids...)
	members, err := store.Select[named](ctx, c, query, args...)
	for _, m := range members {
		for _, key := range byMember[m.ID] {
			key.Firstname, key.Lastname = m.Firstname, m.Lastname
		}
	}
	return err
}

// losesFilterKeys refuses a caller who is denied to delete the function keys that lead to surrogates who go. The condition says which.
func losesFilterKeys(ctx context.Context, c store.Conn, r *rest.Request, condition string, args ...any) error {
	if r == nil || !rights.HasDenials(r) {
		return nil
	}
	members, err := store.Select[ID](ctx, c, "SELECT member_id FROM confd_callfilter_surrogate WHERE "+condition, args...)
	for _, id := range members {
		err = cmp.Or(err, losesFuncKeys(ctx, c, r, "filter_member_id", id))
	}
	return err
}

// oneRecipient refuses a second recipient.
func oneRecipient(ctx context.Context, c store.Conn, pairs []*crud.Pair[CallFilter, User]) error {
	there, err := store.Get[int](ctx, c, "SELECT count(*) FROM confd_callfilter_recipient WHERE callfilter_id = $1", pairs[0].Left.ID)
	if err == nil && there+len(pairs) > 1 {
		err = style.NotPermitted("Cannot associate more than one recipient.")
	}
	return err
}

// isNotBoth refuses a user who is in the table already, on the other side of the same filter.
func isNotBoth(table string) crud.Check[CallFilter, User] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[CallFilter, User]) error {
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+table+" WHERE callfilter_id = $1 AND user_id = $2", pair.Left.ID, pair.Right.ID)
		if err == nil && n > 0 {
			err = style.Associated("User", "CallFilter", "user_id", pair.Right.ID, "call_filter_id", pair.Left.ID)
		}
		return err
	})
}
