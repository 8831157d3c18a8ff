package declaration

import (
	"reflect"

	"github.com/ringfence/ringfence/internal/rest"
)

// ID is the number by which a client names an object. The database generates one that clients only read; any other refers to an object. No
// number is so large that a program which takes it for a floating-point number changes it.
type ID int64

var idType = reflect.TypeFor[ID]()

// JSONSchema is that of a whole number between its bounds.
func (ID) JSONSchema() *rest.Schema {
	least, most := int64(0), int64(1<<53-1)
	return &rest.Schema{Type: "integer", Minimum: &least, Maximum: &most}
}
