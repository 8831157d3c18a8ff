package confdsvc

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func init() { resources = append(resources, declareUserLineSIP) }

// declareUserLineSIP declares how a user's telephone finds its own SIP endpoint: that of one of their lines, or of the first.
func declareUserLineSIP(e *crud.Engine) {
	for _, op := range []rest.Operation{
		{Path: "/users/{user_uuid}/lines/{line_id}/associated/endpoints/sip", ID: "get_user_line_associated_endpoints_sip", Summary: "Read the SIP endpoint of a user's line"},
		{Path: "/users/{user_uuid}/lines/main/associated/endpoints/sip", ID: "get_user_line_main_associated_endpoints_sip", Summary: "Read the SIP endpoint of a user's main line"},
	} {
		op.Method, op.Tag, op.Success, op.Tenanted, op.Conditional = http.MethodGet, "users", http.StatusOK, true, true
		op.Access = "confd" + strings.ReplaceAll(op.Path, "/", ".") + ".read"
		op.Query, op.Reply, op.Statuses = rest.ViewParameter([]string{"merged"}, "Another form of the object."), rest.SchemaOf[EndpointSIP](), []int{400, 404}
		op.Handle = userLineSIP(e)
		e.Add(op)
	}
}

// userLineSIP accepts only the user's UUID, so a token can allow or deny only one spelling.
func userLineSIP(e *crud.Engine) rest.Handler {
	return e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		view, err := r.View([]string{"merged"})
		if err != nil {
			return nil, err
		}
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
		if err == nil && view != "" {
			err = mergeEndpoint(e)(ctx, c, endpoint)
		}
		return endpoint, err
	})
}

// lineSIPAccesses returns the accesses by which one may read the endpoint of a user's line: the main line has two.
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
		if user.Lines[i].ID == line.ID {
			return &user.Lines[i], nil
		}
	}
	return nil, style.NotAssociated("User", "Line", "user_uuid", user.UUID, "line_id", line.ID)
}
