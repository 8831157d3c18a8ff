package confdsvc

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// addressesFree refuses the endpoint of a trunk an address that the endpoint of another one has, of whichever tenant: Asterisk would take the calls of one
// for those of the other. It looks at their own options; a template that has addresses is found out when the files are written.
func addressesFree(ctx context.Context, c store.Conn, e *crud.Engine, endpoint *EndpointSIP) error {
	own := endpoint.addresses()
	if len(own) == 0 {
		return nil
	}
	others, err := crud.Of[EndpointSIP](e).Rows(ctx, c, "uuid <> $1 AND uuid IN (SELECT sip_uuid FROM confd_trunk_endpoint)", endpoint.UUID)
	for _, other := range others {
		for _, at := range other.addresses() {
			if slices.ContainsFunc(own, at.Overlaps) {
				return apierr.New(apierr.Invalid, "Another trunk has the address %s, and the calls from there; "+
					"with line=yes in registration_section_options they are told apart", at).On("identify_section_options")
			}
		}
	}
	return err
}

// addresses are those from which a trunk's calls come, unless they are known by their registration.
func (e *EndpointSIP) addresses() (all []netip.Prefix) {
	if line, _ := e.Registration.last("line"); conf.IsYes(line) {
		return nil
	}
	for _, pair := range e.Identify.V {
		for typed := range strings.SplitSeq(pair[1], ",") {
			if at, ok := conf.Network(typed); ok && pair[0] == "match" {
				all = append(all, at)
			}
		}
	}
	return all
}
