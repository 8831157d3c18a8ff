// Package google links users to their Google accounts, for the profile and the contacts unless a client asks for other scopes.
// How it does, package oauth2 says.
package google

import (
	"cmp"
	"net/http"

	"github.com/ringfence/ringfence/authsvc/external/oauth2"
)

// Config has nothing that must be set.
type Config struct {
	// Scopes are asked for when a client names none. Default: the profile and the contacts.
	Scopes []string
	// AuthURL and TokenURL are Google's own by default.
	AuthURL, TokenURL string
	// Client speaks to the TokenURL. Default: oauth2.Config's.
	Client *http.Client
}

// New returns the plugin, of type google. It asks for consent each time and for offline access: Google gives a refresh token
// for both together alone.
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
