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

	Contexts   []*Context
	Users      []*User
	Lines      []*Line
	Extensions []*Extension
	Features   []*ExtensionFeature
	Voicemails []*Voicemail
	Groups     []*Group
	Incalls    []*Incall
	Music      []*MOH
	Keys       []*FuncKeyTemplate
	Customs    []*EndpointCustom
	Transports []*SIPTransport
	// Endpoints have the options of their templates.
	Endpoints []*EndpointSIP

	VoicemailGeneral map[string]string
	Zones            []ZoneMessage

	Includes         map[int64][]int64  // contexts that a context includes, in order
	UserLines        map[int64][]int64  // the lines of a user, the main one first
	LineUsers        map[int64][]int64  // the users of a line, its main one first
	LineExtensions   map[int64][]int64  // the numbers of a line
	LineSIP          map[int64]string   // the SIP endpoint of a line
	LineCustom       map[int64]int64    // the custom endpoint of a line
	UserVoicemail    map[int64]int64    // the voicemail of a user
	GroupExtensions  map[string][]int64 // the numbers of a group
	GroupUsers       map[string][]int64 // the members of a group that are users, in order
	IncallExtensions map[int64][]int64  // the numbers of an incall
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
	s := &Snapshot{}
	err := r.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		*s = Snapshot{}
		for _, read := range []func(context.Context, store.Conn, *crud.Engine) error{s.readTenants, s.readObjects, s.readEndpoints, s.readSettings, s.readLinks} {
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
		return all(ctx, c, r.engine, &users, nil)
	})
	return users, err
}

func (s *Snapshot) readTenants(ctx context.Context, c store.Conn, _ *crud.Engine) (err error) {
	s.Slugs, err = tenant.Slugs(ctx, c)
	return err
}

// all reads the objects of a collection, and what load keeps outside their rows, if that is set.
func all[T any](ctx context.Context, c store.Conn, e *crud.Engine, into *[]*T, load func(context.Context, store.Conn, []*T) error) (err error) {
	if *into, err = crud.Of[T](e).Rows(ctx, c, "1 = 1"); err == nil && load != nil {
		err = load(ctx, c, *into)
	}
	return err
}

func (s *Snapshot) readObjects(ctx context.Context, c store.Conn, e *crud.Engine) error {
	for _, read := range []func() error{
		func() error { return all(ctx, c, e, &s.Contexts, nil) },
		func() error { return all(ctx, c, e, &s.Users, userDestinations.all(e)) },
		func() error { return s.readLines(ctx, c) },
		func() error { return all(ctx, c, e, &s.Extensions, nil) },
		func() error { return all(ctx, c, e, &s.Features, nil) },
		func() error { return all(ctx, c, e, &s.Voicemails, nil) },
		func() error { return s.readGroups(ctx, c, e) },
		func() error { return all(ctx, c, e, &s.Incalls, incallDestinations.all(e)) },
		func() error { return all(ctx, c, e, &s.Music, nil) },
		func() error { return s.readKeys(ctx, c, e) },
		func() error { return all(ctx, c, e, &s.Customs, nil) },
		func() error { return all(ctx, c, e, &s.Transports, nil) },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the lines without what they show of their endpoints.
func (s *Snapshot) readLines(ctx context.Context, c store.Conn) (err error) {
	s.Lines, err = store.Select[*Line](ctx, c, `SELECT id, tenant_uuid, context, position FROM confd_line ORDER BY id`)
	return err
}

func (s *Snapshot) readGroups(ctx context.Context, c store.Conn, e *crud.Engine) (err error) {
	s.Groups, err = crud.Of[Group](e).Select(ctx, c, "1 = 1")
	return err
}

func (s *Snapshot) readKeys(ctx context.Context, c store.Conn, e *crud.Engine) (err error) {
	s.Keys, err = crud.Of[FuncKeyTemplate](e).Select(ctx, c, "1 = 1")
	return err
}

func (s *Snapshot) readEndpoints(ctx context.Context, c store.Conn, e *crud.Engine) error {
	if err := all(ctx, c, e, &s.Endpoints, allParents[EndpointSIP](endpointKind)); err != nil {
		return err
	}
	var templates []*EndpointSIPTemplate
	if err := all(ctx, c, e, &templates, allParents[EndpointSIPTemplate](templateKind)); err != nil {
		return err
	}
	m := mergerOfTemplates(templates)
	for _, endpoint := range s.Endpoints {
		endpoint.SIPSections = *m.merge(&endpoint.SIPSections)
	}
	return nil
}

// allParents returns a function that fills in the templates, and the transports, of all objects of a kind.
func allParents[T any](kind sipKind) func(context.Context, store.Conn, []*T) error {
	return func(ctx context.Context, c store.Conn, objects []*T) error {
		sections := make([]*SIPSections, len(objects))
		for i, o := range objects {
			sections[i] = sectionsOf(o)
			sections[i].showTransport()
		}
		return kind.parentsWhere(ctx, c, sections, "1 = 1")
	}
}

func (s *Snapshot) readSettings(ctx context.Context, c store.Conn, e *crud.Engine) error {
	general, err := crud.OfAll[VoicemailGeneral](ctx, c, e)
	if err != nil {
		return err
	}
	zones, err := crud.OfAll[ZoneMessages](ctx, c, e)
	if err != nil {
		return err
	}
	s.VoicemailGeneral, s.Zones = general.Options.V, zones.Items.V
	return nil
}

func (s *Snapshot) readLinks(ctx context.Context, c store.Conn, e *crud.Engine) (err error) {
	if s.Includes, err = lists[int64, int64](ctx, c, e, contextIncludes); err != nil {
		return err
	}
	if s.UserLines, err = lists[int64, int64](ctx, c, e, userLines); err != nil {
		return err
	}
	if s.LineUsers, err = usersOfLines(ctx, c); err != nil {
		return err
	}
	if s.LineExtensions, err = lists[int64, int64](ctx, c, e, lineExtensions); err != nil {
		return err
	}
	if s.LineSIP, err = ones[int64, string](ctx, c, e, lineSIP); err != nil {
		return err
	}
	if s.LineCustom, err = ones[int64, int64](ctx, c, e, lineCustom); err != nil {
		return err
	}
	if s.UserVoicemail, err = ones[int64, int64](ctx, c, e, userVoicemail); err != nil {
		return err
	}
	if s.GroupExtensions, err = lists[string, int64](ctx, c, e, groupExtensions); err != nil {
		return err
	}
	if s.GroupUsers, err = lists[string, int64](ctx, c, e, groupUsers); err != nil {
		return err
	}
	s.IncallExtensions, err = lists[int64, int64](ctx, c, e, incallExtensions)
	return err
}

// lists returns, by the key of each left object, the keys of its right ones.
func lists[A comparable, B, L, R any](ctx context.Context, c store.Conn, e *crud.Engine, of crud.RelationOf[L, R]) (map[A][]B, error) {
	ends, err := crud.Linked[A, B](ctx, c, e, of)
	out := make(map[A][]B, len(ends))
	for _, end := range ends {
		out[end.Left] = append(out[end.Left], end.Right)
	}
	return out, err
}

// ones returns, by the key of each left object, the key of its only right one.
func ones[A comparable, B, L, R any](ctx context.Context, c store.Conn, e *crud.Engine, of crud.RelationOf[L, R]) (map[A]B, error) {
	ends, err := crud.Linked[A, B](ctx, c, e, of)
	out := make(map[A]B, len(ends))
	for _, end := range ends {
		out[end.Left] = end.Right
	}
	return out, err
}

// usersOfLines returns the users of each line in the order in which it got them: the first one is its main user.
func usersOfLines(ctx context.Context, c store.Conn) (map[int64][]int64, error) {
	rows, err := store.Select[crud.Ends[int64, int64]](ctx, c, `SELECT line_id AS left_key, user_id AS right_key FROM confd_user_line ORDER BY id`)
	out := make(map[int64][]int64, len(rows))
	for _, row := range rows {
		out[row.Left] = append(out[row.Left], row.Right)
	}
	return out, err
}

// Last returns the effective value of an option, and whether there is one.
func (o SIPOptions) Last(name string) (string, bool) { return o.last(name) }
