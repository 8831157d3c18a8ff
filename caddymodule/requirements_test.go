package caddymodule_test

import (
	"net/url"
	"testing"
)

// What the gate refuses from everybody is explained to nobody as allowed.
func TestExplainOfWhatNobodyMaySend(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	for _, tt := range []struct{ method, path, says string }{
		{"BREW", "/api/confd/1.1/users", "method: Must be one of GET, HEAD"},
		{"OPTIONS", "/api/confd/1.1/users", "method: Must be one of GET, HEAD"},
		{"G ET", "/api/confd/1.1/users", "method: Must be one of GET, HEAD"},
		{"GET", "/api/confd/1.1/users/*", "path: The path has *"},
		{"GET", "/api/confd/1.1/users?_method=DELETE", "path: The query parameter _method"},
		{"GET", "/api/confd/1.1//users", "path: The path has an empty segment"},
	} {
		query := url.Values{"method": {tt.method}, "path": {tt.path}}
		g.Do(t, "GET", "/api/auth/0.1/explain?"+query.Encode(), admin, "").Want(400).Says(tt.says)
	}
	for path, access := range map[string]string{
		"/api/confd/1.1/users": "confd.users.read", "/api/confd/1.1/users?limit=1": "confd.users.read", "/api/confd/1.1/nothing": "confd.#",
	} {
		query := url.Values{"method": {"GET"}, "path": {path}}
		if got := g.Do(t, "GET", "/api/auth/0.1/explain?"+query.Encode(), admin, "").Want(200).Text("required_access"); got != access {
			t.Errorf("%s needs %s, want %s", path, got, access)
		}
	}
	query := url.Values{"method": {"PUT"}, "path": {"/api/auth/0.1/policies/wazo_default_user_policy/acl/a.%23"}}
	g.Do(t, "GET", "/api/auth/0.1/explain?"+query.Encode(), admin, "").Want(200)
}
