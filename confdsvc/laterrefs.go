package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// laterTitles are what refusals call objects of collections that this service does not have yet, and that destinations lead to, by their paths.
var laterTitles = map[string]string{
	"agents": "Agent", "queues": "Queue",
}

// Objects of collections that this service does not have yet, as other objects show them: null, or an empty list.
type (
	// AgentRef is an agent as its user shows it.
	AgentRef struct {
		ID     int64  `json:"id"`
		Number string `json:"number" example:"9001"`
		crud.Hrefs
	}
	// EndpointSCCPRef is an SCCP endpoint as its line shows it.
	EndpointSCCPRef struct {
		ID int64 `json:"id"`
		crud.Hrefs
	}
	// QueueRef is a queue as users and its extension show it.
	QueueRef struct {
		ID    int64   `json:"id"`
		Name  string  `json:"name"`
		Label *string `json:"label"`
		crud.Hrefs
	}
)
