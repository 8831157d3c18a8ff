package confdsvc

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/store"
)

// Incall says where incoming calls to its numbers go.
type Incall struct {
	ID                   ID          `db:"id" json:"id" readOnly:"true"`
	TenantUUID           string      `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	PreprocessSubroutine *string     `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	GreetingSound        *string     `db:"greeting_sound" json:"greeting_sound" maxLength:"255" names:"sounds.path" example:"welcome" doc:"What callers hear."`
	CallerIDMode         *string     `db:"caller_id_mode" json:"caller_id_mode" enum:"prepend,overwrite,append"`
	CallerIDName         *string     `db:"caller_id_name" json:"caller_id_name" maxLength:"80"`
	Description          *string     `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	Destination          Destination `json:"destination" required:"true" doc:"Where the calls go. It is none once what it led to is deleted."`
	UserID               *int64      `db:"user_id" computed:"true" json:"-"`
	crud.Hrefs

	Extensions []ExtensionRef `json:"extensions" readOnly:"true"`
	Schedules  []ScheduleRef  `json:"schedules" readOnly:"true"`
}

// IncallRef is an incall as its extension shows it.
type IncallRef struct {
	ID int64 `db:"id" json:"id"`
	crud.Hrefs
}

// IncallTo is an incall as its destination's target shows it.
type IncallTo struct {
	ID         int64          `db:"id" json:"id"`
	Extensions []ExtensionRef `json:"extensions"`
	crud.Hrefs
}

// incallExtensions are the numbers of incalls, and userIncalls the incalls that lead to users.
const (
	incallExtensions crud.Relation[Incall, Extension] = "confd_incall_extension"
	userIncalls      crud.Relation[User, Incall]      = "user_incall"
)

func init() { resources = append(resources, declareIncalls) }

var incallDestinations = holds[Incall]("of_incall_id")

var incallExtension = usesExtensions(incallExtensions, extensionUse{Kind: "incall", Owner: "incall", Type: "incall", Ranges: "incall", OutsideAtFirst: true})

func declareIncalls(e *crud.Engine) {
	columns := []string{"exten", "preprocess_subroutine", "greeting_sound", "description", "user_id"}
	crud.Collect(e, crud.Resource[Incall]{
		Path: "incalls", Singular: "incall", Param: "incall_id", Table: "confd_incall", Counted: true, Keys: []string{"id"},
		About: "Numbers from outside, and where their calls go.", Lists: []string{"extensions", "destination", "description"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Virtual: map[string]string{
			"exten": `SELECT x.exten FROM {confd_incall_extension} ix JOIN {confd_extension} x ON x.id = ix.extension_id
				WHERE ix.incall_id = confd_incall.id`,
			"user_id": "SELECT d.user_id FROM {confd_destination} d WHERE d.of_incall_id = confd_incall.id",
		},
		// Conditions on other tables start from those tables: an expression for each row would be evaluated for every incall.
		Matches: map[string]crud.Match{
			"exten": {Condition: `id IN (SELECT ix.incall_id FROM {confd_incall_extension} ix JOIN {confd_extension} x ON x.id = ix.extension_id
				WHERE x.exten = %s)`},
			"user_id": {Condition: "id IN (SELECT d.of_incall_id FROM {confd_destination} d WHERE d.user_id = %s)", Type: "integer"},
		},
		Found: []crud.Elsewhere{
			{Query: `SELECT ix.incall_id FROM {confd_incall_extension} ix JOIN {confd_extension} x ON x.id = ix.extension_id
				WHERE %s`, Table: "confd_extension", Characters: extenCharacters},
		},
		Nested: []string{"extensions"},
		Beside: []crud.Beside[Incall]{incallDestinations.beside(e)},
		Save:   userTakesIncall,
	})
	crud.Link[Incall, Extension]{
		Relation: incallExtensions, LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, RightLeads: true,
		LeftShows: []crud.Show{
			crud.Many(func(i *Incall) *[]ExtensionRef { return &i.Extensions }),
			crud.Many(func(i *IncallTo) *[]ExtensionRef { return &i.Extensions }),
		},
		RightShows: []crud.Show{crud.One(func(x *Extension) **IncallRef { return &x.Incall })},
		Allow:      crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, fits[Incall](incallExtension)),
	}.On(e)
	numbers := nestsNumbers(e, incallExtensions)
	numbers.Complete, numbers.Linked = rangeHoldsNumber(e), rangeHoldsNumber(e)
	numbers.On(e)
	crud.Nest[User, Incall]{
		Name: "incalls", Relation: userIncalls, Many: true, Fills: []string{"destination"}, Shown: true,
		Complete: func(_ context.Context, _ store.Conn, of *crud.Change[User], i *Incall) (err error) {
			i.Destination, err = leadsToUser(of.New)
			return err
		},
		Linked: func(ctx context.Context, c store.Conn, of *crud.Change[User], i *Incall) error {
			if err := rights.MayNest(of.Request, fmt.Sprintf("confd.incalls.%d.update", i.ID)); err != nil {
				return err
			}
			return crud.Of[Incall](e).Update(ctx, c, &crud.Change[Incall]{Request: of.Request, Tenant: of.Tenant, Old: i}, func(o *Incall) (err error) {
				o.Destination, err = leadsToUser(of.New)
				return err
			})
		},
		Leave: func(ctx context.Context, c store.Conn, change *crud.Change[Incall]) error {
			return crud.Of[Incall](e).Update(ctx, c, change, func(i *Incall) error {
				i.Destination = nowhere()
				return nil
			})
		},
	}.On(e)
	shownByTarget(e, userIncalls, "confd_destination", "user_id", func(u *User) *[]IncallTo { return &u.Incalls })
}

// userTakesIncall refuses to lead more incoming calls to a user than clients may send as the user's.
func userTakesIncall(ctx context.Context, c store.Conn, change *crud.Change[Incall]) error {
	to, leads := change.New.Destination.keys.(*ToUser)
	if !leads || change.Old != nil && change.Old.Destination.same(&change.New.Destination) {
		return nil
	}
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_destination WHERE user_id = $1 AND of_incall_id IS NOT NULL`, to.UserID)
	if err != nil || n <= crud.MaxLinks {
		return err
	}
	return style.NotPermitted(fmt.Sprintf("A user has at most %d incalls.", crud.MaxLinks), "user_id", to.UserID)
}

// shownByTarget makes the targets of incalls show them. The table has a row for each incall, whose column refers to it.
func shownByTarget[T any](e *crud.Engine, name crud.Relation[T, Incall], table, column string, field func(o *T) *[]IncallTo) {
	crud.Link[T, Incall]{
		Relation: name, Table: table, LeftColumn: column, RightColumn: "of_incall_id", Only: []string{},
		LeftShows: []crud.Show{crud.Many(field)},
	}.On(e)
}

func leadsToUser(u *User) (d Destination, err error) {
	return d, d.readAs(destinationKinds, "user", "", fmt.Appendf(nil, `{"user_id": %d}`, u.ID))
}

// rangeHoldsNumber adds the number of a user's new incall to the ranges of its context, if none of them holds it. A number that no
// range can hold is left alone, and so is a context that is full.
func rangeHoldsNumber(e *crud.Engine) func(ctx context.Context, c store.Conn, of *crud.Change[Incall], x *Extension) error {
	return func(ctx context.Context, c store.Conn, of *crud.Change[Incall], x *Extension) error {
		contexts, err := crud.Of[Context](e).Select(ctx, c, "name = $1 AND tenant_uuid = $2 AND type = 'incall'", x.Context, of.New.TenantUUID)
		if err != nil || len(contexts) == 0 {
			return err
		}
		in := contexts[0]
		if !numberForm.MatchString(x.Exten) || len(in.IncallRanges.V) >= maxRanges {
			return nil
		}
		for _, r := range in.IncallRanges.V {
			if r.holds(x.Exten) {
				return nil
			}
		}
		if err := rights.MayNest(of.Request, fmt.Sprintf("confd.contexts.%d.update", in.ID)); err != nil {
			return err
		}
		change := &crud.Change[Context]{Request: of.Request, Tenant: of.Tenant, Old: in}
		return crud.Of[Context](e).Update(ctx, c, change, func(o *Context) error {
			o.IncallRanges.V = append(slices.Clone(o.IncallRanges.V), IncallRange{Range{x.Exten, x.Exten}, int64(len(x.Exten))})
			return nil
		})
	}
}
