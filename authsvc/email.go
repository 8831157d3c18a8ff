package authsvc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/page"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

type userEmails struct {
	Emails []userEmail `json:"emails" required:"true" maxItems:"100"`
}

type userEmail struct {
	Address string `json:"address" required:"true" format:"email" maxLength:"254"`
	Main    bool   `json:"main" default:"false" doc:"Exactly one address is the main one."`
}

type adminEmails struct {
	Emails []adminEmail `json:"emails" required:"true" maxItems:"100"`
}

type adminEmail struct {
	Address   string `json:"address" required:"true" format:"email" maxLength:"254"`
	Main      bool   `json:"main" default:"false" doc:"Exactly one address is the main one."`
	Confirmed *bool  `json:"confirmed" doc:"null: as it is; a new address is not."`
}

func (s *Service) emailOperations() []rest.Operation {
	reply := &rest.Schema{Type: "array", Items: rest.SchemaOf[Email]()}
	put := rest.Operation{
		Method: http.MethodPut, Path: "/users/{user_uuid}/emails", Access: "auth.users.{user_uuid}.emails.update",
		ID: "update_user_emails", Tag: "users", Summary: "Replace a user's addresses",
		Description: "Addresses that the user has already stay as they are; new ones must be confirmed before anybody can log in with them.",
		Body:        rest.SchemaOf[userEmails](), Success: http.StatusOK, Reply: reply, Tenanted: true, Statuses: []int{404, 409, 412},
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			body, err := rest.Decode[userEmails](r)
			if err != nil {
				return rest.Reply{}, err
			}
			want := make([]adminEmail, len(body.Emails))
			for i, w := range body.Emails {
				want[i] = adminEmail{w.Address, w.Main, nil}
			}
			return s.replaceEmails(ctx, r, want)
		},
	}
	admin := put
	admin.Path, admin.Access, admin.ID = "/admin/users/{user_uuid}/emails", "auth.admin.users.{user_uuid}.emails.update", "admin_update_user_emails"
	admin.Summary, admin.Body = "Replace a user's addresses, and say which are confirmed", rest.SchemaOf[adminEmails]()
	admin.Description = "A user logs in with a confirmed address, and can have the password reset by it."
	admin.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		body, err := rest.Decode[adminEmails](r)
		if err != nil {
			return rest.Reply{}, err
		}
		return s.replaceEmails(ctx, r, body.Emails)
	}
	return append([]rest.Operation{put, admin}, s.confirmOperations()...)
}

// replaceEmails replaces the addresses by those in want. An address is a way into the account, so the caller must cover
// everything that the user holds.
func (s *Service) replaceEmails(ctx context.Context, r *rest.Request, want []adminEmail) (rest.Reply, error) {
	if err := checkEmails(want); err != nil {
		return rest.Reply{}, err
	}
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	var now []Email
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := firstError(notDeniedOf(r.Principal(), u.UUID, "emails.update"), s.mayActOn(ctx, tx, r.Principal(), u.UUID)); err != nil {
			return err
		}
		if err := s.unchangedUser(ctx, tx, r, u.UUID); err != nil {
			return err
		}
		before, err := emailsOf(ctx, tx, u.UUID)
		if err != nil {
			return err
		}
		by, err := vouchersBy(ctx, tx, r.Principal(), u.UUID)
		if err != nil {
			return err
		}
		if err := s.writeEmails(ctx, tx, u.UUID, before, want, by); err != nil {
			return err
		}
		if err := writeLogins(ctx, tx, u.UUID); err != nil {
			return err
		}
		if err := keepAdministrator(ctx, tx); err != nil {
			return err
		}
		if now, err = emailsOf(ctx, tx, u.UUID); err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, audit.Change{Tenant: u.TenantUUID, Resource: "users/emails", Object: u.UUID, Before: before, After: now})
	})
	return rest.Reply{Body: now}, err
}

// checkEmails refuses addresses of which none or several are the main one, and duplicates, however they are spelled.
func checkEmails(want []adminEmail) error {
	invalid := func(format string, args ...any) error {
		return apierr.New(apierr.Invalid, format, args...).Of("emails")
	}
	mains, seen := 0, map[string]bool{}
	for i, w := range want {
		_, key, err := checkName("emails", w.Address)
		if err != nil {
			return err
		}
		if seen[key] {
			return invalid("Address %d is there twice", i+1)
		}
		seen[key] = true
		if w.Main {
			mains++
		}
	}
	switch {
	case len(want) > 0 && mains == 0:
		return invalid("At least one address should be main")
	case mains > 1:
		return invalid("Only one address should be main")
	}
	return nil
}

func emailsOf(ctx context.Context, c store.Conn, user string) ([]Email, error) {
	return store.Select[Email](ctx, c, `SELECT uuid, user_uuid, address, main, confirmed FROM auth_email
		WHERE user_uuid = $1 ORDER BY main DESC, address`, user)
}

// writeEmails keeps the rows of addresses that stay, with the rows that refer to them. An address that is no longer confirmed
// resets no password.
//
// by vouch for addresses that are new or confirmed now, and for those for which nobody who holds enough has vouched.
func (s *Service) writeEmails(ctx context.Context, tx store.Conn, user string, before []Email, want []adminEmail, by []voucher) error {
	kept := map[string]Email{}
	for _, b := range before {
		kept[strings.ToLower(b.Address)] = b
	}
	var fresh []adminEmail
	for _, w := range want {
		b, had := kept[strings.ToLower(w.Address)]
		if !had {
			fresh = append(fresh, w)
			continue
		}
		delete(kept, strings.ToLower(w.Address))
		if err := s.keepEmail(ctx, tx, user, b, w, by); err != nil {
			return err
		}
	}
	for _, gone := range kept {
		if err := vouch(ctx, tx, user, vouchEmail(gone.UUID), nil); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM auth_email WHERE uuid = $1`, gone.UUID); err != nil {
			return err
		}
	}
	for _, w := range fresh { // after the old ones are gone, so that no address exists twice in between
		if err := addEmail(ctx, tx, user, w, by); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) keepEmail(ctx context.Context, tx store.Conn, user string, b Email, w adminEmail, by []voucher) error {
	confirmed := b.Confirmed
	if w.Confirmed != nil {
		confirmed = *w.Confirmed
	}
	if _, err := tx.Exec(ctx, `UPDATE auth_email SET address = $2, main = $3, confirmed = $4 WHERE uuid = $1`,
		b.UUID, w.Address, w.Main, confirmed); err != nil {
		return err
	}
	stands, err := s.emailStands(ctx, tx, user, b.UUID)
	switch {
	case err == nil && !stands:
		err = vouch(ctx, tx, user, vouchEmail(b.UUID), by)
	case err == nil && confirmed && !b.Confirmed:
		err = alsoVouch(ctx, tx, user, vouchEmail(b.UUID), by)
	}
	if err != nil || confirmed {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM auth_single_use WHERE email_uuid = $1 AND kind = $2`, b.UUID, resetsPassword)
	return err
}

func addEmail(ctx context.Context, tx store.Conn, user string, w adminEmail, by []voucher) error {
	email := uuid.NewString()
	if _, err := tx.Exec(ctx, `INSERT INTO auth_email (uuid, user_uuid, address, main, confirmed) VALUES ($1, $2, $3, $4, $5)`,
		email, user, w.Address, w.Main, w.Confirmed != nil && *w.Confirmed); err != nil {
		return err
	}
	return vouch(ctx, tx, user, vouchEmail(email), by)
}

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

func (s *Service) requestConfirmation(ctx context.Context, r *rest.Request) error {
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return err
	}
	email, err := r.UUIDParam("email_uuid")
	if err != nil {
		return err
	}
	to, err := store.Get[addressee](ctx, s.db, selectAddressee+`WHERE e.uuid = $1 AND u.uuid = $2`, email, u.UUID)
	if err != nil {
		return missing(err, unknownEmail(email))
	}
	if to.Confirmed {
		return apierr.New(apierr.Conflict, "This address is confirmed already").Of("emails")
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
	token, err := newSingleUse(ctx, s.db, confirmsAddress, to.UserUUID, to.EmailUUID)
	if err != nil {
		return err
	}
	return mailFailure(settings.Mailer.Confirmation(ctx, to.recipient(), to.EmailUUID, token))
}

// mailsTo returns the key that counts the mails to an address, whichever accounts claim it.
func mailsTo(address string) throttle.Key {
	if key, ok := Canonical(address); ok {
		address = key
	}
	return throttle.KeyOf("mails to", address)
}

func noMail() error {
	return apierr.New(apierr.Unavailable, "This gateway has no mail server to send mails with; its operator can configure one").
		Named("mail-not-configured")
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
	return apierr.New(apierr.NotFound, "Email was not found").Named("unknown-email").Of("emails").With("uuid", uuid)
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
	return page.Reply(http.StatusOK, "E-mail address confirmed", "The address "+address+" is confirmed: its user can log in with it from now on."), nil
}

// refusedLink tells a person why the link did nothing. Programs get the error itself, and faults are logged.
func refusedLink(r *rest.Request, err error) (rest.Reply, error) {
	e := rest.Refusal(err)
	if e.Status() >= http.StatusInternalServerError || !page.Wanted(r.HTTP) {
		return rest.Reply{}, err
	}
	sentence := e.Sentence() + "."
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
	access := strings.ReplaceAll(confirmAccess, "{email_uuid}", email)
	by, err := s.presented(ctx, r, confirmsAddress, token, token, access, func(link singleUse) bool { return link.EmailUUID == email })
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
	f, err := store.Get[addressee](ctx, tx, selectAddressee+`WHERE e.uuid = $1`, email)
	if err = missing(err, unknownEmail(email)); err != nil {
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
	err = writeLogins(ctx, tx, f.UserUUID)
	if e := apierr.As(err); e != nil && e.Kind == apierr.Conflict { // it is another user's by now
		err = unknownEmail(email)
	}
	if err != nil {
		return "", err
	}
	return f.Address, audit.Write(ctx, tx, r, audit.Change{
		Tenant: f.TenantUUID, Resource: "users/emails", Object: f.UserUUID,
		Before: Email{email, f.UserUUID, f.Address, false, false}, After: Email{email, f.UserUUID, f.Address, false, true},
	})
}

// The tokens in mails let their holder do one thing, once, for a limited time. They are not sessions and allow nothing else. A
// token belongs to one user and one address. It ends when the address is removed, when it is used, when it expires, and, if it
// resets a password, when the password changes.

// Kinds of single-use tokens.
const (
	confirmsAddress = "confirm"
	resetsPassword  = "reset"
)

func newSingleUse(ctx context.Context, c store.Conn, kind, user, email string) (string, error) {
	now, err := store.Get[time.Time](ctx, c, `SELECT now_utc()`)
	if err != nil {
		return "", err
	}
	token := tokens.New()
	d := tokens.DigestOf(token)
	if _, err := c.Exec(ctx, `INSERT INTO auth_single_use (digest, kind, user_uuid, email_uuid, expires_at) VALUES ($1, $2, $3, $4, $5)`,
		d[:], kind, user, email, now.Add(mail.Validity)); err != nil {
		return "", fmt.Errorf("storing a token for a mail: %w", err)
	}
	return token, nil
}

// singleUse says whose token it is, and where it was sent.
type singleUse struct {
	UserUUID  string `db:"user_uuid"`
	EmailUUID string `db:"email_uuid"`
}

// findSingleUse returns a valid token, or errBadLink. Service.presented limits the rate.
func findSingleUse(ctx context.Context, c store.Conn, kind, token string) (singleUse, error) {
	d := tokens.DigestOf(token)
	return orBadLink(store.Get[singleUse](ctx, c, `SELECT user_uuid, email_uuid FROM auth_single_use
		WHERE digest = $1 AND kind = $2 AND expires_at > now_utc()`, d[:], kind))
}

// takeSingleUse is findSingleUse, and ends the token when the transaction commits. Of two concurrent callers, one gets it.
// Neither gets it if those who vouch for the address now hold less than the user.
func (s *Service) takeSingleUse(ctx context.Context, tx store.Conn, kind, token string) (singleUse, error) {
	d := tokens.DigestOf(token)
	link, err := orBadLink(store.Get[singleUse](ctx, tx, `DELETE FROM auth_single_use
		WHERE digest = $1 AND kind = $2 AND expires_at > now_utc() RETURNING user_uuid, email_uuid`, d[:], kind))
	if err != nil {
		return link, err
	}
	ok, err := s.emailStands(ctx, tx, link.UserUUID, link.EmailUUID)
	if err == nil && !ok {
		err = errBadLink()
	}
	return link, err
}

// presented returns who makes a request: the reader of a mail who sends its token (nil), if meant, or the user of the token
// bearer, who must hold the access. It limits the rate of unknown tokens.
func (s *Service) presented(
	ctx context.Context, r *rest.Request, kind, token, bearer, access string, meant func(singleUse) bool,
) (by *principal.Principal, err error) {
	if !tokens.WellFormed(token) {
		return s.bearer(ctx, r, bearer, access)
	}
	err = s.lookUp(ctx, r.HTTP, token, func() error {
		link, err := findSingleUse(ctx, s.db, kind, token)
		e := apierr.As(err)
		switch {
		case err == nil && meant(link):
			return nil
		case err != nil && (e == nil || e.Kind != apierr.Unauthorized):
			return err
		}
		by, err = s.bearer(ctx, r, bearer, access)
		return err
	})
	return by, err
}

func orBadLink(found singleUse, err error) (singleUse, error) {
	return found, missing(err, errBadLink())
}

// errBadLink is the one response to a token that is not, or no longer, valid, whatever the reason.
func errBadLink() error {
	return apierr.New(apierr.Unauthorized, "This link is not valid, or not any longer; ask for a new one")
}

// sentToken returns the token of a request that takes one as ?token=, as in a link, or as X-Auth-Token.
func sentToken(r *rest.Request) string {
	if token, ok := r.Query("token"); ok {
		return token
	}
	return r.HTTP.Header.Get("X-Auth-Token")
}

var tokenParameter = rest.Parameter{
	Name: "token", Description: "The token of the mail, unless X-Auth-Token has it.", Schema: &rest.Schema{Type: "string"},
}

const (
	// maxJobs is how many jobs may run at once; more are refused.
	maxJobs = 64
	// jobTimeout bounds one job, closeTimeout the wait for jobs when the service ends.
	jobTimeout   = time.Minute
	closeTimeout = 5 * time.Second
)

// background runs jobs after the response, so that the time of the response does not reveal what had to be done.
type background struct {
	ctx    context.Context //nolint:containedctx // outlives the requests that start jobs
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   errgroup.Group
}

func newBackground() *background {
	b := new(background)
	b.work.SetLimit(maxJobs)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// start runs a job, or returns false if too many are running.
func (b *background) start(do func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	return b.work.TryGo(func() error {
		ctx, cancel := context.WithTimeout(b.ctx, jobTimeout)
		defer cancel()
		do(ctx)
		return nil
	})
}

// close accepts no more jobs, and waits for those that run. After closeTimeout it cancels them.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	defer b.cancel()
	defer time.AfterFunc(closeTimeout, b.cancel).Stop()
	_ = b.work.Wait() // jobs return no errors
}
