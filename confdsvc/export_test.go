package confdsvc

import (
	"testing"

	"github.com/ringfence/ringfence/internal/crud"
)

// Harmless and Unharmed write and read the cells of CSV files.
var Harmless, Unharmed = harmless, unharmed

// Rows are the structs of the tables' rows, by table.
func Rows() map[string]any { return operated().Rows() }

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
