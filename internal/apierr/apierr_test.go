package apierr_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("connection lost")
	for want, e := range map[string]*apierr.Error{
		"No such user":                            apierr.New(apierr.NotFound, "No such %s", "user"),
		"limit: Must be 1 or more":                apierr.InvalidField("limit", "range", "Must be %d or more", 1),
		"Bad body; a: Is required; b[1]: Is null": {Message: "Bad body", Fields: []apierr.Field{{Name: "a", Message: "Is required"}, {Name: "b[1]", Message: "Is null"}}},
		"Try again: connection lost":              {Message: "Try again", Err: cause},
		"a: Is wrong: connection lost":            {Fields: []apierr.Field{{Name: "a", Message: "Is wrong"}}, Err: cause},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestInvalidField(t *testing.T) {
	want := &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{Name: "limit", Constraint: "range", Message: "Must be 1 or more"}}}
	if got := apierr.InvalidField("limit", "range", "Must be %d or more", 1); !reflect.DeepEqual(got, want) || got.Status() != http.StatusBadRequest {
		t.Errorf("%+v", got)
	}
}

func TestAs(t *testing.T) {
	e := apierr.New(apierr.Conflict, "Exists")
	if got := apierr.As(fmt.Errorf("creating: %w", e)); got != e {
		t.Errorf("%v", got)
	}
	if got := apierr.As(errors.New("connection lost")); got != nil {
		t.Errorf("%v", got)
	}
	if got := apierr.As(nil); got != nil {
		t.Errorf("%v", got)
	}
}

func TestUnwrap(t *testing.T) {
	cause := errors.New("connection lost")
	if err := error(&apierr.Error{Kind: apierr.Unavailable, Err: cause}); !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestKindsAreStatuses(t *testing.T) {
	for _, kind := range []apierr.Kind{
		apierr.Invalid, apierr.Unauthorized, apierr.Forbidden, apierr.NotFound, apierr.MethodNotAllowed, apierr.NotAcceptable, apierr.Conflict,
		apierr.PreconditionFailed, apierr.TooLarge, apierr.TargetTooLong, apierr.UnsupportedMediaType, apierr.TooMany, apierr.Internal,
		apierr.NotImplemented, apierr.Unavailable,
	} {
		if status := apierr.New(kind, "x").Status(); status < 400 || http.StatusText(status) == "" {
			t.Errorf("%d is not the status of a refusal", status)
		}
	}
}
