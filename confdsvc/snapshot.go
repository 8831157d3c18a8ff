package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Snapshot is the configuration of all tenants at one moment, as the files of a telephone system are made from it. Objects have
// their own data; the links between them are in the maps beside them. All lists are in the order of the objects' keys.
type Snapshot struct {
	// Slugs are the tenants' short names, by UUID.
	Slugs map[string]string
	// Master is the UUID of the master tenant, of which the emergency numbers are everybody's.
	Master string

	Tenants         []*Tenant
	Contexts        []*Context
	Users           []*User
	Lines           []*Line
	Extensions      []*Extension
	Features        []*ExtensionFeature
	Voicemails      []*Voicemail
	Groups          []*Group
	Queues          []*Queue // with their links
	Agents          []*Agent // with their links
	SkillRules      []*SkillRule
	Incalls         []*Incall
	Music           []*MOH
	Sounds          []*Sound
	Schedules       []*Schedule
	Menus           []*IVR
	Conferences     []*Conference
	ParkingLots     []*ParkingLot
	Outcalls        []*Outcall
	CallPermissions []*CallPermission
	Pagings         []*Paging
	CallFilters     []*CallFilter  // with their users
	CallPickups     []*CallPickup  // with their users and groups
	Switchboards    []*Switchboard // with their members
	Applications    []*Application
	Keys            []*FuncKeyTemplate
	Customs         []*EndpointCustom
	Transports      []*SIPTransport
	Trunks          []*Trunk
	PhoneNumbers    []*PhoneNumber
	Emergencies     []*EmergencyNumber
	Blocked         []*BlocklistNumber
	Announcements   []*RecordingAnnouncements
	EndpointsIAX    []*EndpointIAX
	RegistersIAX    []*RegisterIAX
	// Endpoints have the options of their templates.
	Endpoints []*EndpointSIP

	VoicemailGeneral map[string]string
	// Sections are the options that are stored of sections of Asterisk's own files, by their paths: see [Snapshot.Section].
	Sections map[string]map[string]string
	Zones    []ZoneMessage
	// IAXCodecs are the options of iax.conf that choose codecs, in their order, and IAXLimits how many calls may come from where by IAX.
	IAXCodecs [][]string
	IAXLimits []CallNumberLimit

	Includes             map[ID][]ID     // contexts that a context includes, in order
	UserLines            map[ID][]ID     // the lines of a user, the main one first
	LineUsers            map[ID][]ID     // the users of a line, its main one first
	LineExtensions       map[ID][]ID     // the numbers of a line
	LineSIP              map[ID]string   // the SIP endpoint of a line
	LineCustom           map[ID]ID       // the custom endpoint of a line
	LineApplication      map[ID]string   // the application that takes the calls of a line
	TrunkSIP             map[ID]string   // the SIP endpoint of a trunk
	TrunkCustom          map[ID]ID       // the custom endpoint of a trunk
	TrunkIAX             map[ID]ID       // the IAX endpoint of a trunk
	TrunkRegister        map[ID]ID       // the registration of a trunk by IAX
	UserVoicemail        map[ID]ID       // the voicemail of a user
	GroupExtensions      map[string][]ID // the numbers of a group
	GroupUsers           map[string][]ID // the members of a group that are users, in order
	IncallExtensions     map[ID][]ID     // the numbers of an incall
	ConferenceExtensions map[ID][]ID     // the numbers of a conference
	ParkingExtensions    map[ID][]ID     // the number of a parking lot
	UserCallPermissions  map[ID][]ID     // the call permissions of a user
	GroupCallPermissions map[string][]ID // the call permissions of a group
	PagingCallers        map[ID][]ID     // the users who may speak by a paging
	PagingMembers        map[ID][]ID     // the users who are heard
	UserSchedule         map[ID]ID       // the schedule of a user
	GroupSchedule        map[string]ID   // the schedule of a group
	IncallSchedule       map[ID]ID       // the schedule of an incall
}

// Snapshots reads snapshots.
type Snapshots struct{ engine *crud.Engine }

// NewSnapshots prepares to read a database's snapshots.
func NewSnapshots(db store.DB) *Snapshots {
	e := declared(db)
	e.Operations() // it makes the links known
	return &Snapshots{e}
}

// Read returns the configuration, read on one snapshot of the database by a number of statements that depends only on how many
// thousands of objects there are.
func (r *Snapshots) Read(ctx context.Context) (*Snapshot, error) {
	var s *Snapshot
	err := r.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		s = &Snapshot{}
		for _, read := range s.parts() {
			if err := read(ctx, c, r.engine); err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// Users returns the users, without their fallbacks.
func (r *Snapshots) Users(ctx context.Context) (users []*User, err error) {
	err = r.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		return rows(&users, nil)(ctx, c, r.engine)
	})
	return users, err
}

// reading reads a part of a snapshot.
type reading func(ctx context.Context, c store.Conn, e *crud.Engine) error

// parts are all parts of a snapshot.
func (s *Snapshot) parts() []reading {
	return []reading{
		func(ctx context.Context, c store.Conn, _ *crud.Engine) (err error) {
			if s.Slugs, err = tenant.Slugs(ctx, c); err == nil {
				s.Master, err = tenant.Master(ctx, c)
			}
			return err
		},
		rows(&s.Tenants, nil),
		rows(&s.Contexts, nil),
		rows(&s.Users, userDestinations.all),
		s.readLines,
		rows(&s.Extensions, nil),
		rows(&s.Features, nil),
		rows(&s.Voicemails, nil),
		whole(&s.Groups),
		withDestinations(&s.Queues, queueDestinations),
		withLinks(&s.Agents),
		rows(&s.SkillRules, nil),
		rows(&s.Incalls, incallDestinations.all),
		rows(&s.Music, nil),
		rows(&s.Sounds, nil),
		rows(&s.Schedules, scheduleDestinations.all),
		rows(&s.Menus, ivrDestinations.all),
		rows(&s.Conferences, nil),
		rows(&s.ParkingLots, nil),
		rows(&s.Pagings, nil),
		withLinks(&s.CallFilters),
		withLinks(&s.CallPickups),
		withLinks(&s.Switchboards),
		rows(&s.Applications, nil),
		withLinks(&s.Outcalls),
		rows(&s.CallPermissions, nil),
		whole(&s.Keys),
		rows(&s.Customs, nil),
		rows(&s.Transports, nil),
		rows(&s.Trunks, nil),
		rows(&s.PhoneNumbers, nil),
		withLinks(&s.Emergencies),
		rows(&s.Blocked, nil),
		func(ctx context.Context, c store.Conn, _ *crud.Engine) (err error) {
			s.Announcements, err = store.Select[*RecordingAnnouncements](ctx, c,
				`SELECT tenant_uuid, recording_start, recording_stop FROM confd_recording_announcements ORDER BY tenant_uuid`)
			return err
		},
		rows(&s.EndpointsIAX, nil),
		rows(&s.RegistersIAX, nil),
		document(func(general *IAXGeneral) { s.IAXCodecs = general.Ordered.V }),
		document(func(limits *IAXCallNumberLimits) { s.IAXLimits = limits.Items.V }),
		rows(&s.Endpoints, allParents(endpointKind)),
		s.mergeTemplates,
		document(func(general *VoicemailGeneral) { s.VoicemailGeneral = general.Options.V }),
		s.readSections,
		document(func(zones *ZoneMessages) { s.Zones = zones.Items.V }),
		lists(contextIncludes, &s.Includes),
		lists(userLines, &s.UserLines),
		s.readUsersOfLines,
		lists(lineExtensions, &s.LineExtensions),
		ones(trunkSIP, &s.TrunkSIP),
		ones(trunkCustom, &s.TrunkCustom),
		ones(trunkIAX, &s.TrunkIAX),
		ones(trunkRegisterIAX, &s.TrunkRegister),
		ones(userVoicemail, &s.UserVoicemail),
		lists(groupExtensions, &s.GroupExtensions),
		lists(groupUsers, &s.GroupUsers),
		lists(incallExtensions, &s.IncallExtensions),
		lists(conferenceExtensions, &s.ConferenceExtensions),
		lists(parkingExtensions, &s.ParkingExtensions),
		lists(userCallPermissions, &s.UserCallPermissions),
		lists(groupCallPermissions, &s.GroupCallPermissions),
		lists(pagingCallers, &s.PagingCallers),
		lists(pagingMembers, &s.PagingMembers),
		ones(userSchedules, &s.UserSchedule),
		ones(groupSchedules, &s.GroupSchedule),
		ones(incallSchedules, &s.IncallSchedule),
	}
}

// rows reads the objects of a collection, and what load keeps outside their rows, if that is set.
func rows[T any](into *[]*T, load func(context.Context, store.Conn, *crud.Engine, []*T) error) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) (err error) {
		if *into, err = crud.Of[T](e).Rows(ctx, c, "1 = 1"); err == nil && load != nil {
			err = load(ctx, c, e, *into)
		}
		return err
	}
}

// withLinks reads the objects of a collection with the linked objects that they show.
func withLinks[T any](into *[]*T) reading {
	return rows(into, func(ctx context.Context, c store.Conn, e *crud.Engine, objects []*T) error {
		return crud.Of[T](e).LoadAll(ctx, c, "", objects)
	})
}

// withDestinations is withLinks for objects that have destinations.
func withDestinations[T any](into *[]*T, of destinationsOf[T]) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) error {
		err := withLinks(into)(ctx, c, e)
		if err == nil {
			err = of.all(ctx, c, e, *into)
		}
		return err
	}
}

// whole reads the objects of a collection with what they keep outside their rows.
func whole[T any](into *[]*T) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) (err error) {
		*into, err = crud.Of[T](e).Select(ctx, c, "1 = 1")
		return err
	}
}

// document reads a document that all tenants share.
func document[T any](into func(*T)) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) error {
		d, err := crud.OfAll[T](ctx, c, e)
		if err == nil {
			into(d)
		}
		return err
	}
}

// lists reads, by the key of each left object of a relation, the keys of its right ones.
func lists[A comparable, B, L, R any](of crud.Relation[L, R], into *map[A][]B) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) error {
		ends, err := crud.Linked[A, B](ctx, c, e, of)
		*into = byLeft(ends)
		return err
	}
}

// ones reads, by the key of each left object of a relation, the key of its only right one.
func ones[A comparable, B, L, R any](of crud.Relation[L, R], into *map[A]B) reading {
	return func(ctx context.Context, c store.Conn, e *crud.Engine) error {
		ends, err := crud.Linked[A, B](ctx, c, e, of)
		*into = make(map[A]B, len(ends))
		for _, end := range ends {
			(*into)[end.Left] = end.Right
		}
		return err
	}
}

func byLeft[A comparable, B any](ends []crud.Ends[A, B]) map[A][]B {
	out := make(map[A][]B, len(ends))
	for _, end := range ends {
		out[end.Left] = append(out[end.Left], end.Right)
	}
	return out
}

// readLines reads the lines without what they show of their endpoints, and what they lead to.
func (s *Snapshot) readLines(ctx context.Context, c store.Conn, _ *crud.Engine) error {
	rows, err := store.Select[struct {
		Line
		SIP         *string `db:"sip_uuid"`
		Custom      *ID     `db:"custom_id"`
		Application *string `db:"application_uuid"`
	}](ctx, c, `SELECT l.id, l.tenant_uuid, l.context, l.position, CAST(e.sip_uuid AS text) AS sip_uuid, e.custom_id,
		CAST(a.application_uuid AS text) AS application_uuid
		FROM confd_line l LEFT JOIN confd_line_endpoint e ON e.line_id = l.id LEFT JOIN confd_line_application a ON a.line_id = l.id ORDER BY l.id`)
	s.LineSIP, s.LineCustom, s.LineApplication = map[ID]string{}, map[ID]ID{}, map[ID]string{}
	for i := range rows {
		row := &rows[i]
		s.Lines = append(s.Lines, &row.Line)
		if row.SIP != nil {
			s.LineSIP[row.ID] = *row.SIP
		}
		if row.Custom != nil {
			s.LineCustom[row.ID] = *row.Custom
		}
		if row.Application != nil {
			s.LineApplication[row.ID] = *row.Application
		}
	}
	return err
}

// mergeTemplates gives the endpoints the options of their templates.
func (s *Snapshot) mergeTemplates(ctx context.Context, c store.Conn, e *crud.Engine) error {
	var templates []*EndpointSIPTemplate
	if err := rows(&templates, allParents(templateKind))(ctx, c, e); err != nil {
		return err
	}
	m := mergerOfTemplates(templates)
	for _, endpoint := range s.Endpoints {
		endpoint.SIPSections = *m.merge(&endpoint.SIPSections)
	}
	return nil
}

// allParents returns a function that fills in the templates, and the transports, of all objects of a kind.
func allParents[T any](kind sipKind[T]) func(context.Context, store.Conn, *crud.Engine, []*T) error {
	return func(ctx context.Context, c store.Conn, _ *crud.Engine, objects []*T) error {
		sections := make([]*SIPSections, len(objects))
		for i, o := range objects {
			sections[i] = sectionsOf(o)
			sections[i].showTransport()
		}
		return kind.parentsWhere(ctx, c, sections, "1 = 1")
	}
}

// readUsersOfLines reads the users of each line in the order in which it got them: the first one is its main user.
func (s *Snapshot) readUsersOfLines(ctx context.Context, c store.Conn, _ *crud.Engine) error {
	ends, err := store.Select[crud.Ends[ID, ID]](ctx, c, `SELECT line_id AS left_key, user_id AS right_key FROM confd_user_line ORDER BY id`)
	s.LineUsers = byLeft(ends)
	return err
}

// Last returns the effective value of an option, and whether there is one.
func (o SIPOptions) Last(name string) (string, bool) { return o.last(name) }
