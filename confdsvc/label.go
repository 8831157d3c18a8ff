package confdsvc

import (
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// takeLabel sets the label of a new object that is sent without one to its name, the older attribute for it. An object with
// neither is refused.
func takeLabel[T any](change *crud.Change[T], label *string) error {
	if change.Old != nil || *label != "" || change.Sent.Has("label") {
		return nil
	}
	name, sent := change.Sent.Value("name").(string)
	if !sent {
		return &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{Name: "label", Constraint: "required", Value: "required", Message: "Is required"}}}
	}
	if wrong := rest.SchemaOf[T]().Property("label").Schema.Validate("label", name); len(wrong) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	*label = name
	return nil
}
