package confdsvc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// The caller ID of a line is the option callerid of its SIP endpoint: "Alice Martin" <1000>. There is none without such an endpoint.

// callerID returns the caller ID of an endpoint's own options.
func (o SIPOptions) callerID() conf.CallerID {
	value, _ := o.last("callerid")
	return conf.ParseCallerID(value)
}

// setCallerID sets the option, or removes it.
func (o *SIPOptions) setCallerID(id conf.CallerID) {
	o.V = slices.DeleteFunc(slices.Clone(o.V), func(pair []string) bool { return pair[0] == "callerid" })
	if value := id.String(); value != "" {
		o.V = append(o.V, []string{"callerid", value})
	}
}

// ofHiddenUser reports whether a line has a user of whom the caller of ctx may not know: then they are not told its caller ID, which tells who
// telephones with it. by is the column that names the line, or its endpoint, in confd_line_endpoint.
func ofHiddenUser(ctx context.Context, e *crud.Engine, by string, key any) (bool, error) {
	if !e.Hides(ctx, "users") {
		return false, nil
	}
	sql, args := e.Visible(ctx, `SELECT count(*) FROM {+confd_line_endpoint} le JOIN {+confd_user_line} ul ON ul.line_id = le.line_id
		WHERE le.`+by+` = $1 AND NOT EXISTS (SELECT 1 FROM {confd_user} u WHERE u.id = ul.user_id)`, key)
	n, err := store.Get[int](ctx, transaction.ConnOf(ctx, e.DB), sql, args...)
	return n > 0, err
}

// concealCallerID takes the caller ID of a user of whom the caller of ctx may not know out of an endpoint.
func concealCallerID(e *crud.Engine) func(ctx context.Context, x *EndpointSIP) (bool, error) {
	return func(ctx context.Context, x *EndpointSIP) (bool, error) {
		if _, has := x.Endpoint.last("callerid"); !has {
			return false, nil
		}
		hidden, err := ofHiddenUser(ctx, e, "sip_uuid", x.UUID)
		if hidden {
			x.Endpoint.setCallerID(conf.CallerID{})
		}
		return hidden, err
	}
}

// concealNameOrNumber is concealCallerID for a part of a line's caller ID. Lines are read without it; the audit has it.
func concealNameOrNumber(e *crud.Engine, part func(l *Line) **string) func(ctx context.Context, l *Line) (bool, error) {
	return func(ctx context.Context, l *Line) (hidden bool, err error) {
		if *part(l) != nil {
			if hidden, err = ofHiddenUser(ctx, e, "line_id", l.ID); hidden {
				*part(l) = nil
			}
		}
		return hidden, err
	}
}

// keepConcealed leaves the caller ID of an endpoint as it is, if who sends its options has read them without.
func keepConcealed(ctx context.Context, e *crud.Engine, change *crud.Change[EndpointSIP]) error {
	options := &change.New.Endpoint
	if _, has := options.last("callerid"); has || change.Old == nil || !change.Sent.Has("endpoint_section_options") {
		return nil
	}
	hidden, err := ofHiddenUser(ctx, e, "sip_uuid", change.Old.UUID)
	if !hidden {
		return err
	}
	for i, pair := range change.Old.Endpoint.V {
		if pair[0] == "callerid" {
			options.V = slices.Insert(slices.Clone(options.V), min(i, len(options.V)), pair)
		}
	}
	return err
}

// prepareEndpointSIP completes an endpoint. Its columns repeat the caller ID for the lists of lines; a number with other signs than digits
// is none there.
func prepareEndpointSIP(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[EndpointSIP]) error {
	if err := keepConcealed(ctx, e, change); err != nil {
		return err
	}
	id := change.New.Endpoint.callerID()
	change.New.CallerIDName, change.New.CallerIDNum = nil, nil
	if id.Name != "" {
		change.New.CallerIDName = &id.Name
	}
	if id.Number != "" && strings.Trim(id.Number, "0123456789") == "" {
		change.New.CallerIDNum = &id.Number
	}
	if err := prepareSections(ctx, c, change); err != nil {
		return err
	}
	change.New.generateLogin()
	return nil
}

// sentCallerID returns the changes of a line's caller ID that a client sent. There are none if the client sent what is stored.
func sentCallerID(change *crud.Change[Line]) (edits []func(id *conf.CallerID)) {
	var name, number *string
	if change.Old != nil {
		name, number = change.Old.CallerIDName, change.Old.CallerIDNum
	}
	for _, part := range []struct {
		sent string
		old  *string
		of   func(id *conf.CallerID) *string
	}{
		{"caller_id_name", name, func(id *conf.CallerID) *string { return &id.Name }},
		{"caller_id_num", number, func(id *conf.CallerID) *string { return &id.Number }},
	} {
		text, isText := change.Sent.Value(part.sent).(string)
		if change.Sent.Has(part.sent) && (isText && (part.old == nil || *part.old != text) || !isText && part.old != nil) {
			edits = append(edits, func(id *conf.CallerID) { *part.of(id) = text })
		}
	}
	return edits
}

// checkCallerID refuses a caller ID for a line that has no SIP endpoint, and gets none in the same request.
func checkCallerID(ctx context.Context, c store.Conn, change *crud.Change[Line]) error {
	if len(sentCallerID(change)) == 0 {
		return nil
	}
	if change.Sent.Value("endpoint_sip") != nil && (change.Old == nil || change.Request.Bool("recursive")) {
		return nil
	}
	sip, err := sipOfLine(ctx, c, change.New.ID)
	if err != nil || sip != "" {
		return err
	}
	e := apierr.New(apierr.Invalid, "Cannot set caller id if no endpoint associated")
	e.ID = rest.BareError
	return e
}

// sipOfLine returns the UUID of a line's SIP endpoint, or "".
func sipOfLine(ctx context.Context, c store.Conn, lineID ID) (string, error) {
	return firstOf(store.Select[string](ctx, c, `SELECT CAST(sip_uuid AS text) FROM confd_line_endpoint WHERE line_id = $1 AND sip_uuid IS NOT NULL`, lineID))
}

// saveCallerID writes the caller ID that a client sent for a line to the endpoint that the line has.
func saveCallerID(e *crud.Engine) func(ctx context.Context, c store.Conn, change *crud.Change[Line]) error {
	return func(ctx context.Context, c store.Conn, change *crud.Change[Line]) error {
		edits := sentCallerID(change)
		if len(edits) == 0 {
			return nil
		}
		sip, err := sipOfLine(ctx, c, change.New.ID)
		if err != nil || sip == "" {
			return err
		}
		return editCallerID(ctx, c, e, change.Request, sip, edits)
	}
}

// editCallerID changes the caller ID of an endpoint.
func editCallerID(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, sip string, edits []func(id *conf.CallerID)) error {
	all := crud.Of[EndpointSIP](e)
	found, err := all.Select(ctx, c, "uuid = $1", sip)
	if err != nil || len(found) == 0 {
		return err
	}
	id := found[0].Endpoint.callerID()
	for _, edit := range edits {
		edit(&id)
	}
	if id == found[0].Endpoint.callerID() {
		return nil
	}
	if err := all.NotDenied(r, found[0], "update"); err != nil {
		return err
	}
	change := &crud.Change[EndpointSIP]{Request: r, Tenant: found[0].TenantUUID, Old: found[0]}
	return all.Update(ctx, c, change, func(x *EndpointSIP) error {
		x.Endpoint.setCallerID(id)
		return nil
	})
}

// completeEndpointSIP gives the new endpoint of a line the context in which it dials, and the line's caller ID.
func completeEndpointSIP(_ context.Context, _ store.Conn, of *crud.Change[Line], x *EndpointSIP) error {
	if _, sent := x.Endpoint.last("context"); !sent {
		x.Endpoint.V = append(x.Endpoint.V, []string{"context", of.New.Context})
	}
	id := x.Endpoint.callerID()
	for _, edit := range sentCallerID(of) {
		edit(&id)
	}
	if of.New.mainUser != nil {
		if exten := firstExten(of.Sent.Value("extensions")); exten != "" || id == (conf.CallerID{}) {
			id = of.New.mainUser.callerIDWith(exten)
		}
	}
	if id != x.Endpoint.callerID() {
		x.Endpoint.setCallerID(id)
	}
	return nil
}

// firstExten returns the number of the first extension of a body, or "".
func firstExten(extensions any) string {
	list, _ := extensions.([]any)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(map[string]any)
	exten, _ := first["exten"].(string)
	return exten
}

// callerIDWith returns the caller ID of a line whose main user this is: the user's own, or their names. Without a number of its own it has
// the line's; a pattern of numbers is none.
func (u *User) callerIDWith(exten string) conf.CallerID {
	id := conf.ParseCallerID(callerID(u.Firstname, u.Lastname))
	if u.CallerID != nil {
		id = conf.ParseCallerID(*u.CallerID)
	}
	if id.Number == "" && !strings.HasPrefix(exten, "_") {
		id.Number = exten
	}
	return id
}

// rememberMainUser lets the endpoint of a user's new line be made with the caller ID that the line gets.
func rememberMainUser(_ context.Context, _ store.Conn, of *crud.Change[User], l *Line) error {
	l.mainUser = of.New
	return nil
}

// lineIdentity finds what makes a line's caller ID. Each table is looked up by itself: in a long transaction, such as an import into an empty
// database, PostgreSQL keeps to a plan that it made for empty tables, and would read whole tables for a join of five.
var lineIdentity = fmt.Sprintf(`
	SELECT l.user_id, l.exten, CAST(l.sip_uuid AS text) AS sip_uuid,
		(SELECT u.firstname FROM confd_user u WHERE u.id = l.user_id) AS firstname,
		(SELECT u.lastname FROM confd_user u WHERE u.id = l.user_id) AS lastname,
		(SELECT u.caller_id FROM confd_user u WHERE u.id = l.user_id) AS caller_id,
		(SELECT s.endpoint_section_options FROM confd_endpoint_sip s WHERE s.uuid = l.sip_uuid) AS options
	FROM (
		SELECT le.sip_uuid, `+mainUser+` AS user_id,
			(SELECT x.exten FROM confd_extension x WHERE x.id = (
				SELECT lx.extension_id FROM confd_line_extension lx WHERE lx.line_id = le.line_id ORDER BY lx.extension_id + 0 LIMIT 1)) AS exten
		FROM confd_line_endpoint le WHERE le.line_id = $1 AND le.sip_uuid IS NOT NULL) AS l
	WHERE l.user_id IS NOT NULL`, "le.line_id")

// identifyLine sets the caller ID of a line when its main user and its number meet: the user's, with the number. Without a number a line that
// has a caller ID keeps it.
func identifyLine(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, lineID ID, userID *ID) error {
	with, err := lineIdentityOf(ctx, c, lineID)
	if err != nil || with == nil || userID != nil && *userID != with.UserID || with.Exten == nil && with.Options.callerID() != (conf.CallerID{}) {
		return err
	}
	return with.put(ctx, c, e, r, with.user().callerIDWith(orEmpty(with.Exten)))
}

// identity is what makes a line's caller ID, and the options of the endpoint that has it.
type identity struct {
	UserID    ID      `db:"user_id"`
	Firstname string  `db:"firstname"`
	Lastname  *string `db:"lastname"`
	CallerID  *string `db:"caller_id"`
	Exten     *string `db:"exten"`
	SIPUUID   string  `db:"sip_uuid"`
	Options   SIPOptions
}

// lineIdentityOf returns what makes a line's caller ID. It is nil for a line without a main user, or without a SIP endpoint.
func lineIdentityOf(ctx context.Context, c store.Conn, lineID ID) (*identity, error) {
	return firstOf(store.Select[*identity](ctx, c, lineIdentity, lineID))
}

func (i *identity) user() *User {
	return &User{Firstname: i.Firstname, Lastname: i.Lastname, CallerID: i.CallerID}
}

// put gives the line a caller ID, if it has another.
func (i *identity) put(ctx context.Context, c store.Conn, e *crud.Engine, r *rest.Request, id conf.CallerID) error {
	if id == i.Options.callerID() {
		return nil
	}
	return editCallerID(ctx, c, e, r, i.SIPUUID, []func(*conf.CallerID){func(of *conf.CallerID) { *of = id }})
}

// identifyLinesOf sets the caller IDs of the lines whose main user has changed their own. If that has no number, a line
// without one keeps what its caller ID has, unless it was the user's.
func identifyLinesOf(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[User]) error {
	if change.Old == nil || !different(change.Old.CallerID, change.New.CallerID) {
		return nil
	}
	lines, err := store.Select[ID](ctx, c, `SELECT line_id FROM confd_user_line WHERE user_id = $1 ORDER BY position, id`, change.New.ID)
	if err != nil {
		return err
	}
	before := change.Old.callerIDWith("")
	for _, line := range lines {
		with, err := lineIdentityOf(ctx, c, line)
		if err != nil {
			return err
		}
		if with == nil || with.UserID != change.New.ID {
			continue
		}
		number := with.Options.callerID().Number
		if with.Exten != nil {
			number = *with.Exten
		} else if number == before.Number {
			number = ""
		}
		if err := with.put(ctx, c, e, change.Request, change.New.callerIDWith(number)); err != nil {
			return err
		}
	}
	return nil
}

func identifiesUser(e *crud.Engine) crud.Check[User, Line] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[User, Line]) error {
		if pair.Ends {
			return nil
		}
		return identifyLine(ctx, c, e, pair.Request, pair.Right.ID, &pair.Left.ID)
	})
}

func identifiesNumber(e *crud.Engine) crud.Check[Line, Extension] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Line, Extension]) error {
		if pair.Ends || userLines.RightUnlinked(ctx, e, pair.Left) {
			return nil
		}
		return identifyLine(ctx, c, e, pair.Request, pair.Left.ID, nil)
	})
}
