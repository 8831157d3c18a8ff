// Command external-plugin is the gateway with one more plugin in it, of somebody else's: all of it is in this file.
//
// The plugin links users to their key cards. The company's card service does not speak OAuth 2.0, but has the same manners: the
// user opens a page of the service, holds the card to the reader, and the page sends the browser back with the state that it was given
// and the card's number.
//
//	go run ./examples/external-plugin run --config Caddyfile
//
// with these lines in the Caddyfile's ringfence option:
//
//	public_url https://pbx.example.com:8443
//	external keycard {
//	    page https://cards.example.com/link
//	}
//
// From then on:
//
//	POST   /api/auth/0.1/users/{user_uuid}/external/keycard   {"authorization_url", "state"}
//	GET    /api/auth/0.1/users/{user_uuid}/external/keycard   {"number", "since"}
//	DELETE /api/auth/0.1/users/{user_uuid}/external/keycard
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/caddymodule"
)

func init() { caddy.RegisterModule(new(Keycard)) }

func main() { caddymodule.Main() }

// Keycard links users to their key cards.
type Keycard struct {
	// Page is the card service's, where a user links a card.
	Page string `json:"page"`
}

// CaddyModule returns the Caddy module information: the namespace makes it an external authentication plugin.
func (*Keycard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.external.keycard", New: func() caddy.Module { return new(Keycard) }}
}

// Validate refuses a configuration without a page.
func (k *Keycard) Validate() error {
	if u, err := url.Parse(k.Page); err != nil || u.Scheme != "https" {
		return errors.New("page must begin with https://")
	}
	return nil
}

// UnmarshalCaddyfile parses the block behind "external keycard".
func (k *Keycard) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	for d.NextBlock(0) {
		if d.Val() != "page" || !d.AllArgs(&k.Page) {
			return d.Err("keycard takes: page <url>")
		}
	}
	return nil
}

// Type is the name in paths and accesses. It is all that a plugin must have; what follows is what this one does besides.
func (*Keycard) Type() string { return "keycard" }

// Info is for display.
func (*Keycard) Info() external.Info {
	return external.Info{RequiredACL: []string{"card.number"}}
}

// card is what is stored for a user. The gateway keeps it encrypted.
type card struct {
	Number string    `json:"number"`
	Since  time.Time `json:"since"`
}

type begun struct {
	AuthorizationURL string `json:"authorization_url"`
	State            string `json:"state"`
}

// Schemas puts the shapes into the API's definition.
func (*Keycard) Schemas() external.Schemas {
	return external.Schemas{Created: external.SchemaOf[begun](), Fetched: external.SchemaOf[card]()}
}

// Create begins a link: POST.
func (k *Keycard) Create(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
	back, err := l.Host.BuildOAuth2RedirectURL(l.Type)
	if err != nil {
		return nil, err
	}
	state := rand.Text()
	// A nil callback is Authorized below, on whichever node the card service's page sends the user to.
	if err := l.Host.RegisterOAuth2Callback(ctx, l.Type, l.UserUUID, state, nil); err != nil {
		return nil, err
	}
	return begun{k.Page + "?" + url.Values{"state": {state}, "return_to": {back}}.Encode(), state}, nil
}

// Authorized stores what the card service's page sent. A user may link another card in the place of the first.
func (*Keycard) Authorized(ctx context.Context, l *external.Link, _ []json.RawMessage, message external.Message) error {
	number := message["number"]
	if number == "" || len(number) > 20 {
		return external.Refuse(http.StatusBadRequest, nil, "The card has no number")
	}
	return l.Save(ctx, card{number, time.Now().UTC().Truncate(time.Second)})
}

// SafeView is what the list of a user's external authentications shows: that there is a card, not which.
func (*Keycard) SafeView(data json.RawMessage) (any, error) {
	var c card
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	return map[string]any{"since": c.Since}, nil
}

var _ interface {
	external.Creator
	external.Authorizer
	external.SafeViewer
	external.Informer
	external.Documenter
	caddy.Validator
	caddyfile.Unmarshaler
} = (*Keycard)(nil)
