package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// EndpointSCCPRef is an SCCP endpoint as its line shows it. This service has none: lines show null.
type EndpointSCCPRef struct {
	ID int64 `json:"id"`
	crud.Hrefs
}
