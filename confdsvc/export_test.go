package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// Harmless and Unharmed write and read the cells of CSV files.
var Harmless, Unharmed = harmless, unharmed

// Rows are the structs of the tables' rows, by table.
func Rows() map[string]any { return declared().Rows() }

// Described is what the service's collections declare.
func Described() crud.Described { return declared().Described() }

func declared() *crud.Engine {
	e := &crud.Engine{Service: "confd", Prefix: prefix, Style: style}
	for _, declare := range resources {
		declare(e)
	}
	e.Operations()
	return e
}
