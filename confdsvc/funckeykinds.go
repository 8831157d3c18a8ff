package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// FuncKeyDestination is the action of a function key: one of funcKeyKinds, with its keys.
type FuncKeyDestination struct{ Destination }

var funcKeyDestinationOnce = sync.OnceValue(func() *rest.Schema {
	var kinds []rest.Kind
	for _, k := range byName(funcKeyKinds) {
		kinds = append(kinds, rest.Kind{Value: k.name, Schema: k.schema()})
	}
	return rest.UnionOf("FuncKeyDestination", "type", kinds...)
})

// JSONSchema returns the union of all kinds.
func (FuncKeyDestination) JSONSchema() *rest.Schema { return funcKeyDestinationOnce() }

// UnmarshalJSON reads a destination that its schema has accepted.
func (d *FuncKeyDestination) UnmarshalJSON(text []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	if err := d.readAs(funcKeyKinds, head.Type, "", text); err != nil {
		return err
	}
	switch keys := d.keys.(type) {
	case *KeyDials:
		keys.Exten = strings.TrimSpace(keys.Exten)
	case *KeyForwards:
		if keys.Exten != nil {
			exten := strings.TrimSpace(*keys.Exten)
			keys.Exten = &exten
		}
	}
	return nil
}

// The keys of the kinds that lead to no resource of this service.
type (
	keyHref struct {
		Href *string `json:"href" readOnly:"true"`
	}
	keyCallsQueue struct {
		keyHref

		QueueID int64 `json:"queue_id" required:"true" ref:"queues.id" minimum:"0" maximum:"9007199254740991"`
	}
	keyCallsConference struct {
		keyHref

		ConferenceID int64 `json:"conference_id" required:"true" ref:"conferences.id" minimum:"0" maximum:"9007199254740991"`
	}
	// KeyService switches a service.
	KeyService struct {
		keyHref

		Service string `json:"service" required:"true" enum:"enablevm,vmusermsg,vmuserpurge,phonestatus,recsnd,directoryaccess,fwdundoall,pickup,callrecord,incallfilter,enablednd"`
	}
	// KeyDials dials a number.
	KeyDials struct {
		keyHref

		Exten string `json:"exten" required:"true" maxLength:"255" pattern:"^ *[A-Z0-9+*]+ *$" example:"1000"`
	}
	// KeyForwards switches a forward.
	KeyForwards struct {
		keyHref

		Forward string  `json:"forward" required:"true" enum:"busy,noanswer,unconditional" doc:"Which calls are forwarded: busy, noanswer or unconditional."`
		Exten   *string `json:"exten" maxLength:"255" pattern:"^ *[A-Z0-9+*]+ *$" example:"1000"`
	}
	keyTransfers struct {
		keyHref

		Transfer string `json:"transfer" required:"true" enum:"blind,attended" doc:"The kind of transfer: blind or attended."`
	}
	keyParksAt struct {
		keyHref

		ParkingLotID int64   `json:"parking_lot_id" required:"true" ref:"parkinglots.id" minimum:"0" maximum:"9007199254740991"`
		Position     int64   `json:"position" required:"true" minimum:"1" maximum:"2147483647"`
		Name         *string `json:"parking_lot_name" readOnly:"true" shows:"name"`
	}
	keyParks struct {
		keyHref

		ParkingLotID int64   `json:"parking_lot_id" required:"true" ref:"parkinglots.id" minimum:"0" maximum:"9007199254740991"`
		Name         *string `json:"parking_lot_name" readOnly:"true" shows:"name"`
	}
	keyFilters struct {
		keyHref

		FilterMemberID int64   `json:"filter_member_id" required:"true" ref:"callfilters/members.id" minimum:"0" maximum:"9007199254740991" doc:"The number of the member."`
		Firstname      *string `json:"filter_member_firstname" readOnly:"true" example:"Alice" doc:"The first name of the member."`
		Lastname       *string `json:"filter_member_lastname" readOnly:"true" example:"Martin" doc:"The last name of the member."`
	}
	keyAgent struct {
		keyHref

		Action  string `json:"action" required:"true" enum:"login,logout,toggle"`
		AgentID int64  `json:"agent_id" required:"true" ref:"agents.id" minimum:"0" maximum:"9007199254740991"`
	}
	keyRecords struct{ keyHref }
)

// funcKeyKinds are the types of a function key's destination. Those of resources that are not declared yet are refused as not found.
var funcKeyKinds = []destinationKind{
	kind[keyCallsQueue]("queue", ""),
	kind[keyCallsConference]("conference", ""),
	kind[KeyService]("service", ""),
	kind[KeyDials]("custom", ""),
	kind[KeyForwards]("forward", ""),
	kind[keyTransfers]("transfer", ""),
	kind[keyParksAt]("park_position", ""),
	kind[keyParks]("parking", ""),
	kind[keyFilters]("bsfilter", ""),
	kind[keyAgent]("agent", ""),
	kind[keyRecords]("onlinerec", ""),
}

func (d *FuncKeyDestination) mayHaveLamp() bool {
	when := rest.SchemaOf[FuncKey]().Property("blf").When
	if keys, ok := d.keys.(*KeyService); ok {
		return slices.Contains(when["destination.service"], keys.Service)
	}
	return slices.Contains(when["destination.type"], d.kind.name)
}

// showKeyTargets fills in the attributes of their targets that the destinations of keys show.
func showKeyTargets(ctx context.Context, c store.Conn, e *crud.Engine, destinations []*Destination) error {
	for _, d := range destinations {
		if keys, ok := d.keys.(*keyToUser); ok {
			href := fmt.Sprintf("%s/users/%d", prefix, keys.UserID)
			keys.Href = &href
		}
	}
	return showTargets(ctx, c, e, destinations)
}

// FuncKeyType is a type of action of a function key.
type FuncKeyType struct {
	Type       string             `json:"type"`
	Parameters []FuncKeyParameter `json:"parameters"`
}

// FuncKeyParameter is a further attribute of such a key's destination.
type FuncKeyParameter struct {
	Name       string   `json:"name"`
	Collection *string  `json:"collection" doc:"Where the objects are that it names one of; null: it names none."`
	Values     []string `json:"values" doc:"What it may be; empty: anything of its form."`
}

func funcKeyTypes() []FuncKeyType {
	types := make([]FuncKeyType, len(funcKeyKinds))
	for i, k := range byName(funcKeyKinds) {
		types[i] = FuncKeyType{Type: k.name, Parameters: []FuncKeyParameter{}}
		for _, p := range k.schema().Properties {
			if p.ReadOnly {
				continue
			}
			parameter := FuncKeyParameter{Name: p.Name, Values: append([]string{}, p.Schema.Enum...)}
			if len(k.refs) > 0 && k.refs[0].key == p.Name {
				collection := prefix + "/" + k.refs[0].path
				parameter.Collection = &collection
			}
			types[i].Parameters = append(types[i].Parameters, parameter)
		}
	}
	return types
}
