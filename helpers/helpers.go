// Package helpers is the helper endpoints: small services for the tools of a telephony host.
package helpers

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/rest"
)

// GatedPrefix is where the gate serves the endpoints; on the plain loopback port they are at the root.
const GatedPrefix = "/api/sysconfd"

// statusCheck is the answer of GET /status_check.
type statusCheck struct {
	Status string `json:"status" enum:"up" doc:"\"up\" when the service answers."`
}

// status is the answer of GET /status, which newer clients call.
type status struct {
	RESTAPI part `json:"rest_api"`
}

type part struct {
	Status string `json:"status" enum:"ok"`
}

// New describes the helper endpoints, below prefix: GatedPrefix, or "" on the plain port.
func New(prefix string) (*rest.Service, error) {
	s := &rest.Service{
		Name:        "sysconfd",
		Prefix:      prefix,
		Title:       "Ringfence helpers",
		Description: "Common configuration actions and a status check. Behind the gate they need a token; on the loopback port they do not.",
		Errors:      rest.CodeMessage,
		Operations: []rest.Operation{
			{
				Method: http.MethodGet, Path: "/status_check", Access: "sysconfd.status_check.read",
				ID: "status_check", Tag: "status", Summary: "Is the service up?",
				Success: http.StatusOK, Reply: rest.SchemaOf[statusCheck](),
				Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
					return rest.Reply{Body: statusCheck{Status: "up"}}, nil
				},
			},
			{
				Method: http.MethodGet, Path: "/status", Access: "sysconfd.status.read",
				ID: "status", Tag: "status", Summary: "The state of each part",
				Success: http.StatusOK, Reply: rest.SchemaOf[status](),
				Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
					return rest.Reply{Body: status{RESTAPI: part{Status: "ok"}}}, nil
				},
			},
		},
	}
	return s, s.Mount()
}
