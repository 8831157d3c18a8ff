package confdsvc

import (
	"cmp"
	"context"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// ParkingLot keeps calls waiting at numbers of their own, from which anybody takes them.
type ParkingLot struct {
	ID          ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID  string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        *string `db:"name" json:"name" maxLength:"128" example:"Reception"`
	SlotsStart  string  `db:"slots_start" json:"slots_start" required:"true" maxLength:"40" pattern:"^[0-9]+$" example:"701" doc:"The first slot: a number."`
	SlotsEnd    string  `db:"slots_end" json:"slots_end" required:"true" maxLength:"40" pattern:"^[0-9]+$" example:"720" doc:"The last slot."`
	Timeout     *int64  `db:"timeout" json:"timeout" minimum:"0" maximum:"2147483647" default:"45" doc:"In seconds, until a call comes back. Null: a day."`
	MusicOnHold *string `db:"music_on_hold" json:"music_on_hold" maxLength:"128" default:"default" names:"moh.name" doc:"The name of a music on hold, or default."`
	crud.Hrefs

	Extensions []ExtensionRef `json:"extensions" readOnly:"true"`
}

// ParkingLotRef is a parking lot as its extension shows it.
type ParkingLotRef struct {
	ID   ID      `db:"id" json:"id"`
	Name *string `db:"name" json:"name"`
	crud.Hrefs
}

// KeyParksAt parks a call at one number of a lot, or takes it from there.
type KeyParksAt struct {
	keyHref

	ParkingLotID ID      `json:"parking_lot_id" required:"true" ref:"parkinglots.id"`
	Position     int64   `json:"position" required:"true" minimum:"1" maximum:"2147483647"`
	Name         *string `json:"parking_lot_name" readOnly:"true" shows:"name"`
}

// KeyParks parks a call at any number of a lot.
type KeyParks struct {
	keyHref

	ParkingLotID ID      `json:"parking_lot_id" required:"true" ref:"parkinglots.id"`
	Name         *string `json:"parking_lot_name" readOnly:"true" shows:"name"`
}

func init() {
	resources = append(resources, declareParkingLots)
	parksAt, parks := kind[KeyParksAt]("park_position", ""), kind[KeyParks]("parking", "")
	parksAt.check, parks.check = isSlot, hasExtension
	funcKeyKinds = append(funcKeyKinds, parksAt, parks)
	words["parkinglot"], words["parkinglots"], words["parking_lot"] = "parking place", "parking places", "parking place"
}

const parkingExtensions crud.Relation[ParkingLot, Extension] = "confd_parkinglot_extension"

var parkingExtension = usesExtensions(parkingExtensions, extensionUse{Kind: "parking", Owner: "parking", Type: "internal"})

func declareParkingLots(e *crud.Engine) {
	columns := []string{"name", "slots_start", "slots_end", "timeout", "exten", "context"}
	const extension = " FROM {confd_parkinglot_extension} px JOIN {confd_extension} x ON x.id = px.extension_id WHERE px.parkinglot_id = confd_parkinglot.id"
	crud.Collect(e, crud.Resource[ParkingLot]{
		Path: "parkinglots", Singular: "parking_lot", Param: "parking_lot_id", Title: "ParkingLot", Table: "confd_parkinglot", Keys: []string{"id"},
		About: "Where calls wait until somebody takes them.", Lists: []string{"name", "extensions", "slots_start", "slots_end", "timeout"},
		Order: append(columns, "id"), Filters: append(columns, "id"), Search: columns, Nested: []string{"extensions"},
		Virtual: map[string]string{"exten": "SELECT x.exten" + extension, "context": "SELECT x.context" + extension},
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[ParkingLot]) error {
			p := change.New
			switch n := slotsBetween(p.SlotsStart, p.SlotsEnd); {
			case strings.Trim(p.SlotsStart, "0") == "":
				return apierr.InvalidField("slots_start", "range", "Asterisk has no slot 0")
			case n.Sign() < 0:
				return apierr.New(apierr.Invalid, "It is not a valid range").On("slots_end")
			case n.Cmp(big.NewInt(maxSlots)) >= 0:
				return apierr.InvalidField("slots_end", "range", "A parking lot has at most %d slots", maxSlots)
			}
			if err := checkMusic(ctx, c, e, change); err != nil || change.Old == nil {
				return err
			}
			extensions, err := crud.Of[Extension](e).Select(ctx, c, "id IN (SELECT extension_id FROM confd_parkinglot_extension WHERE parkinglot_id = $1)", p.ID)
			for _, x := range extensions {
				err = cmp.Or(err, p.fits(ctx, c, x.Context))
			}
			return err
		},
	})
	crud.Link[ParkingLot, Extension]{
		Relation: parkingExtensions, LeftColumn: "parkinglot_id", LeftHas: crud.AtMostOne, RightHas: crud.AtMostOne, RightLeads: true,
		LeftShows:  []crud.Show{crud.Many(func(p *ParkingLot) *[]ExtensionRef { return &p.Extensions })},
		RightShows: []crud.Show{crud.One(func(x *Extension) **ParkingLotRef { return &x.ParkingLot })},
		Allow: crud.All(crud.SameTenant, crud.LeftFree, crud.RightFree, fits[ParkingLot](parkingExtension),
			crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[ParkingLot, Extension]) error {
				if strings.HasPrefix(pair.Right.Exten, "_") {
					return apierr.New(apierr.Invalid, "exten '%s' cannot be a pattern", pair.Right.Exten).On("exten")
				}
				return pair.Left.fits(ctx, c, pair.Right.Context)
			})),
	}.On(e)
	nestsNumbers(e, parkingExtensions).On(e)
}

// slotForm is the form of a number at which calls may wait.
var slotForm = regexp.MustCompile(`^[1-9][0-9]*$`)

// maxSlots is how many calls can wait in a lot: the telephone system makes an extension for each of its slots.
const maxSlots = 1000

// slotsBetween returns how far the second of two numbers of any length is behind the first.
func slotsBetween(first, second string) *big.Int {
	one, _ := new(big.Int).SetString(first, 10)
	other, _ := new(big.Int).SetString(second, 10)
	return other.Sub(other, one)
}

// holds reports whether a number is one at which calls of the lot wait. One that begins with 0 is none.
func (p *ParkingLot) holds(exten string) bool {
	return slotForm.MatchString(exten) && slotsBetween(p.SlotsStart, exten).Sign() >= 0 && slotsBetween(exten, p.SlotsEnd).Sign() >= 0
}

// fits refuses a context in which something else has one of the lot's numbers.
func (p *ParkingLot) fits(ctx context.Context, c store.Conn, in string) error {
	type number struct {
		ID    int64  `db:"id"`
		Exten string `db:"exten"`
	}
	numbers, err := store.Select[number](ctx, c, "SELECT id, exten FROM confd_extension WHERE context = $1 UNION ALL SELECT 0, n.number"+emergencies, in)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		switch {
		case !p.holds(n.Exten):
		case n.ID == 0:
			return apierr.New(apierr.Invalid, "'%s' is an emergency number of the tenant or the installation: take other slots", n.Exten).On("slots_start", "slots_end")
		default:
			return style.Storedf("Extension already exists ('exten': '%s', 'context': '%s')", n.Exten, in).On("slots_start", "slots_end")
		}
	}
	features, err := featuresOn(ctx, c)
	for _, f := range features {
		if p.holds(f.Exten) {
			return apierr.New(apierr.Invalid, "'%s' is dialled for the service %s: take other slots", f.Exten, f.Feature).On("slots_start", "slots_end")
		}
	}
	if err != nil {
		return err
	}
	lots, err := lotsIn(ctx, c, in)
	for _, lot := range lots {
		if lot.ID != p.ID && slotsBetween(lot.SlotsStart, p.SlotsEnd).Sign() >= 0 && slotsBetween(p.SlotsStart, lot.SlotsEnd).Sign() >= 0 {
			return style.Storedf("Extension is already used for a destination or parking slot ('context': '%s', 'parking_lot_id': %d)", in, lot.ID).On("slots_start")
		}
	}
	return err
}

// isUntaken refuses a number of what has no extensions: that of a service, an emergency number, and one at which calls of a lot wait, in the context
// of the lot's extension. It refuses also to move that to where its slots are taken.
func isUntaken(ctx context.Context, c store.Conn, x *Extension) error {
	if x.ID != 0 {
		own, err := store.Select[*ParkingLot](ctx, c, `SELECT p.id, p.slots_start, p.slots_end FROM confd_parkinglot p
			JOIN confd_parkinglot_extension px ON px.parkinglot_id = p.id WHERE px.extension_id = $1`, x.ID)
		for _, lot := range own {
			err = cmp.Or(err, lot.fits(ctx, c, x.Context))
		}
		if err != nil {
			return err
		}
	}
	// One statement for all: what is no lot has no id, and a service has its code before its name. Of services it reads those that may refuse the number.
	lots, err := store.Select[*ParkingLot](ctx, c, `SELECT 0 AS id, f.exten AS slots_start, f.feature AS slots_end FROM confd_extension_feature f
		JOIN confd_context t ON t.name = $1 AND t.type = 'internal' WHERE f.enabled AND (f.exten = $2 OR substr(f.exten, 1, 2) = '_' || substr($2, 1, 1))
		UNION ALL SELECT 0, n.number, ''`+emergencies+` AND n.number = $2 UNION ALL `+inContext, x.Context, x.Exten)
	for _, lot := range lots {
		switch {
		case lot.ID == 0 && lot.SlotsEnd == "":
			err = apierr.New(apierr.Invalid, "Extension '%s' is an emergency number of the tenant or the installation: choose another", x.Exten).On("exten")
		case lot.ID == 0:
			err = (&ExtensionFeature{Exten: lot.SlotsStart, Feature: lot.SlotsEnd}).leaves(x.Exten, "exten")
		case lot.holds(x.Exten):
			err = style.Storedf("ParkingLot already exists ('parking_lot_id': %d, 'exten': '%s')", lot.ID, x.Exten).On("exten")
		}
		if err != nil {
			return err
		}
	}
	return err
}

// numberedLots reads the lots whose number is in a context: what follows compares that. A context may have a hundred thousand numbers, so it is looked
// up for each lot. Of a join PostgreSQL believes, as long as there was never a lot, that there are many, and begins with the numbers.
const numberedLots = `SELECT p.id, p.slots_start, p.slots_end FROM confd_parkinglot p WHERE (SELECT x.context
	FROM confd_parkinglot_extension px JOIN confd_extension x ON x.id = px.extension_id WHERE px.parkinglot_id = p.id)`

// inContext reads those with a number in a context.
const inContext = numberedLots + " = $1"

func lotsIn(ctx context.Context, c store.Conn, in string) ([]*ParkingLot, error) {
	return store.Select[*ParkingLot](ctx, c, inContext, in)
}

// isSlot refuses a function key for a number that the lot does not have.
func isSlot(ctx context.Context, c store.Conn, keys any) error {
	key := keys.(*KeyParksAt)
	lot, err := store.Get[*ParkingLot](ctx, c, "SELECT slots_start, slots_end FROM confd_parkinglot WHERE id = $1", key.ParkingLotID)
	if err == nil && !lot.holds(strconv.FormatInt(key.Position, 10)) {
		err = apierr.InvalidField("position", "range", "The parking lot has the slots %s to %s", lot.SlotsStart, lot.SlotsEnd)
	}
	return err
}

// hasExtension refuses a function key for a lot that has no number.
func hasExtension(ctx context.Context, c store.Conn, keys any) error {
	id := keys.(*KeyParks).ParkingLotID
	n, err := store.Get[int](ctx, c, "SELECT count(*) FROM confd_parkinglot_extension WHERE parkinglot_id = $1", id)
	if err == nil && n == 0 {
		err = style.NotAssociated("ParkingLot", "Extension", "parking_lot_id", id)
	}
	return err
}
