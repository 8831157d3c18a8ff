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

func init() { resources = append(resources, declareUserParts) }

func declareUserParts(e *crud.Engine) {
	crud.Part[User, UserForwards]{
		Path: "forwards", Name: "forward_name", Field: func(u *User) *UserForwards { return &u.Forwards }, Merge: mergeForwards, Nested: true,
	}.On(e)
	crud.Part[User, UserServices]{
		Path: "services", Name: "service_name", Field: func(u *User) *UserServices { return &u.Services },
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
