package store

import "context"

// A Scratcher makes copies of its database. SQLite is one: who tries something long in the database itself keeps all others from writing.
type Scratcher interface {
	// Scratch returns a copy of the database as it is now, beside it, of which nobody else knows. Close removes it. Nobody waits for it.
	Scratch(ctx context.Context) (DB, error)
}

// Scratch returns a copy of a database, or nil if its engine needs none.
func Scratch(ctx context.Context, db DB) (DB, error) {
	if late, ok := db.(*Late); ok {
		db = late.Open()
	}
	if s, ok := db.(Scratcher); ok {
		return s.Scratch(ctx)
	}
	return nil, nil //nolint:nilnil // it says so
}
