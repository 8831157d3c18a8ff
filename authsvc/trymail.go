package authsvc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

type mailTest struct {
	Address string `json:"address" format:"email" maxLength:"254" example:"ada@example.com" doc:"Where it goes; by default to the caller's own confirmed address."`
}

type mailTested struct {
	Address  string `json:"address" doc:"Where the mail went."`
	Accepted bool   `json:"accepted" doc:"Whether the mail server has taken the mail."`
	Message  string `json:"message" example:"connecting to mx.example.com:587: connection refused" doc:"What went wrong, and what the server said, if it did not."`
}

func (s *Service) mailOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodPost, Path: "/mail/test", Access: "auth.mail.test.create", ID: "test_mail", Tag: "mail",
		Summary:     "Send a mail, to see whether the mail server takes it",
		Description: "For users of the master tenant. The answer comes when the server has taken the mail, or has not.",
		Body:        rest.SchemaOf[mailTest](), Success: http.StatusOK, Reply: rest.SchemaOf[mailTested](), Statuses: []int{http.StatusTooManyRequests},
		Master: rest.FromMaster, Handle: s.testMail,
	}}
}

// testMail counts among the mails to its address, and among those that its caller may ask for.
func (s *Service) testMail(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	body, err := rest.Decode[mailTest](r)
	if err == nil {
		err = s.masterOnly(ctx, r)
	}
	if err != nil {
		return reply, err
	}
	settings := s.settings.Load()
	if !settings.Mailer.Enabled() {
		return reply, noMail()
	}
	user, to := r.Principal().UserUUID, body.Address
	if to == "" {
		to, err = s.ownAddress(ctx, user)
	}
	if err == nil {
		err = s.throttle.Spend(ctx, throttle.KeyOf("test mails of", user), settings.Limits.MailRequests)
	}
	if err == nil {
		err = s.throttle.Spend(ctx, mailsTo(to), settings.Limits.Mails)
	}
	if err != nil {
		return reply, err
	}
	tested := mailTested{Address: to, Accepted: true}
	err = settings.Mailer.Test(ctx, to)
	if errors.Is(err, mail.ErrRecipient) || ctx.Err() != nil {
		return reply, mailFailure(err)
	}
	if err != nil {
		tested.Accepted, tested.Message = false, err.Error()
	}
	slog.InfoContext(ctx, "a mail was sent to test the mail server", "accepted", tested.Accepted, "message", tested.Message, "user_uuid", user)
	return rest.Reply{Body: tested}, nil
}

// ownAddress returns the confirmed address of a user, the main one if that is.
func (s *Service) ownAddress(ctx context.Context, user string) (string, error) {
	to, err := store.Get[string](ctx, s.db, `SELECT address FROM auth_email WHERE user_uuid = $1 AND confirmed ORDER BY main DESC, address LIMIT 1`, user)
	if errors.Is(err, store.ErrNotFound) {
		err = apierr.InvalidField("address", "required", "Is required, since you have no confirmed address")
	}
	return to, err
}
