package oauth2

import (
	"encoding/json"

	"github.com/ringfence/ringfence/authsvc/external"
)

// Generic is a Plugin that shows the scope of its credentials in the list of a user's external authentications.
type Generic struct{ *Plugin }

// NewGeneric returns the plugin of a service. An error is a mistake in the configuration.
func NewGeneric(c Config) (Generic, error) {
	p, err := New(c)
	return Generic{p}, err
}

// SafeView returns only the scope.
func (Generic) SafeView(data json.RawMessage) (any, error) {
	c, err := decode(data)
	return map[string]any{"scope": c.Scope}, err
}

var _ external.SafeViewer = Generic{}
