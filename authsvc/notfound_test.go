package authsvc_test

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// unknownBodies are valid bodies, by operation, so that only the path is refused.
var unknownBodies = map[string]string{
	"PUT /users/{user_uuid}":              "{}",
	"PUT /groups/{group_uuid}":            `{"name":"x"}`,
	"PUT /policies/{policy_uuid}":         `{"name":"x"}`,
	"PUT /tenants/{tenant_uuid}":          "{}",
	"PUT /users/{user_uuid}/emails":       `{"emails":[]}`,
	"PUT /admin/users/{user_uuid}/emails": `{"emails":[]}`,
	"PUT /users/{user_uuid}/password":     `{"old_password":"old password","new_password":"new password"}`,
	"POST /users/password/reset":          `{"password":"new password"}`,
	"POST /token/{token}/scopes/check":    `{"scopes":["confd.users.read"]}`,
	"PUT /idp/{idp_type}/users":           `{"users":[]}`,
	"POST /external/{auth_type}/config":   `{"client_id":"x","client_secret":"y"}`,
	"PUT /external/{auth_type}/config":    `{"client_id":"x","client_secret":"y"}`,
}

// For every path parameter that names nothing, the response tells programs what does not exist: in its details and by its
// resource.
func TestNotFoundNamesWhat(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		unknown := map[string]string{"token": tokens.New(), "access": "confd.users.read", "client_id": "nobody", "auth_type": "nothing", "idp_type": "nothing"}
		refused := 0
		for _, id := range []string{"00000000-0000-4000-8000-000000000000", "17"} {
			for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
				if !strings.Contains(path, "{") {
					continue
				}
				concrete := pathParameter.ReplaceAllStringFunc(path, func(parameter string) string {
					return cmp.Or(unknown[strings.Trim(parameter, "{}")], id)
				})
				for method := range doc.Paths.Value(path).Operations() {
					a := s.do(method, concrete, admin, unknownBodies[method+" "+path])
					if a.Status != 404 || method == "HEAD" {
						continue
					}
					refused++
					details, _ := a.JSON("details").(map[string]any)
					if len(details) == 0 || a.JSON("resource") == nil || strings.Contains(a.Body, unknown["token"]) {
						t.Errorf("%s %s: %s", method, concrete, a.Body)
					}
					if at, _ := a.JSON("timestamp").(float64); math.Abs(at-float64(time.Now().Unix())) > 3600 {
						t.Errorf("%s %s: timestamp %v", method, concrete, a.JSON("timestamp"))
					}
				}
			}
		}
		if refused < 80 {
			t.Errorf("%d operations were tried", refused)
		}
	})
}
