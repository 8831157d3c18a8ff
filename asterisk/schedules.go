package asterisk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "schedules", writeSchedules})
}

func namedSchedule(s *confdsvc.Schedule) leftout.Omission {
	return named("schedule", s.TenantUUID, s.ID, text(s.Name))
}

// opens sends calls elsewhere outside of the hours of a schedule that an object of a tenant has: by its id, or 0.
func (p *plan) opens(tenantUUID string, id confdsvc.ID) []step {
	if p.schedules.of(tenantUUID, id) != nil {
		return []step{{"Gosub", fmt.Sprintf("ringfence-schedules,%d,1", id)}}
	}
	return nil
}

// writeSchedules writes what asks whether it is open: it returns if it is, and otherwise does not come back.
func writeSchedules(p *plan, w *conf.Writer) {
	w.Section("ringfence-schedules")
	for _, s := range p.Schedules {
		zone := p.zoneOf(s)
		var steps []step
		named := namedSchedule(s)
		if len(s.OpenPeriods.V) == 0 {
			p.optionOf(named, "")("open_periods", "there are none: it never opens, and all calls go where they go while it is closed")
		}
		closed := func(exten, attribute string, to *confdsvc.Destination) {
			leads := p.leadsOn(named, attribute, to)
			p.writeEntry(w, entry{exten: exten, steps: append([]step{{"StackPop", ""}, {"Gosub", "ringfence-hop,s,1"}}, leads...)})
		}
		for i, period := range s.ExceptionalPeriods.V {
			exten := fmt.Sprintf("%dx%d", s.ID, i) // of dashes between digits Asterisk takes no notice
			steps = append(steps, step{"GotoIfTime", hours(&period.SchedulePeriod) + zone + "?" + exten + ",1"})
			closed(exten, fmt.Sprintf("exceptional_periods[%d].destination", i), &period.Destination)
		}
		for _, period := range s.OpenPeriods.V {
			steps = append(steps, step{"GotoIfTime", hours(&period) + zone + "?" + fmt.Sprintf("%d-open,1", s.ID)})
		}
		p.writeEntry(w, entry{exten: fmt.Sprint(s.ID), steps: append(steps, step{"Goto", fmt.Sprintf("%d-closed,1", s.ID)})})
		p.writeEntry(w, entry{exten: fmt.Sprintf("%d-open", s.ID), steps: []step{{"Return", ""}}})
		closed(fmt.Sprintf("%d-closed", s.ID), "closed_destination", &s.ClosedDestination)
	}
}

// zoneOf returns the time zone of a schedule, as the last of the times' arguments. That of the telephone system counts where it has none.
func (p *plan) zoneOf(s *confdsvc.Schedule) string {
	name := text(s.Timezone)
	if name == "" {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" || strings.ContainsAny(name, ",?&") {
		p.leave(namedSchedule(s), fmt.Sprintf("there is no time zone %q: that of the telephone system counts", name))
		return ""
	}
	return "," + name
}

var (
	weekDays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// hours returns a period as Asterisk's applications take it.
func hours(p *confdsvc.SchedulePeriod) string {
	return strings.Join([]string{
		p.Start + "-" + p.End, which(p.WeekDays, 7, func(n int64) string { return weekDays[n-1] }),
		which(p.MonthDays, 31, func(n int64) string { return fmt.Sprint(n) }), which(p.Months, 12, func(n int64) string { return months[n-1] }),
	}, ",")
}

// which returns a list of some of the numbers from 1 to last, or * for all of them.
func which(numbers []int64, last int, name func(n int64) string) string {
	sorted := slices.Clone(numbers)
	slices.SortFunc(sorted, cmp.Compare)
	sorted = slices.Compact(sorted)
	if len(sorted) == 0 || len(sorted) == last {
		return "*"
	}
	var names []string
	for _, n := range sorted {
		names = append(names, name(n))
	}
	return strings.Join(names, "&")
}
