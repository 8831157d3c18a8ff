package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserForwards say where a user's calls go instead of their lines.
type UserForwards struct {
	Busy          Forward `json:"busy" prefix:"busy_"`
	NoAnswer      Forward `json:"noanswer" prefix:"noanswer_" doc:"Calls that nobody answers."`
	Unconditional Forward `json:"unconditional" prefix:"unconditional_"`
}

// Forward is one of a user's forwards. A disabled one may keep its destination.
type Forward struct {
	Enabled     bool    `db:"enabled" json:"enabled"`
	Destination *string `db:"destination" json:"destination" maxLength:"128" example:"+15551234" doc:"Needed when it is enabled."`
}

// UserServices are services that a user can switch on and off.
type UserServices struct {
	DND          Switch `json:"dnd" prefix:"dnd_"`
	IncallFilter Switch `json:"incallfilter" prefix:"incallfilter_" doc:"Whether incoming calls go through the filter of a secretary."`
}

// Switch is on or off.
type Switch struct {
	Enabled bool `db:"enabled" json:"enabled" required:"true"`
}

func init() {
	resources = append(resources, declareUserParts)
	destinationKinds = append(destinationKinds, kind[ToUser]("user", ""))
	funcKeyKinds = append(funcKeyKinds, kind[keyToUser]("user", ""))
	helps["Forward.destination"] = ""
}

func declareUserParts(e *crud.Engine) {
	crud.Part[User, UserForwards]{
		Path: "forwards", Name: "forward_name", Field: func(u *User) *UserForwards { return &u.Forwards }, Merge: mergeForwards, Nested: true,
	}.On(e)
	crud.Part[User, UserServices]{
		Path: "services", Name: "service_name", Field: func(u *User) *UserServices { return &u.Services },
	}.On(e)
	crud.Part[User, UserFallbacks]{
		Path: "fallbacks", ID: "user_fallback", Replaces: true, Nested: true, Field: func(u *User) *UserFallbacks { return &u.Fallbacks },
	}.On(e)
}

// mergeForwards keeps the fields of a forward that were not sent, and refuses one that is enabled without a destination.
func mergeForwards(_ context.Context, _ store.Conn, old, changed *UserForwards, sent rest.Object) error {
	for _, forward := range []struct {
		name    string
		was, is *Forward
	}{
		{"busy", &old.Busy, &changed.Busy},
		{"noanswer", &old.NoAnswer, &changed.NoAnswer},
		{"unconditional", &old.Unconditional, &changed.Unconditional},
	} {
		values, _ := sent.Value(forward.name).(map[string]any)
		if values == nil {
			continue
		}
		was, is := forward.was, forward.is
		if _, there := values["enabled"]; !there {
			is.Enabled = was.Enabled
		}
		destination, there := values["destination"]
		if !there {
			is.Destination = was.Destination
		}
		if is.Enabled && (is.Destination == nil || *is.Destination == "") {
			if there && destination == nil && was.Enabled {
				return style.Storedf("Forward must be disabled to remove destination").On("destination")
			}
			return apierr.InvalidField(forward.name+".destination", "required", "Is required to enable the forward")
		}
	}
	return nil
}

// UserFallbacks say where calls go that a user does not take.
type UserFallbacks struct {
	NoAnswer   *Destination `json:"noanswer_destination"`
	Busy       *Destination `json:"busy_destination" doc:"Where calls go if the user is busy."`
	Congestion *Destination `json:"congestion_destination"`
	Fail       *Destination `json:"fail_destination" doc:"Where calls go if the user cannot be reached."`
}

// ToUser leads calls to a user.
type ToUser struct {
	UserID    ID       `json:"user_id" required:"true" ref:"users.id"`
	RingTime  *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	MOHUUID   *string  `json:"moh_uuid" ref:"moh.uuid" format:"uuid" doc:"The UUID of the music on hold."`
	Firstname *string  `json:"user_firstname,omitempty" readOnly:"true" shows:"firstname"`
	Lastname  *string  `json:"user_lastname" readOnly:"true" shows:"lastname"`
}

// keyToUser calls a user by a function key.
type keyToUser struct {
	keyHref

	UserID    ID      `json:"user_id" required:"true" ref:"users.id"`
	Firstname *string `json:"user_firstname" readOnly:"true" shows:"firstname"`
	Lastname  *string `json:"user_lastname" readOnly:"true" shows:"lastname"`
}

// userDestinations are where calls go that users do not take.
var userDestinations = holds[User]("of_user_id")
