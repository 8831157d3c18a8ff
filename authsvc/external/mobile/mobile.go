// Package mobile stores the tokens for push notifications to a user's mobile application. It contacts no external service.
package mobile

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ringfence/ringfence/authsvc/external"
)

// Plugin is of type mobile.
type Plugin struct{}

// Type returns mobile.
func (Plugin) Type() string { return "mobile" }

// Info requests no permissions.
func (Plugin) Info() external.Info { return external.Info{} }

// tokens are stored for a user, and are in every reply.
type tokens struct {
	Token                 *string `json:"token" minLength:"1" maxLength:"512"`
	APNSToken             *string `json:"apns_token" maxLength:"512"`
	APNSVoIPToken         *string `json:"apns_voip_token" maxLength:"512"`
	APNSNotificationToken *string `json:"apns_notification_token" maxLength:"512"`
	APNSCallTopic         *string `json:"apns_call_topic" maxLength:"512"`
	APNSDefaultTopic      *string `json:"apns_default_topic" maxLength:"512"`
}

type sender struct {
	SenderID *string `json:"sender_id"`
}

// Schemas returns the shapes of bodies and replies.
func (Plugin) Schemas() external.Schemas {
	s := external.SchemaOf[tokens]()
	return external.Schemas{Create: s, Created: s, Fetched: s, Update: s, Updated: s}
}

// Create stores the tokens of a user who has none.
func (Plugin) Create(ctx context.Context, l *external.Link, body json.RawMessage) (any, error) {
	var t tokens
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, err
	}
	return t, l.Create(ctx, t)
}

// Update stores tokens, whether the user has any or not. Tokens that are not sent stay as they are.
func (Plugin) Update(ctx context.Context, l *external.Link, body json.RawMessage) (any, error) {
	var t tokens
	err := l.Edit(ctx, func(data json.RawMessage) (any, error) {
		t = tokens{}
		if data != nil {
			if err := json.Unmarshal(data, &t); err != nil {
				return nil, errors.New("the stored tokens are not of the form that this plugin writes") // the cause may repeat them
			}
		}
		return &t, json.Unmarshal(body, &t)
	})
	return t, err
}

// Routes returns GET sender_id, which the application needs before it has a token.
func (Plugin) Routes() []external.Route {
	return []external.Route{{
		Method: http.MethodGet, Path: "sender_id", Summary: "Read who sends push notifications in the user's tenant",
		Reply: external.SchemaOf[sender](),
		Handle: func(ctx context.Context, l *external.Link, _ json.RawMessage) (any, error) {
			var config struct {
				FCMSenderID *string `json:"fcm_sender_id"`
			}
			if err := l.Config(ctx, &config); err != nil {
				return nil, err
			}
			return sender{config.FCMSenderID}, nil
		},
	}}
}

var _ interface {
	external.Creator
	external.Updater
	external.Informer
	external.Documenter
	external.Router
} = Plugin{}
