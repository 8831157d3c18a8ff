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

// ofTrunks finds the endpoints that trunks have.
const ofTrunks = "uuid IN (SELECT sip_uuid FROM confd_trunk_endpoint)"

// checkTrunks refuses what endpoints of trunks, which a condition finds, have with the options of their templates, if their calls would come back, or
// others would lose theirs. What is only not complete may be sent later: until then the files lack it, and that is told.
func checkTrunks(ctx context.Context, c store.Conn, e *crud.Engine, condition string, args ...any) error {
	trunks, err := mergedWhere(ctx, c, e, condition, args...)
	if err != nil || len(trunks) == 0 {
		return err
	}
	transports, err := crud.Of[SIPTransport](e).Rows(ctx, c, "uuid IS NOT NULL")
	if err != nil {
		return err
	}
	var all []*SIPSections
	own := OwnNames()
	for _, s := range trunks {
		if field := s.LeadsHere(transports, own); field != "" {
			return apierr.New(apierr.Invalid, "'%s' leads to this telephone system itself: calls would come back for ever", field).On(field)
		}
		if err := s.refuseNoLogins(); err != nil {
			return err
		}
		addresses, err := s.addresses()
		if err != nil {
			return err
		}
		if len(addresses) > 0 && all == nil {
			if all, err = mergedWhere(ctx, c, e, ofTrunks); err != nil {
				return err
			}
		}
		for _, other := range all {
			if theirs, _ := other.addresses(); other.UUID != s.UUID {
				if err := refuseShared(addresses, theirs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mergedWhere returns endpoints that a condition finds, with the options of their templates.
func mergedWhere(ctx context.Context, c store.Conn, e *crud.Engine, condition string, args ...any) (all []*SIPSections, err error) {
	endpoints, err := crud.Of[EndpointSIP](e).Select(ctx, c, condition, args...)
	if err != nil {
		return nil, err
	}
	m, err := mergerOf(ctx, c, e, endpoints, "SELECT uuid FROM confd_endpoint_sip WHERE "+condition, args...)
	if err != nil {
		return nil, err
	}
	for _, o := range endpoints {
		all = append(all, m.merge(&o.SIPSections))
	}
	return all, nil
}

// refuseNoLogins refuses a registration where no section has a login, and half of a login at the other side: one that registers, and one that calls.
func (s *SIPSections) refuseNoLogins() error {
	_, server := s.Registration.last("server_uri")
	_, client := s.Registration.last("client_uri")
	if server && client && len(s.RegistrationAuth.V)+len(s.OutboundAuth.V)+len(s.Auth.V) == 0 {
		return apierr.New(apierr.Invalid, "'registration_section_options': who registers needs a login, such as that of registration_outbound_auth_section_options. "+
			"A trunk that the other side knows by its address does not register").On("registration_section_options")
	}
	for _, login := range []struct {
		of    SIPOptions
		field string
		used  bool
	}{
		{s.RegistrationAuth, "registration_outbound_auth_section_options", server && client}, {s.OutboundAuth, "outbound_auth_section_options", true},
	} {
		if fault := login.of.NoLogin(login.field); login.used && len(login.of.V) > 0 && fault != "" {
			return apierr.New(apierr.Invalid, "'%s': %s", login.field, fault).On(login.field)
		}
	}
	return nil
}

// refuseShared refuses an address that two trunks have, of whichever tenants: Asterisk would take the calls of one for those of the other.
func refuseShared(own, others []netip.Prefix) error {
	for _, at := range others {
		if slices.ContainsFunc(own, at.Overlaps) {
			return apierr.New(apierr.Invalid, "Another trunk has the address %s, and the calls from there; "+
				"with line=yes in registration_section_options they are told apart", at).On("identify_section_options")
		}
	}
	return nil
}

// addresses are those from which a trunk's calls come, unless they are known by their registration. The error is about the first one that Asterisk
// cannot know them by.
func (s *SIPSections) addresses() (all []netip.Prefix, err error) {
	line, _ := s.Registration.last("line")
	for _, pair := range s.Identify.V {
		if pair[0] != "match" {
			continue
		}
		for typed := range strings.SplitSeq(pair[1], ",") {
			at, ok := conf.Network(typed)
			switch {
			case !ok && err == nil:
				err = apierr.New(apierr.Invalid, "'identify_section_options: match' must be an address, or a network of 65,536 addresses at most: "+
					"a name counts only as it is found while Asterisk loads the file").On("identify_section_options")
			case ok && !conf.IsYes(line):
				all = append(all, at)
			}
		}
	}
	return all, err
}
