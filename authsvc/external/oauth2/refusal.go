package oauth2

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"golang.org/x/oauth2"

	"github.com/ringfence/ringfence/authsvc/external"
)

// exchangeRefusal says why a code gave no tokens.
func exchangeRefusal(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.ErrorCode == "invalid_grant" {
		return external.Refuse(http.StatusBadRequest, safe(err), "The external service takes the code no longer")
	}
	return unavailable(err)
}

// renewalRefusal says why a refresh token gave no new tokens. Only the service's own error that the grant is gone counts as that
// (RFC 6749, 5.2): any other error may pass.
func renewalRefusal(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.ErrorCode == "invalid_grant" {
		return fmt.Errorf("%w: %w", external.ErrGrantRevoked, safe(err))
	}
	return unavailable(err)
}

func unavailable(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && (answer.ErrorCode == "invalid_client" || answer.ErrorCode == "unauthorized_client") {
		return external.Refuse(http.StatusServiceUnavailable, safe(err),
			"The external service refuses this tenant's client_id and client_secret")
	}
	return external.Refuse(http.StatusServiceUnavailable, safe(err), "The external service does not answer as it should; try again later")
}

// codes matches error codes, which cannot hold anything else.
var codes = regexp.MustCompile(`^[a-z_]{1,64}$`)

// safe returns an error for the log. The library's own repeats the service's response, which may hold anything.
func safe(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("asking the token endpoint: %w", err)
	}
	code := answer.ErrorCode
	if !codes.MatchString(code) {
		code = "no known error code"
	}
	status := 0
	if answer.Response != nil {
		status = answer.Response.StatusCode
	}
	return fmt.Errorf("the token endpoint answered %d, %s", status, code)
}
