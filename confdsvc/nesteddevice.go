package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func init() {
	resources = append(resources, func(e *crud.Engine) {
		noDevice[User]("", false).On(e)
		noDevice[Line]("string", true).On(e)
	})
}

// noDevice is the attribute that names a device for a new line. There are no devices here, so no name leads to one. jsonType is the type in
// the definition, which says of a user's that it may be anything.
func noDevice[T any](jsonType string, inside bool) crud.Nested[T] {
	longest := 255
	text := &rest.Schema{Type: "string", MaxLength: &longest}
	schema := func() *rest.Schema {
		return &rest.Schema{
			Type: jsonType, Nullable: true, Multiline: true, MaxLength: &longest, Doc: "There are none: it may only be null or empty.",
			Check: func(value any) []apierr.Field { return text.Validate("", value) },
		}
	}
	return crud.Nested[T]{
		Name: "device_id", Inside: inside, Body: schema, Partial: schema,
		Prepare: func(_ context.Context, _ store.Conn, _ *crud.Change[T], sent any) error {
			if id, _ := sent.(string); id != "" {
				return crud.Missing("device_id", "Device", "device_id", id)
			}
			return nil
		},
	}
}
