package confdsvc

import (
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
)

// Harmless and Unharmed write and read the cells of CSV files.
var Harmless, Unharmed = harmless, unharmed

// Rows are the structs of the tables' rows, by table.
func Rows() map[string]any { return crudtest.Rows(Described()) }

// Described is what the service's collections declare.
func Described() crud.Described { return operated().Described() }

func operated() *crud.Engine {
	e := declared(nil)
	e.Operations()
	return e
}

// IsExten reports whether text can be an extension, in whatever context.
func IsExten(text string) bool {
	return extenPattern.MatchString(text) || outcallPattern.MatchString(text)
}

// ExtenCharacters are what a search expects in extensions.
const ExtenCharacters = extenCharacters

// ViewSources returns the views that the service's lists find objects by.
func ViewSources() []crud.Source { return []crud.Source{userNumbers, lineProtocols, callPickupTargets} }

// EachRowIsAPiece has long imports commit each row, until the test ends.
func EachRowIsAPiece(t *testing.T) {
	t.Helper()
	before := pieceTime
	pieceTime = 0
	t.Cleanup(func() { pieceTime = before })
}

// shelf is a made-up object that leads calls somewhere: by itself, by a part, and by what is in a list.
type shelf struct {
	ID         int64       `db:"id" json:"id" readOnly:"true" generated:"true"`
	TenantUUID string      `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	To         Destination `json:"to_destination"`
	Levels     store.JSON[[]struct {
		To *Destination `json:"destination"`
	}] `db:"levels" json:"levels" default:"[]" maxItems:"2"`
}

// Forgets starts a service with something that has been forgotten, by its name; nothing is forgotten of "".
func Forgets(what string) {
	before := funcKeyKinds
	defer func() { funcKeyKinds = before }()
	e := declared(nil)
	r := crud.Resource[shelf]{Path: "shelves", Singular: "shelf", Param: "shelf_id", Table: "confd_shelf", Keys: []string{"id"}}
	if what != "holder" {
		r.Beside = []crud.Beside[shelf]{holds[shelf]("of_shelf_id").beside(e)}
	}
	if what == "loser" {
		r.Beside[0].Changes = ""
	}
	type toShelf struct {
		keyHref

		ID int64 `json:"shelf_id" required:"true" ref:"shelves.id"`
	}
	funcKeyKinds = append(slices.Clone(before), kind[toShelf]("shelf", ""))
	if what != "target" {
		crud.Collect(e, r)
	}
	checkDestinations(e)
	if what == "use" {
		crud.Link[shelf, Extension]{Table: "confd_shelf_extension"}.On(e)
		e.Operations()
		checkExtensionUses(e)
	}
}

// SlotsOfShelf returns the names of the slots of a made-up object with a list of two.
func SlotsOfShelf() (names []string) {
	o := &shelf{}
	o.Levels.V = make([]struct {
		To *Destination `json:"destination"`
	}, 2)
	for _, slot := range holds[shelf]("of_shelf_id").slots(o) {
		slot.put(nil)
		names = append(names, slot.name())
	}
	return names
}

// DestinationColumns returns the columns by which the tables of destinations refer to objects that there are.
func DestinationColumns() map[string][]string {
	e, out := operated(), map[string][]string{}
	for _, k := range e.Described().Collections {
		for table, columns := range k.KeptBeside {
			out[table] = append(out[table], columns...)
		}
	}
	for _, table := range []string{"confd_destination", "confd_func_key"} {
		slices.Sort(out[table])
		out[table] = slices.Compact(out[table])
	}
	return out
}

// NewQueueOptions returns the options of a new queue.
func NewQueueOptions() [][]string { return newQueueOptions }
