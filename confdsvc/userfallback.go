package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// UserFallbacks say where calls go that a user does not take.
type UserFallbacks struct {
	NoAnswer   *Destination `json:"noanswer_destination"`
	Busy       *Destination `json:"busy_destination" doc:"Where calls go if the user is busy."`
	Congestion *Destination `json:"congestion_destination"`
	Fail       *Destination `json:"fail_destination" doc:"Where calls go if the user cannot be reached."`
}

// ToUser leads calls to a user.
type ToUser struct {
	UserID    int64    `json:"user_id" required:"true" ref:"users.id" minimum:"0" maximum:"9007199254740991"`
	RingTime  *float64 `json:"ring_time" minimum:"0" maximum:"2147483647" doc:"In seconds."`
	MOHUUID   *string  `json:"moh_uuid" ref:"moh.uuid" format:"uuid" doc:"The UUID of the music on hold."`
	Firstname *string  `json:"user_firstname,omitempty" readOnly:"true" shows:"firstname"`
	Lastname  *string  `json:"user_lastname" readOnly:"true" shows:"lastname"`
}

// keyToUser calls a user by a function key.
type keyToUser struct {
	keyHref

	UserID    int64   `json:"user_id" required:"true" ref:"users.id" minimum:"0" maximum:"9007199254740991"`
	Firstname *string `json:"user_firstname" readOnly:"true" shows:"firstname"`
	Lastname  *string `json:"user_lastname" readOnly:"true" shows:"lastname"`
}

// userDestinations are where calls go that users do not take.
var userDestinations = holds[User]("of_user_id")

func init() {
	destinationKinds = append(destinationKinds, kind[ToUser]("user", ""))
	funcKeyKinds = append(funcKeyKinds, kind[keyToUser]("user", ""))
	resources = append(resources, func(e *crud.Engine) {
		crud.Part[User, UserFallbacks]{
			Path: "fallbacks", ID: "user_fallback", Replaces: true, Nested: true, Field: func(u *User) *UserFallbacks { return &u.Fallbacks },
		}.On(e)
	})
}
