package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

func init() {
	resources = append(resources, func(e *crud.Engine) {
		longest := 255
		id := &rest.Schema{Type: "string", MaxLength: &longest}
		noDevice := func(id any) error { return crud.Missing("device_id", "Device", "device_id", id) }
		noDeviceOf := absent[Line]("device_id", id.Type, id, noDevice)
		noDeviceOf.Inside = true
		noDeviceOf.On(e)
		absent[User]("device_id", "", id, noDevice).On(e)
		absent[Line]("endpoint_sccp", "", &rest.Schema{Type: "object"}, none("endpoint_sccp", "Endpoint sccp")).On(e)
	})
}

// none refuses an attribute that names, or describes, what nobody has here.
func none(name, title string) func(sent any) error {
	return func(any) error { return apierr.New(apierr.Invalid, "field '%s': %s was not found", name, title).On("") }
}

// absent is an attribute for what nobody has here: it may only be null or empty. The definition shows it with the type jsonType, wanted is what
// its values look like where it leads to something, and refuse refuses one.
func absent[T any](name, jsonType string, wanted *rest.Schema, refuse func(sent any) error) crud.Nested[T] {
	schema := func() *rest.Schema {
		return &rest.Schema{
			Type: jsonType, Nullable: true, Multiline: true, MaxLength: wanted.MaxLength, Doc: "There are none: it may only be null or empty.",
			Check: func(value any) []apierr.Field { return wanted.Validate("", value) },
		}
	}
	return crud.Nested[T]{
		Name: name, Body: schema, Partial: schema,
		Receive: func(_ context.Context, _ *rest.Request, _ rest.Object, sent any) (any, error) {
			if sent == nil || sent == "" {
				return nil, nil
			}
			return nil, refuse(sent)
		},
	}
}
