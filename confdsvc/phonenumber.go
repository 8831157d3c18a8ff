package confdsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"

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

// PhoneNumberRange is a range of numbers, including both ends.
type PhoneNumberRange struct {
	Start string `json:"start_number" required:"true" maxLength:"128" pattern:"^\\+?[0-9]+$" example:"+15551000" doc:"The numbers begin with + when it does."`
	End   string `json:"end_number" required:"true" maxLength:"128" pattern:"^\\+?[0-9]+$" example:"+15551099" doc:"The last number."`
}

// PhoneNumbers are the numbers made from a range.
type PhoneNumbers struct {
	Created []PhoneNumberRef `json:"created"`
	Links   []crud.Href      `json:"links" doc:"Those that were created, and those that were there."`
	Total   int              `json:"total"`
}

// PhoneNumberRef names a number.
type PhoneNumberRef struct {
	UUID string `json:"uuid" format:"uuid"`
}

const (
	// rangeSize is how many numbers one request may create.
	rangeSize = 10_000
	// numbersAtOnce is how many are made in one transaction, for which others wait. To send a range again makes those that it lacks.
	numbersAtOnce = 200
)

// numbers returns the numbers of the range, in order. They are as long as the start.
func (p PhoneNumberRange) numbers() ([]string, error) {
	first, last := strings.TrimPrefix(p.Start, "+"), strings.TrimPrefix(p.End, "+")
	start, _ := new(big.Int).SetString(first, 10) // the schema allows only digits
	end, _ := new(big.Int).SetString(last, 10)
	size := new(big.Int).Sub(end, start)
	switch {
	case size.Sign() < 0:
		return nil, apierr.New(apierr.Invalid, "start phone number must precede end phone number").On("end_number")
	case size.Cmp(big.NewInt(rangeSize)) >= 0:
		return nil, apierr.New(apierr.Invalid, "range size must be between 1 and %d", rangeSize).On("end_number")
	}
	plus := p.Start[:len(p.Start)-len(first)]
	out := make([]string, 0, size.Int64()+1)
	for n := new(big.Int).Set(start); n.Cmp(end) <= 0; n.Add(n, big.NewInt(1)) {
		out = append(out, fmt.Sprintf("%s%0*d", plus, len(first), n))
	}
	if strings.TrimPrefix(out[len(out)-1], "+") != last {
		return nil, apierr.InvalidField("end_number", "length", "Must be as long as the start where that begins with 0")
	}
	return out, nil
}

// phoneNumberRanges declares POST /phone-numbers/ranges, which creates all numbers of a range that the tenant does not have.
func phoneNumberRanges(e *crud.Engine) {
	e.Add(rest.Operation{
		Method: http.MethodPost, Path: "/phone-numbers/ranges", Access: "confd.phone-numbers.create", ID: "create_phone_numbers_range", Tag: "phone_numbers",
		Summary: "Create the numbers of a range", Description: fmt.Sprintf("At most %d at once. Those that the tenant has already stay as they are.", rangeSize),
		Body: rest.SchemaOf[PhoneNumberRange](), Success: http.StatusCreated, Reply: rest.SchemaOf[PhoneNumbers](), Tenanted: true, Transactional: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			scope, err := e.TenantOf(ctx, r)
			if err != nil {
				return rest.Reply{}, err
			}
			wanted, err := rest.Decode[PhoneNumberRange](r)
			if err != nil {
				return rest.Reply{}, err
			}
			numbers, err := wanted.numbers()
			if err != nil {
				return rest.Reply{}, err
			}
			made := PhoneNumbers{Created: []PhoneNumberRef{}, Total: len(numbers)}
			for some := range slices.Chunk(numbers, numbersAtOnce) {
				var more PhoneNumbers
				if err := e.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
					more, err = makePhoneNumbers(ctx, c, e, r, scope, some)
					return err
				}); err != nil {
					return rest.Reply{}, err
				}
				made.Created, made.Links = append(made.Created, more.Created...), append(made.Links, more.Links...)
			}
			return rest.Reply{Body: made}, nil
		},
	})
}

func makePhoneNumbers(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, scope string, numbers []string) (PhoneNumbers, error) {
	var made PhoneNumbers
	k := crud.Of[PhoneNumber](e)
	rows := make([][]string, len(numbers))
	for i, number := range numbers {
		rows[i] = []string{number}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return made, err
	}
	there, err := k.Select(ctx, c, "tenant_uuid = $1 AND number IN (SELECT e.value ->> 0 FROM json_each(CAST($2 AS text)) AS e)", scope, string(list))
	if err != nil {
		return made, err
	}
	uuids := make(map[string]string, len(numbers))
	for _, n := range there {
		uuids[n.Number] = n.UUID
	}
	var missing []*crud.Change[PhoneNumber]
	for _, number := range numbers {
		if uuids[number] == "" {
			missing = append(missing, &crud.Change[PhoneNumber]{Request: r, Tenant: scope, New: &PhoneNumber{Number: number}})
		}
	}
	if len(missing) > 0 {
		if err := k.InsertAll(ctx, c, missing); err != nil {
			return made, err
		}
	}
	for _, change := range missing {
		uuids[change.New.Number] = change.New.UUID
		made.Created = append(made.Created, PhoneNumberRef{change.New.UUID})
	}
	for _, number := range numbers {
		made.Links = append(made.Links, crud.Href{Rel: "phone_numbers", Href: e.Prefix + "/phone-numbers/" + uuids[number]})
	}
	return made, nil
}
