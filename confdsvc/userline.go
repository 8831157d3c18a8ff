package confdsvc

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// UserLine is a line as its user shows it.
type UserLine struct {
	ID             int64              `db:"id" json:"id"`
	Name           *string            `db:"name" json:"name"`
	Protocol       *string            `db:"protocol" json:"-"`
	EndpointSIP    *EndpointSIPRef    `json:"endpoint_sip"`
	EndpointSCCP   *EndpointSCCPRef   `json:"endpoint_sccp"`
	EndpointCustom *EndpointCustomRef `json:"endpoint_custom"`
	Extensions     []ExtensionRef     `json:"extensions"`
	crud.Hrefs
}

const userLines crud.Relation[User, Line] = "confd_user_line"

func init() { resources = append(resources, declareUserLines, declareUserLineSIP) }

// declareUserLines joins users and lines. A line's first user is its main user; a user's first line is their main line.
func declareUserLines(e *crud.Engine) {
	crud.Link[User, Line]{
		Relation: userLines, Position: "position", Only: []string{"put", "delete", "set"},
		LeftShows:  []crud.Show{crud.Many(func(u *User) *[]UserLine { return &u.Lines })},
		RightShows: []crud.Show{crud.Many(func(l *Line) *[]UserRef { return &l.Users })},
		Allow:      crud.All(crud.SameTenant, crud.Each(userLineHasEndpoint), crud.Each(oneUserForSharedExtension)),
		MayEnd:     crud.Each(mainUserStays),
		Changed:    identifiesUser(e),
		Set:        &crud.List{By: []string{"id"}, Repeated: "Cannot associate same line more than once."},
	}.On(e)
	crud.Nest[User, Line]{Name: "lines", Relation: userLines, Many: true, Shown: true, Complete: rememberMainUser}.On(e)
}

func userLineHasEndpoint(ctx context.Context, c store.Conn, pair *crud.Pair[User, Line]) error {
	return needsEndpoint(ctx, c, pair.Right.ID)
}

// mainUser is the query of a line's main user: the first one that it had. The sum keeps PostgreSQL from walking the table in the order of
// its ids until it meets the line.
const mainUser = `(SELECT ul.user_id FROM confd_user_line ul WHERE ul.line_id = %s ORDER BY ul.id + 0 LIMIT 1)`

// oneMainUser refuses a number that rings the lines of another main user.
func oneMainUser(ctx context.Context, c store.Conn, pair *crud.Pair[Line, Extension]) error {
	if pair.RightUnlinked(ctx) {
		return nil
	}
	others, err := store.Select[ID](ctx, c, fmt.Sprintf(`
		SELECT lx.line_id FROM confd_line_extension lx WHERE lx.extension_id = $1 AND lx.line_id <> $2 AND `+mainUser+` <> `+mainUser,
		"lx.line_id", "$2"), pair.Right.ID, pair.Left.ID)
	if err != nil || len(others) == 0 {
		return err
	}
	return style.Associated("User", "Line", "line_id", others[0], "extension_id", pair.Right.ID)
}

// oneUserForSharedExtension refuses a user for a line whose number rings lines of another main user.
func oneUserForSharedExtension(ctx context.Context, c store.Conn, pair *crud.Pair[User, Line]) error {
	shared, err := store.Select[ID](ctx, c, fmt.Sprintf(`
		SELECT mine.extension_id FROM confd_line_extension mine JOIN confd_line_extension theirs
			ON theirs.extension_id = mine.extension_id AND theirs.line_id <> mine.line_id
		WHERE mine.line_id = $1 AND `+mainUser+` <> $2`, "theirs.line_id"), pair.Right.ID, pair.Left.ID)
	if err != nil || len(shared) == 0 {
		return err
	}
	return style.Associated("Line", "Extension", "line_id", pair.Right.ID, "extension_id", shared[0])
}

// mainUserStays refuses to take a line from its main user while others have it too.
func mainUserStays(ctx context.Context, c store.Conn, pair *crud.Pair[User, Line]) error {
	users, err := store.Select[ID](ctx, c, `SELECT user_id FROM confd_user_line WHERE line_id = $1 ORDER BY id LIMIT 2`, pair.Right.ID)
	if err != nil || len(users) < 2 || users[0] != pair.Left.ID {
		return err
	}
	const refusal = "There are secondary users associated to the line"
	return style.Storedf(refusal+" ('line_id': %d)", pair.Right.ID).Naming(refusal, "line_id", pair.Right.ID)
}

// declareUserLineSIP declares how a user's telephone finds its own SIP endpoint: that of one of their lines, or of the first.
func declareUserLineSIP(e *crud.Engine) {
	for _, op := range []rest.Operation{
		{Path: "{line_id}", ID: "get_user_line_associated_endpoints_sip", Summary: "Read the SIP endpoint of a user's telephone"},
		{Path: "main", ID: "get_user_line_main_associated_endpoints_sip", Summary: "Read the SIP endpoint of a user's main telephone"},
	} {
		op.Path = "/users/{user_uuid}/lines/" + op.Path + "/associated/endpoints/sip"
		op.Method, op.Tag, op.Success, op.Tenanted, op.Conditional = http.MethodGet, "users", http.StatusOK, true, true
		op.Access = "confd" + strings.ReplaceAll(op.Path, "/", ".") + ".read"
		op.Reply, op.Handle = rest.SchemaOf[EndpointSIP](), e.Reading(userLineSIP(e, false))
		e.View(&op, "merged", "Another form of the object.", userLineSIP(e, true))
		e.Add(op)
	}
}

// userLineSIP accepts only the user's UUID, so a token can allow or deny only one spelling.
func userLineSIP(e *crud.Engine, merged bool) func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	return func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		userUUID, err := r.UUIDParam("user_uuid")
		if err != nil {
			return nil, err
		}
		whole := rights.Unrestricted(ctx)
		user, err := crud.Of[User](e).Find(whole, c, scope, userUUID)
		if err != nil {
			return nil, err
		}
		line, err := lineOf(whole, c, e, scope, user, r.Param("line_id"))
		if err != nil {
			return nil, err
		}
		if err := rights.NotDenied(r, lineSIPAccesses(user, line)...); err != nil {
			return nil, err
		}
		if line.EndpointSIP == nil {
			return nil, style.NotAssociated("Line", "SIPEndpoint", "line_id", line.ID)
		}
		if err := e.MayRead(ctx, "endpoints/sip", line.EndpointSIP.UUID); err != nil {
			return nil, err
		}
		endpoint, err := crud.Of[EndpointSIP](e).Find(ctx, c, scope, line.EndpointSIP.UUID)
		if err == nil && merged {
			err = mergeEndpoint(ctx, c, e, endpoint)
		}
		if err == nil {
			err = crud.Of[EndpointSIP](e).Withhold(ctx, endpoint)
		}
		return endpoint, err
	}
}

// lineSIPAccesses returns the accesses by which one may read the endpoint of a user's telephone: the main line has two.
func lineSIPAccesses(user *User, line *UserLine) []string {
	of := func(name string) string {
		return "confd.users." + user.UUID + ".lines." + name + ".associated.endpoints.sip.read"
	}
	accesses := []string{of(strconv.FormatInt(line.ID, 10))}
	if line.ID == user.Lines[0].ID {
		accesses = append(accesses, of("main"))
	}
	return accesses
}

// lineOf returns the line of a user that a path names, or their main line if it names none.
func lineOf(ctx context.Context, c store.Conn, e *crud.Engine, scope string, user *User, typed string) (*UserLine, error) {
	if typed == "" {
		if len(user.Lines) == 0 {
			return nil, apierr.New(apierr.NotFound, "Line was not found ('user_uuid': '%s')", user.UUID)
		}
		return &user.Lines[0], nil
	}
	line, err := crud.Of[Line](e).Find(ctx, c, scope, typed)
	if err != nil {
		return nil, err
	}
	for i := range user.Lines {
		if user.Lines[i].ID == int64(line.ID) {
			return &user.Lines[i], nil
		}
	}
	return nil, style.NotAssociated("User", "Line", "user_uuid", user.UUID, "line_id", line.ID)
}
