// Package google links users to their Google accounts, for the profile and the contacts unless a client asks for other scopes.
// See package oauth2 for how.
package google

import (
	"cmp"
	"net/http"

	"github.com/ringfence/ringfence/authsvc/external/oauth2"
)

// Config has no required fields.
type Config struct {
	// Scopes are requested if a client names none. Default: the profile and the contacts.
	Scopes []string
	// AuthURL and TokenURL are Google's own by default.
	AuthURL, TokenURL string
	// Client sends the requests to the TokenURL. Default: oauth2.Config's.
	Client *http.Client
}

// New returns the plugin, of type google. It requests consent each time, and offline access: Google returns a refresh token only
// for both together.
func New(c Config) (*oauth2.Plugin, error) {
	if c.Scopes == nil {
		c.Scopes = []string{"https://www.googleapis.com/auth/userinfo.profile", "https://www.googleapis.com/auth/contacts"}
	}
	return oauth2.New(oauth2.Config{
		Type:       "google",
		AuthURL:    cmp.Or(c.AuthURL, "https://accounts.google.com/o/oauth2/v2/auth"),
		TokenURL:   cmp.Or(c.TokenURL, "https://oauth2.googleapis.com/token"),
		Scopes:     c.Scopes,
		Parameters: map[string]string{"access_type": "offline", "prompt": "consent"},
		Client:     c.Client,
	})
}
