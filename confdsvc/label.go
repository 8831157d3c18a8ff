package confdsvc

import (
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// takeLabel gives a new object that is sent without a label its name, which is what the label was called once. One with neither is refused.
func takeLabel[T any](change *crud.Change[T], label *string) error {
	if change.Old != nil || *label != "" || change.Sent.Has("label") {
		return nil
	}
	name, sent := change.Sent.Value("name").(string)
	if !sent {
		return apierr.InvalidField("label", "required", "Is required")
	}
	if wrong := rest.SchemaOf[T]().Property("label").Schema.Validate("label", name); len(wrong) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	*label = name
	return nil
}
