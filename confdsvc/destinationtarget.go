package confdsvc

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// destinationTarget is a kind of object that calls and function keys lead to.
type destinationTarget struct {
	// path is the collection, and by its column whose value the key has: "users", "id". title is an object's name in refusals.
	path, by, title string
	// key is the destination's key, and the column of confd_destination or confd_func_key that refers to the collection. A
	// collection that is not declared has neither objects nor a column.
	key string
	// shows are read-only keys, each with the column that it shows. A destination shows those that it has.
	shows map[string]string
}

// The targets, each for all destinations that lead there.
var (
	userTarget = &destinationTarget{
		path: "users", by: "id", title: "User", key: "user_id",
		shows: map[string]string{"user_firstname": "firstname", "user_lastname": "lastname"},
	}
	groupTarget = &destinationTarget{
		path: "groups", by: "id", title: "Group", key: "group_id", shows: map[string]string{"group_name": "name", "group_label": "label"},
	}
	queueTarget      = &destinationTarget{path: "queues", by: "id", title: "Queue", key: "queue_id", shows: map[string]string{"queue_label": "label"}}
	conferenceTarget = &destinationTarget{
		path: "conferences", by: "id", title: "Conference", key: "conference_id", shows: map[string]string{"conference_name": "name"},
	}
	ivrTarget         = &destinationTarget{path: "ivr", by: "id", title: "IVR", key: "ivr_id", shows: map[string]string{"ivr_name": "name"}}
	switchboardTarget = &destinationTarget{
		path: "switchboards", by: "uuid", title: "Switchboard", key: "switchboard_uuid", shows: map[string]string{"switchboard_name": "name"},
	}
	voicemailTarget = &destinationTarget{
		path: "voicemails", by: "id", title: "Voicemail", key: "voicemail_id", shows: map[string]string{"voicemail_name": "name"},
	}
	outcallTarget     = &destinationTarget{path: "outcalls", by: "id", title: "Outcall", key: "outcall_id"}
	applicationTarget = &destinationTarget{
		path: "applications", by: "uuid", title: "Application", key: "application_uuid", shows: map[string]string{"application_name": "name"},
	}
	pagingTarget     = &destinationTarget{path: "pagings", by: "id", title: "Paging", key: "paging_id"}
	parkingLotTarget = &destinationTarget{
		path: "parkinglots", by: "id", title: "ParkingLot", key: "parking_lot_id", shows: map[string]string{"parking_lot_name": "name"},
	}
	filterMemberTarget = &destinationTarget{path: "callfilters/members", by: "id", title: "FilterMember", key: "filter_member_id"}
	agentTarget        = &destinationTarget{path: "agents", by: "id", title: "Agent", key: "agent_id"}
)

// mayTake refuses a caller who is denied to change where calls or function keys lead, if they lead to an object that is deleted.
func (t *destinationTarget) mayTake(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, key any) error {
	if !crud.HasDenials(r) {
		return nil
	}
	leads := func(kinds []destinationKind) bool {
		return slices.ContainsFunc(kinds, func(k destinationKind) bool { return k.target == t })
	}
	for _, owner := range destinationOwners {
		if !leads(destinationKinds) {
			break
		}
		if err := owner.mayLose(ctx, c, e, r, t.key, key); err != nil {
			return err
		}
	}
	if !leads(funcKeyKinds) {
		return nil
	}
	keys, err := store.Select[keyOfTarget](ctx, c, `
		SELECT t.id AS "template.id", t.user_id AS "template.user_id", CAST(u.uuid AS text) AS "template.user_uuid", k.place
		FROM confd_func_key k JOIN confd_func_key_template t ON t.id = k.template_id LEFT JOIN confd_user u ON u.id = t.user_id
		WHERE k.`+t.key+` = $1`, key)
	if err != nil {
		return err
	}
	for _, k := range keys {
		for _, path := range append(k.Template.userAccesses(), k.Template.access()) {
			if err := crud.NotDenied(r, path+strconv.FormatInt(k.Position, 10)+".delete"); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyOfTarget is a function key that leads to an object.
type keyOfTarget struct {
	Template FuncKeyTemplate `db:"template"`
	Position int64           `db:"place"`
}

// showTargets fills in the names of the destinations' targets, with one query for each attribute of each kind that occurs. Those of a target
// that the caller of ctx is denied to read stay null.
func showTargets(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	byKind := map[*destinationKind][]*Destination{}
	for _, d := range destinations {
		if d.kind.target != nil {
			byKind[d.kind] = append(byKind[d.kind], d)
		}
	}
	for k, some := range byKind {
		if err := k.showTarget(ctx, c, e, some); err != nil {
			return err
		}
	}
	return nil
}

// showTarget fills in the attributes of their targets that destinations of this kind show. The table of a collection has its name: that of
// users is confd_user.
func (k *destinationKind) showTarget(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	type shown struct {
		Key   string  `db:"key"`
		Value *string `db:"value"`
	}
	t := k.target
	keys := make([]any, len(destinations))
	for i, d := range destinations {
		keys[i] = d.key(t.key)
	}
	for name, column := range t.shows {
		property := k.schema().Property(name)
		if property == nil {
			continue
		}
		args := slices.Clone(keys)
		table := "confd_" + strings.TrimSuffix(t.path, "s")
		rows, err := store.Select[shown](ctx, c, "SELECT CAST("+t.by+" AS text) AS key, "+column+" AS value FROM "+table+
			" WHERE "+t.by+" IN ("+crud.Placeholders(1, len(keys))+") AND "+e.Visible(ctx, t.path, table, &args), args...)
		if err != nil {
			return err
		}
		values := make(map[string]*string, len(rows))
		for _, row := range rows {
			values[row.Key] = row.Value
		}
		for i, d := range destinations {
			reflect.ValueOf(d.keys).Elem().FieldByIndex(property.Index()).Set(reflect.ValueOf(values[fmt.Sprint(keys[i])]))
		}
	}
	return nil
}
