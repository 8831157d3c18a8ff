package authsvc

import "github.com/ringfence/ringfence/internal/rest"

// The text formats that several of the service's objects have.
func init() {
	rest.RegisterFormats(rest.Format{
		Name: "slug", Pattern: "^[a-zA-Z0-9_-]+$", Example: "night-shift",
		Doc: "A short name of letters, digits, `_` and `-`.",
	})
}
