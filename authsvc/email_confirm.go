package authsvc

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/page"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// confirmAccess lets an administrator confirm an address.
const confirmAccess = "auth.emails.{email_uuid}.confirm.update"

func (s *Service) confirmOperations() []rest.Operation {
	const who = "Takes the token of the mail, which is good once, or the token of a user who holds " + confirmAccess + "."
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/users/{user_uuid}/emails/{email_uuid}/confirm",
			Access: "auth.users.{user_uuid}.emails.{email_uuid}.confirm.read",
			ID:     "request_email_confirmation", Tag: "users", Summary: "Send a mail with which to confirm an address",
			Success: http.StatusNoContent, Tenanted: true, Statuses: []int{404, 409, 429},
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				return rest.Reply{}, s.requestConfirmation(ctx, r)
			},
		},
		{
			Method: http.MethodGet, Path: "/emails/{email_uuid}/confirm", Public: true, Instead: confirmAccess, ID: "confirm_email_by_link", Tag: "emails",
			Summary: "Confirm an address, from the link in the mail", Description: who, Query: []rest.Parameter{tokenParameter},
			Success: http.StatusOK, Produces: "text/html; charset=utf-8", Statuses: []int{401, 403, 404, 429}, Handle: s.confirmByLink,
		},
		{
			Method: http.MethodPut, Path: "/emails/{email_uuid}/confirm", Public: true, Instead: confirmAccess, ID: "confirm_email", Tag: "emails",
			Summary: "Confirm an address", Description: who,
			Success: http.StatusNoContent, Statuses: []int{401, 403, 404, 429},
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				_, err := s.confirm(ctx, r, r.HTTP.Header.Get("X-Auth-Token"))
				return rest.Reply{}, err
			},
		},
	}
}

// addresseeSQL selects an address and its user, up to the condition.
const addresseeSQL = `SELECT u.uuid AS user_uuid, e.uuid AS email_uuid, e.address, u.username, u.firstname, u.lastname
	FROM auth_email e JOIN auth_user u ON u.uuid = e.user_uuid WHERE `

func (s *Service) requestConfirmation(ctx context.Context, r *rest.Request) error {
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return err
	}
	email, err := r.UUIDParam("email_uuid")
	if err != nil {
		return err
	}
	to, err := store.Get[addressee](ctx, s.db, addresseeSQL+`e.uuid = $1 AND u.uuid = $2`, email, u.UUID)
	if errors.Is(err, store.ErrNotFound) {
		return unknownEmail(email)
	}
	if err != nil {
		return err
	}
	confirmed, err := store.Get[bool](ctx, s.db, `SELECT confirmed FROM auth_email WHERE uuid = $1`, email)
	if err != nil {
		return err
	}
	if confirmed {
		e := apierr.New(apierr.Conflict, "This address is confirmed already")
		e.Resource = "emails"
		return e
	}
	if r.HTTP.Method == http.MethodHead { // HEAD only asks whether the address exists, and sends no mail
		return nil
	}
	return s.sendConfirmation(ctx, to)
}

// sendConfirmation sends the mail, and returns when the mail server has accepted it.
func (s *Service) sendConfirmation(ctx context.Context, to addressee) error {
	settings := s.settings.Load()
	if !settings.Mailer.Enabled() {
		return noMail()
	}
	if err := s.throttle.Spend(ctx, mailsTo(to.Address), settings.Limits.Mails); err != nil {
		return err
	}
	token, err := newSingleUse(ctx, s.db, confirmsAddress, to.UserUUID, to.EmailUUID, settings.ConfirmationValidity)
	if err != nil {
		return err
	}
	return mailFailure(settings.Mailer.Confirmation(ctx, to.recipient(), to.EmailUUID, token))
}

// mailsTo returns the key that counts the mails to an address, whichever accounts claim it.
func mailsTo(address string) throttle.Key {
	if key, ok := canonical(address); ok {
		address = key
	}
	return throttle.KeyOf("mails to", address)
}

func noMail() error {
	e := apierr.New(apierr.Unavailable, "This gateway has no mail server to send mails with; its operator can configure one")
	e.ID = "mail-not-configured"
	return e
}

// mailFailure is what a client may know about a mail that was not sent. The log has the rest.
func mailFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, mail.ErrRecipient):
		return &apierr.Error{Kind: apierr.Invalid, Resource: "emails", Message: "No mail can be written to this address or name", Err: err}
	default:
		return &apierr.Error{Kind: apierr.Unavailable, ID: "mail-not-sent", Message: "The mail could not be sent; try again later", Err: err}
	}
}

func unknownEmail(uuid string) error {
	e := apierr.New(apierr.NotFound, "Email was not found")
	e.Details = map[string]any{"uuid": uuid}
	e.ID, e.Resource = "unknown-email", "emails"
	return e
}

// confirmByLink serves a browser. The page loads nothing from elsewhere, and its address, which holds the token, is not passed
// on.
func (s *Service) confirmByLink(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if r.HTTP.Method == http.MethodHead { // mail scanners check whether links exist; that confirms nothing
		return rest.Reply{}, nil
	}
	address, err := s.confirm(ctx, r, sentToken(r))
	if err != nil {
		return refusedLink(r, err)
	}
	confirmed, err := s.settings.Load().Mailer.ConfirmedPage(address)
	return rest.Reply{Body: confirmed, Header: http.Header{
		"Content-Security-Policy": {"default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"},
		"Referrer-Policy":         {"no-referrer"},
	}}, err
}

// refusedLink tells a person why the link did nothing. Programs get the error itself, and faults are logged.
func refusedLink(r *rest.Request, err error) (rest.Reply, error) {
	e := rest.Refusal(err)
	if e.Status() >= http.StatusInternalServerError || !page.Wanted(r.HTTP) {
		return rest.Reply{}, err
	}
	sentence := rest.Sentence(e) + "."
	if e.Kind == apierr.Unauthorized || e.Kind == apierr.NotFound {
		sentence = "This link was used already, or has expired. If you have opened it before, the address is confirmed. Otherwise ask for a new one."
	}
	return page.Reply(e.Status(), "Nothing was confirmed", sentence), nil
}

// confirm confirms the address of the request's path, and returns it.
func (s *Service) confirm(ctx context.Context, r *rest.Request, token string) (address string, err error) {
	email, err := r.UUIDParam("email_uuid")
	if err != nil {
		return "", err
	}
	by, err := s.presented(ctx, r, confirmsAddress, token, token, strings.ReplaceAll(confirmAccess, "{email_uuid}", email), func(link singleUse) bool { return link.EmailUUID == email })
	if err != nil {
		return "", err
	}
	byMail := by == nil
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		if byMail {
			if _, err := s.takeSingleUse(ctx, tx, confirmsAddress, token); err != nil {
				return err
			}
		}
		address, err = s.confirmEmail(ctx, tx, r, email, by)
		return err
	})
	return address, err
}

// confirmEmail confirms an address, for the reader of the mail (nil) or by the authority of a user.
func (s *Service) confirmEmail(ctx context.Context, tx store.Conn, r *rest.Request, email string, by *principal.Principal) (string, error) {
	type found struct {
		UserUUID   string `db:"user_uuid"`
		TenantUUID string `db:"tenant_uuid"`
		Address    string `db:"address"`
		Confirmed  bool   `db:"confirmed"`
	}
	f, err := store.Get[found](ctx, tx, `SELECT e.user_uuid, u.tenant_uuid, e.address, e.confirmed
		FROM auth_email e JOIN auth_user u ON u.uuid = e.user_uuid WHERE e.uuid = $1`, email)
	if errors.Is(err, store.ErrNotFound) {
		err = unknownEmail(email)
	}
	if err != nil {
		return "", err
	}
	if by != nil {
		if visible, err := tenant.Within(ctx, tx, f.TenantUUID, by.TenantUUID); err != nil || !visible {
			return "", firstError(err, unknownEmail(email))
		}
		if err := s.mayActOn(ctx, tx, by, f.UserUUID); err != nil {
			return "", err
		}
	}
	if f.Confirmed {
		return f.Address, nil
	}
	vouchers, err := vouchersBy(ctx, tx, by, f.UserUUID)
	if err != nil {
		return "", err
	}
	if err := alsoVouch(ctx, tx, f.UserUUID, vouchEmail(email), vouchers); err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, `UPDATE auth_email SET confirmed = true WHERE uuid = $1`, email); err != nil {
		return "", err
	}
	if err := writeLogins(ctx, tx, r, f.UserUUID); err != nil {
		return "", err
	}
	return f.Address, audit.Write(ctx, tx, r, audit.Change{
		Tenant: f.TenantUUID, Resource: "users/emails", Object: f.UserUUID,
		Before: Email{email, f.UserUUID, f.Address, false, false}, After: Email{email, f.UserUUID, f.Address, false, true},
	})
}
