package authsvc

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// userEmails is the body of PUT /users/{user_uuid}/emails.
type userEmails struct {
	Emails []userEmail `json:"emails" required:"true" maxItems:"100"`
}

type userEmail struct {
	Address string `json:"address" required:"true" format:"email" maxLength:"254"`
	Main    bool   `json:"main" default:"false" doc:"Exactly one address is the main one."`
}

// adminEmails is the body of PUT /admin/users/{user_uuid}/emails.
type adminEmails struct {
	Emails []adminEmail `json:"emails" required:"true" maxItems:"100"`
}

type adminEmail struct {
	Address   string `json:"address" required:"true" format:"email" maxLength:"254"`
	Main      bool   `json:"main" default:"false" doc:"Exactly one address is the main one."`
	Confirmed *bool  `json:"confirmed" doc:"null: as it is; a new address is not."`
}

// emailOperations replace a user's addresses, and confirm them.
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
		if err := writeLogins(ctx, tx, r, u.UUID); err != nil {
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
		e := apierr.New(apierr.Invalid, format, args...)
		e.Resource = "emails"
		return e
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

// keepEmail changes an address that stays.
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
