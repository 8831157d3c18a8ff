package asterisk

import (
	"fmt"
	"regexp"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"res_parking.conf", 0, "lots", writeParkingLots},
		part{"extensions.conf", 2, "parking lots", writeParkingContexts},
	)
}

// parkingContext is the context of a lot, in which Asterisk makes a number for each slot by itself. The context of the lot's number includes
// it, and no other does: lots of two tenants may have equal slots.
func parkingContext(l *confdsvc.ParkingLot) string { return fmt.Sprintf("ringfence-parking-%d", l.ID) }

// lotFault says why a lot is in no file, or nothing. For one slot that it cannot read Asterisk would load no lot, of nobody.
func (p *plan) lotFault(l *confdsvc.ParkingLot) string {
	for _, slot := range []string{l.SlotsStart, l.SlotsEnd} {
		if !slotForm.MatchString(slot) {
			return fmt.Sprintf("its slot %q is no number of at most nine digits, of which the first is not 0", slot)
		}
	}
	if p.lotNumber(l) == nil {
		return "it has no number that works"
	}
	return ""
}

var slotForm = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// lotNumber returns the number of a lot, or nil.
func (p *plan) lotNumber(l *confdsvc.ParkingLot) *confdsvc.Extension {
	return p.firstNumber(l.TenantUUID, p.ParkingExtensions[l.ID])
}

// writeParkingContexts makes the contexts known to the dialplan: res_parking is reloaded before, and fills them.
func writeParkingContexts(p *plan, w *conf.Writer) {
	for _, l := range p.ParkingLots {
		w.Section(parkingContext(l))
		w.Comment(text(l.Name))
	}
}

// longestParking is for how many seconds a call is parked at most.
const longestParking = 86400

func writeParkingLots(p *plan, w *conf.Writer) {
	for _, l := range p.ParkingLots {
		w.Section(parkingContext(l))
		w.Comment(text(l.Name))
		w.Set("context", parkingContext(l))
		w.Set("parkext", p.lotNumber(l).Exten)
		w.Set("parkext_exclusive", "yes")
		w.Set("parkpos", l.SlotsStart+"-"+l.SlotsEnd)
		w.Set("findslot", "next")
		w.Set("parkinghints", "yes")
		w.Set("comebacktoorigin", "yes")
		seconds := int64(longestParking)
		if l.Timeout != nil && *l.Timeout > 0 {
			seconds = min(*l.Timeout, longestParking)
		}
		w.Set("parkingtime", fmt.Sprint(seconds))
		if class := p.musicOf(l.TenantUUID, l.MusicOnHold); class != "" {
			w.Set("parkedmusicclass", class)
		}
	}
}
