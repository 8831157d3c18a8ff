package confdsvc

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// PhoneNumber is a number of the tenant in the public network.
type PhoneNumber struct {
	UUID         string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID   string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Number       string  `db:"number" json:"number" required:"true" maxLength:"128" pattern:"^\\+?[0-9]+$" example:"+15551234"`
	CallerIDName *string `db:"caller_id_name" json:"caller_id_name" minLength:"1" maxLength:"256"`
	Main         bool    `db:"main" json:"main" readOnly:"true" doc:"Whether it is the tenant's main number."`
	Shared       bool    `db:"shared" json:"shared" default:"false" doc:"Whether every user may call with it. The main number is."`
	crud.Hrefs
}

func init() { resources = append(resources, declarePhoneNumbers) }

func declarePhoneNumbers(e *crud.Engine) {
	columns := []string{"number", "caller_id_name", "shared", "main"}
	crud.Collect(e, crud.Resource[PhoneNumber]{
		Path: "phone-numbers", Singular: "phone_number", Param: "phone_number_uuid", Title: "PhoneNumber",
		About: "The public numbers of a tenant.", Lists: []string{"number", "caller_id_name", "main", "shared"},
		Table: "confd_phone_number", Keys: []string{"uuid"},
		Known: map[string]string{"main": "main"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[PhoneNumber]) error {
			if change.Old == nil {
				change.New.UUID = uuid.NewString()
			}
			return nil
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[PhoneNumber]) error {
			if n := change.New; n.Main && !n.Shared {
				return apierr.InvalidField("shared", "depends", "The main number is shared")
			}
			return nil
		},
		Guard: func(_ context.Context, _ store.Conn, change *crud.Change[PhoneNumber]) error {
			if !change.Old.Main {
				return nil
			}
			return rights.NotDenied(change.Request, "confd.phone-numbers.main.update") // the tenant has none then
		},
	})
	mainPhoneNumber(e)
	phoneNumberRanges(e)
}

// MainPhoneNumber names a tenant's main number.
type MainPhoneNumber struct {
	UUID string `json:"phone_number_uuid" required:"true" format:"uuid" doc:"The UUID of the number."`
}

func mainPhoneNumber(e *crud.Engine) {
	const path = "/phone-numbers/main"
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: path, Access: "confd.phone-numbers.main.read", ID: "get_phone_number_main", Tag: "phone_numbers",
		Summary: "Read the main number of a tenant", Success: http.StatusOK, Reply: rest.SchemaOf[PhoneNumber](), Statuses: []int{404}, Tenanted: true,
		Handle: e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
			has, err := mainOf(ctx, c, e, scope)
			if err != nil {
				return nil, err
			}
			if has == nil {
				return nil, apierr.New(apierr.NotFound, "PhoneNumber was not found: the tenant has no main number")
			}
			if err := crud.Of[PhoneNumber](e).NotDenied(r, has, "read"); err != nil {
				return nil, err
			}
			return crud.Of[PhoneNumber](e).Find(ctx, c, scope, has.UUID)
		}),
	})
	e.Add(rest.Operation{
		Method: http.MethodPut, Path: path, Access: "confd.phone-numbers.main.update", ID: "set_phone_number_main", Tag: "phone_numbers",
		Summary: "Choose the main number of a tenant", Description: "It is shared from then on.",
		Body: rest.SchemaOf[MainPhoneNumber](), Success: http.StatusNoContent, Tenanted: true, Transactional: true, Located: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			scope, err := e.TenantOf(ctx, r)
			if err != nil {
				return rest.Reply{}, err
			}
			chosen, err := rest.Decode[MainPhoneNumber](r)
			if err != nil {
				return rest.Reply{}, err
			}
			if err := e.InTx(ctx, func(ctx context.Context, c store.Conn) error { return chooseMain(ctx, c, e, r, scope, chosen.UUID) }); err != nil {
				return rest.Reply{}, err
			}
			return rest.Reply{Header: http.Header{"Location": {e.Prefix + "/phone-numbers/" + chosen.UUID}}}, nil
		},
	})
}

// chooseMain makes one of a tenant's own numbers its main number, and the previous one an ordinary number.
func chooseMain(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, scope, chosen string) error {
	numbers := crud.Of[PhoneNumber](e)
	own, err := numbers.Select(ctx, c, "tenant_uuid = $1 AND uuid = $2", scope, chosen)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return crud.Missing("phone_number_uuid", "PhoneNumber", "phone_number_uuid", chosen)
	}
	before, err := mainOf(ctx, c, e, scope)
	if err != nil {
		return err
	}
	change := func(n *PhoneNumber, edit func(n *PhoneNumber) error) error {
		if err := numbers.NotDenied(r, n, "update"); err != nil {
			return err
		}
		return numbers.Update(ctx, c, &crud.Change[PhoneNumber]{Request: r, Tenant: scope, Old: n}, edit)
	}
	if before != nil && before.UUID != own[0].UUID {
		if err := change(before, func(n *PhoneNumber) error { n.Main = false; return nil }); err != nil {
			return err
		}
	}
	return change(own[0], func(n *PhoneNumber) error { n.Main, n.Shared = true, true; return nil })
}

// mainOf returns the main number of a tenant, or nil.
func mainOf(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string) (*PhoneNumber, error) {
	return firstOf(crud.Of[PhoneNumber](e).Select(ctx, c, "tenant_uuid = $1 AND main", tenantUUID))
}
