// Package microsoft links users to their Microsoft accounts, for the contacts unless a client asks for other scopes. See package
// oauth2 for how.
package microsoft

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"

	"github.com/ringfence/ringfence/authsvc/external/oauth2"
)

// Config has no required fields.
type Config struct {
	// Directory says whose accounts may be linked: common, organizations, consumers, or a directory's id or domain. Default:
	// common.
	Directory string
	// Scopes are requested if a client names none. Default: offline_access, without which there is no refresh token, and
	// Contacts.Read.
	Scopes []string
	// AuthURL and TokenURL are Microsoft's own by default.
	AuthURL, TokenURL string
	// Client sends the requests to the TokenURL. Default: oauth2.Config's.
	Client *http.Client
}

var directory = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]{0,252}$`)

// New returns the plugin, of type microsoft.
func New(c Config) (*oauth2.Plugin, error) {
	c.Directory = cmp.Or(c.Directory, "common")
	if !directory.MatchString(c.Directory) {
		return nil, fmt.Errorf("%q is no directory", c.Directory)
	}
	if c.Scopes == nil {
		c.Scopes = []string{"offline_access", "Contacts.Read"}
	}
	base := "https://login.microsoftonline.com/" + c.Directory + "/oauth2/v2.0/"
	return oauth2.New(oauth2.Config{
		Type:     "microsoft",
		AuthURL:  cmp.Or(c.AuthURL, base+"authorize"),
		TokenURL: cmp.Or(c.TokenURL, base+"token"),
		Scopes:   c.Scopes,
		Client:   c.Client,
	})
}
