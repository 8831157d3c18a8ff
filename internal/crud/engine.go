package crud

import (
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// Engine runs the collections of one service on one database.
type Engine struct {
	// Service is the first word of the accesses: "confd". Prefix is where it is served.
	Service string
	Prefix  string
	DB      store.DB
	Style   Style
}

// Style is what differs between the services; it is said once, in the service's description.
type Style struct {
	// Filtered lists carry `filtered`, and their total counts all that the tenant has; without it total
	// counts what the search and the filters leave.
	Filtered bool
	// CreateStatus is the status of a successful POST.
	CreateStatus int
	// UpdateReply makes PUT answer the object with 200, in place of 204 and nothing.
	UpdateReply bool
	// Location sends the new object's path on create, and has every object list it in `links`. T embeds Hrefs.
	Location bool
	// SearchWords makes a search of several words find them with anything between.
	SearchWords bool
	// Duplicate is the kind of a refusal to have something twice, or to remove what others hold on to.
	Duplicate apierr.Kind
}

// Href is one of an object's links.
type Href struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// Hrefs is embedded by the objects of services whose Style has Location.
type Hrefs struct {
	Links []Href `json:"links" readOnly:"true" doc:"Where this object is."`
}

func (h *Hrefs) setLinks(links []Href) { h.Links = links }

type linked interface{ setLinks(links []Href) }
