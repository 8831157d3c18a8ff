package confdsvc

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// timezoneNames are the names of the time zone database, sorted, one per line.
//
//go:embed timezones.txt
var timezoneNames string

// Timezone is a time zone by its name.
type Timezone struct {
	Name string `json:"zone_name" example:"Europe/Paris" doc:"The name of the time zone."`
}

// Timezones holds all of them.
type Timezones struct {
	Items []Timezone `json:"items"`
	Total int        `json:"total"`
}

var allTimezones = sync.OnceValue(func() Timezones {
	var all Timezones
	for name := range strings.FieldsSeq(timezoneNames) {
		all.Items = append(all.Items, Timezone{name})
	}
	all.Total = len(all.Items)
	return all
})

func init() {
	resources = append(resources, func(e *crud.Engine) {
		e.Add(rest.Operation{
			Method: http.MethodGet, Path: "/timezones", Access: "confd.timezones.read", ID: "list_timezones", Tag: "timezones",
			Summary: "List the time zones", Success: http.StatusOK, Reply: rest.SchemaOf[Timezones](), Conditional: true,
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: allTimezones()}, nil
			},
		})
	})
}
