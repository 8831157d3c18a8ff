package confdsvc

import (
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// relabelled takes the name that an update sends without a label for the label: older clients know that word alone. On create the tag `or`
// does so. A client that sends back the generated name has not changed it.
func relabelled[T any](change *crud.Change[T], generated string, label *string) error {
	name := change.Sent.Value("name")
	if change.Old == nil || change.Sent.Has("label") || name == nil || name == generated {
		return nil
	}
	if wrong := rest.SchemaOf[T]().Property("label").Schema.Validate("name", name); len(wrong) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	*label = name.(string)
	return nil
}
