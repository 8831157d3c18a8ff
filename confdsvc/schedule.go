package confdsvc

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Schedule says when users, groups and incalls take calls, and where calls go at other times.
type Schedule struct {
	ID         ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       *string `db:"name" json:"name" maxLength:"128"`
	Timezone   *string `db:"timezone" json:"timezone" maxLength:"128" example:"Europe/Paris" doc:"The name of a time zone, not checked. Null: the machine's."`

	ClosedDestination Destination `json:"closed_destination" required:"true" doc:"Where calls go outside all open periods; none once what it led to is deleted."`

	OpenPeriods        store.JSON[[]SchedulePeriod]        `db:"open_periods" json:"open_periods" default:"[]" maxItems:"1000" doc:"When calls are taken."`
	ExceptionalPeriods store.JSON[[]ScheduleClosingPeriod] `db:"exceptional_periods" json:"exceptional_periods" default:"[]" maxItems:"1000"`
	Enabled            bool                                `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs

	Incalls  []IncallRef  `json:"incalls" readOnly:"true"`
	Users    []UserRef    `json:"users" readOnly:"true"`
	Groups   []GroupRef   `json:"groups" readOnly:"true"`
	Queues   []QueueRef   `json:"queues" readOnly:"true"`
	Outcalls []OutcallRef `json:"outcalls" readOnly:"true" doc:"The outgoing calls."`
}

// SchedulePeriod is a part of each of some days.
//
//nolint:lll // a tag cannot be wrapped
type SchedulePeriod struct {
	Start     string  `json:"hours_start" required:"true" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"08:30" doc:"Of the day."`
	End       string  `json:"hours_end" required:"true" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" example:"17:30" doc:"Of the same day, and not before the start."`
	WeekDays  []int64 `json:"week_days" default:"[1,2,3,4,5,6,7]" minItems:"1" maxItems:"7" items.minimum:"1" items.maximum:"7" doc:"Monday is 1."`
	MonthDays []int64 `json:"month_days" default:"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31]" minItems:"1" maxItems:"31" items.minimum:"1" items.maximum:"31" doc:"The days of the month."`
	Months    []int64 `json:"months" default:"[1,2,3,4,5,6,7,8,9,10,11,12]" minItems:"1" maxItems:"12" items.minimum:"1" items.maximum:"12" doc:"January is 1."`
}

// ScheduleClosingPeriod is a period in which calls go elsewhere.
type ScheduleClosingPeriod struct {
	SchedulePeriod

	Destination Destination `json:"destination" required:"true"`
}

// ScheduleRef is a schedule as users, groups and incalls show it.
type ScheduleRef struct {
	ID   int64   `db:"id" json:"id"`
	Name *string `db:"name" json:"name"`
	crud.Hrefs
}

const (
	userSchedules   crud.Relation[User, Schedule]   = "confd_user_schedule"
	groupSchedules  crud.Relation[Group, Schedule]  = "confd_group_schedule"
	incallSchedules crud.Relation[Incall, Schedule] = "confd_incall_schedule"
)

var scheduleDestinations = holds[Schedule]("of_schedule_id")

func init() {
	resources = append(resources, declareSchedules)
	words["/schedules"], words["schedules"] = "opening hours", "opening hours"
	words["Schedule.closed_destination"], words["exceptional_periods"] = "while it is closed", "holidays and other exceptions"
}

func declareSchedules(e *crud.Engine) {
	columns := []string{"name", "id", "timezone"}
	crud.Collect(e, crud.Resource[Schedule]{
		Path: "schedules", Singular: "schedule", Param: "schedule_id", Table: "confd_schedule", Keys: []string{"id"},
		About: "When calls are taken, and where they go at other times.", Lists: []string{"name", "open_periods", "closed_destination", "enabled"},
		Order: columns, Filters: columns, Search: columns, Beside: []crud.Beside[Schedule]{scheduleDestinations.beside(e)},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[Schedule]) error {
			for i, p := range change.New.OpenPeriods.V {
				if fault := p.Fault(); fault != nil {
					return apierr.InvalidField(fmt.Sprintf("open_periods[%d].%s", i, fault.Name), fault.Constraint, "%s", fault.Message)
				}
			}
			for i, p := range change.New.ExceptionalPeriods.V {
				if fault := p.Fault(); fault != nil {
					return apierr.InvalidField(fmt.Sprintf("exceptional_periods[%d].%s", i, fault.Name), fault.Constraint, "%s", fault.Message)
				}
			}
			return nil
		},
	})
	hasSchedule(e, userSchedules, func(u *User) *[]ScheduleRef { return &u.Schedules }, crud.Many(func(s *Schedule) *[]UserRef { return &s.Users }))
	hasSchedule(e, groupSchedules, func(g *Group) *[]ScheduleRef { return &g.Schedules }, crud.Many(func(s *Schedule) *[]GroupRef { return &s.Groups }))
	hasSchedule(e, incallSchedules, func(i *Incall) *[]ScheduleRef { return &i.Schedules },
		crud.Many(func(s *Schedule) *[]IncallRef { return &s.Incalls }))
}

// hasSchedule declares that objects may have one. R is a schedule as they show it.
func hasSchedule[T, R any](e *crud.Engine, relation crud.Relation[T, Schedule], field func(o *T) *[]R, shows crud.Show) {
	crud.Link[T, Schedule]{Relation: relation, LeftHas: crud.AtMostOne, LeftShows: []crud.Show{crud.Many(field)}, RightShows: []crud.Show{shows}}.On(e)
}

// Fault returns the attribute for which a period would never come, and why, or nil.
func (p *SchedulePeriod) Fault() *apierr.Field {
	if p.End < p.Start {
		return &apierr.Field{Name: "hours_end", Constraint: "range", Message: "hours_end is before hours_start"}
	}
	inMonth := func(month int64) bool {
		return slices.Min(p.MonthDays) <= []int64{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	}
	if !slices.ContainsFunc(p.Months, inMonth) {
		return &apierr.Field{Name: "month_days", Constraint: "range", Message: "none of the months has one of these days"}
	}
	return nil
}
