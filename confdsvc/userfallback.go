package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// UserFallbacks say where calls go that a user does not take.
type UserFallbacks struct {
	NoAnswer   *Destination `json:"noanswer_destination"`
	Busy       *Destination `json:"busy_destination"`
	Congestion *Destination `json:"congestion_destination"`
	Fail       *Destination `json:"fail_destination"`
}

var userDestinations = holdsDestinations(destinationOwner[User]{
	column: "of_user_id", keyColumn: "id", change: "fallbacks.update", key: func(u *User) any { return u.ID },
	slots: func(u *User) slots {
		f := &u.Fallbacks
		return slots{
			"noanswer": nullable{&f.NoAnswer}, "busy": nullable{&f.Busy}, "congestion": nullable{&f.Congestion}, "fail": nullable{&f.Fail},
		}
	},
})

func init() {
	resources = append(resources, func(e *crud.Engine) {
		crud.Part[User, UserFallbacks]{
			Path: "fallbacks", ID: "user_fallback", Whole: true, Nested: true, Field: func(u *User) *UserFallbacks { return &u.Fallbacks },
		}.On(e)
	})
}
