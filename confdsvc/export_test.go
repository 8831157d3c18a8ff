package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// Rows are the structs of the tables' rows, by table.
func Rows() map[string]any {
	e := &crud.Engine{Service: "confd"}
	for _, declare := range resources {
		declare(e)
	}
	return e.Rows()
}
