package authsvc_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// definition returns the service's definition, made without a database.
func definition(t *testing.T) []byte {
	t.Helper()
	return newNode(t, unreachable{}, nil).svc.REST().Definition()
}

// The definition is the contract: a change of it must show in a review.
func TestGoldenDefinition(t *testing.T) {
	resttest.CheckDefinition(t, definition(t), *update)
}

// contract is what existing clients rely on: each operation's access ("-": none), the parameters of its query and the fields of
// its body, and the status of a success.
const contract = `
POST   /token                                       -                                                 - expiration,access_type,client_id,refresh_token,saml_session_id,tenant_id,domain_name,backend 200
GET    /token/{token}                               -                                                 scope,tenant - 200
HEAD   /token/{token}                               -                                                 scope,tenant - 204
DELETE /token/{token}                               -                                                 - - 200
POST   /token/{token}/scopes/check                  -                                                 - scopes,tenant_uuid 200
GET    /users                                       auth.users.read                                   order,direction,limit,offset,search,recurse,has_policy_slug,has_policy_uuid,policy_slug,policy_uuid,uuid,username,firstname,lastname,purpose,email_address,group_uuid - 200
POST   /users                                       auth.users.create                                 - username,firstname,lastname,enabled,purpose,authentication_method,uuid,password,email_address 200
GET    /users/{user_uuid}                           auth.users.{user_uuid}.read                       - - 200
PUT    /users/{user_uuid}                           auth.users.{user_uuid}.update                     - username,firstname,lastname,enabled,purpose,authentication_method 200
DELETE /users/{user_uuid}                           auth.users.{user_uuid}.delete                     - - 204
GET    /users/{user_uuid}/policies                  auth.users.{user_uuid}.policies.read              order,direction,limit,offset,search - 200
PUT    /users/{user_uuid}/policies/{policy_uuid}    auth.users.{user_uuid}.policies.{policy_uuid}.create - - 204
DELETE /users/{user_uuid}/policies/{policy_uuid}    auth.users.{user_uuid}.policies.{policy_uuid}.delete - - 204
GET    /policies                                    auth.policies.read                                order,direction,limit,offset,search,recurse,uuid,name,slug,user_uuid,group_uuid,tenant_uuid,read_only - 200
POST   /policies                                    auth.policies.create                              - name,slug,description,acl,shared 200
GET    /policies/{policy_uuid}                      auth.policies.{policy_uuid}.read                  - - 200
PUT    /policies/{policy_uuid}                      auth.policies.{policy_uuid}.update                - name,description,acl 200
DELETE /policies/{policy_uuid}                      auth.policies.{policy_uuid}.delete                - - 204
PUT    /policies/{policy_uuid}/acl/{access}         auth.policies.{policy_uuid}.update                - - 204
DELETE /policies/{policy_uuid}/acl/{access}         auth.policies.{policy_uuid}.update                - - 204
GET    /backends                                    -                                                 - - 200
HEAD   /status                                      -                                                 - - 200
PUT    /users/{user_uuid}/password                  auth.users.{user_uuid}.password.update            - old_password,new_password 204
GET    /users/password/reset                        -                                                 username,email,login - 204
POST   /users/password/reset                        -                                                 user_uuid,token password 204
PUT    /users/{user_uuid}/emails                    auth.users.{user_uuid}.emails.update              - emails 200
PUT    /admin/users/{user_uuid}/emails              auth.admin.users.{user_uuid}.emails.update        - emails 200
GET    /users/{user_uuid}/emails/{email_uuid}/confirm auth.users.{user_uuid}.emails.{email_uuid}.confirm.read - - 204
GET    /emails/{email_uuid}/confirm                 -                                                 token - 200
PUT    /emails/{email_uuid}/confirm                 -                                                 - - 204
POST   /users/register                              -                                                 - username,password,firstname,lastname,email_address 200
`

// Whoever executes in the explorer what the definition offers is not refused for it, and makes nobody who can log in.
func TestExamplesCanBeSent(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		p, err := s.cache.Principal(t.Context(), s.admin())
		if err != nil {
			t.Fatal(err)
		}
		client := *s.client
		client.T, client.Principal = t, p
		resttest.SendExamples(&client)
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_user WHERE password_hash IS NOT NULL`); err != nil || n != 1 {
			t.Errorf("%d can log in (%v)", n, err)
		}
	})
}

func TestDefinitionKeepsTheContract(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(contract)) {
		f := strings.Fields(line)
		method, path, access, query, body, status := f[0], f[1], f[2], f[3], f[4], f[5]
		item := doc.Paths.Value(path)
		if item == nil || item.GetOperation(method) == nil {
			t.Errorf("no %s %s", method, path)
			continue
		}
		op := item.GetOperation(method)
		if access == "-" {
			if !isPublic(op) || op.Extensions["x-required-acl"] != nil {
				t.Errorf("%s %s needs %v", method, path, op.Extensions["x-required-acl"])
			}
		} else if got := op.Extensions["x-required-acl"]; got != access || !strings.Contains(op.Description, "**Required ACL:** `"+access+"`") {
			t.Errorf("%s %s needs %v, want %s: %s", method, path, got, access, op.Description)
		}
		if op.Responses.Value(status) == nil {
			t.Errorf("%s %s does not answer %s", method, path, status)
		}
		for name := range strings.SplitSeq(query, ",") {
			if name != "-" && op.Parameters.GetByInAndName("query", name) == nil {
				t.Errorf("%s %s has no parameter %s", method, path, name)
			}
		}
		for name := range strings.SplitSeq(body, ",") {
			if name == "-" {
				continue
			}
			if op.RequestBody == nil || op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties[name] == nil {
				t.Errorf("the body of %s %s has no %s", method, path, name)
			}
		}
		if tenanted := op.Parameters.GetByInAndName("header", "Wazo-Tenant") != nil; tenanted != (access != "-") {
			t.Errorf("%s %s reads the tenant's header: %t", method, path, tenanted)
		}
	}
}

// No operation is public by mistake: only these need no token.
func TestPublicOperations(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	var public []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if isPublic(op) {
				public = append(public, method+" "+path)
				continue
			}
			access, _ := op.Extensions["x-required-acl"].(string)
			if !strings.HasPrefix(access, "auth.") || acl.ParseAccess(strings.NewReplacer("{", "", "}", "").Replace(access)) != nil {
				t.Errorf("%s %s needs %q", method, path, access)
			}
		}
	}
	slices.Sort(public)
	want := []string{
		"DELETE /token/{token}", "GET /api/api.yml", "GET /api/openapi.json", "GET /backends", "GET /emails/{email_uuid}/confirm",
		"GET /external/{auth_type}/authorize", "GET /external/{auth_type}/connect", "GET /saml/logout", "GET /saml/sls", "GET /token/{token}", "GET /users/password/reset", "HEAD /status",
		"HEAD /token/{token}", "POST /external/{auth_type}/connect", "POST /saml/acs", "POST /saml/sso", "POST /token", "POST /token/{token}/scopes/check", "POST /users/password/reset", "POST /users/register", "PUT /emails/{email_uuid}/confirm",
	}
	if !slices.Equal(public, want) {
		t.Errorf("public: %q\nwant    %q", public, want)
	}
}

// The longest list of accesses that the definition allows is the one that is enforced.
func TestDefinitionStatesTheLimit(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	list := doc.Paths.Value("/policies").Post.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["acl"].Value
	if list.MaxItems == nil || *list.MaxItems != acl.MaxPolicyPatterns {
		t.Errorf("maxItems %v, and %d are taken", list.MaxItems, acl.MaxPolicyPatterns)
	}
}

func TestColumnsAreFields(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) { storetest.ColumnsAreFields(t, db, authsvc.Rows()...) })
}

// listParameters are the query parameters of the lists that existing clients know.
const listParameters = `
/external/{auth_type}/users          recurse limit offset
/groups                              recurse order direction limit offset search uuid name user_uuid read_only policy_slug policy_uuid
/groups/{group_uuid}/policies        order direction limit offset search
/groups/{group_uuid}/users           order direction limit offset search
/policies                            order direction limit offset search recurse
/sessions                            recurse limit offset
/tenants                             order direction limit offset search
/token/{token}                       scope tenant
/tokens                              recurse order direction limit offset search
/users                               order direction limit offset search recurse has_policy_slug has_policy_uuid policy_slug policy_uuid
/users/password/reset                username email login
/users/me/tokens                     order direction limit offset search
/users/{user_uuid}/tokens            order direction limit offset search
/users/{user_uuid}/external          order direction limit offset search
/users/{user_uuid}/groups            order direction limit offset search
/users/{user_uuid}/policies          order direction limit offset search
/users/{user_uuid}/sessions          limit offset
`

func TestListParameters(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(definition(t))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(listParameters)) {
		fields := strings.Fields(line)
		path := doc.Paths.Value(fields[0])
		if path == nil || path.Get == nil {
			t.Errorf("there is no GET %s", fields[0])
			continue
		}
		for _, name := range fields[1:] {
			if path.Get.Parameters.GetByInAndName("query", name) == nil {
				t.Errorf("GET %s takes no %s", fields[0], name)
			}
		}
	}
}

// isPublic reports whether an operation asks for nothing that one is known by, unless it makes a token of a password.
func isPublic(op *openapi3.Operation) bool {
	if op.OperationID == "create_token" {
		return len(*op.Security) == 2 && len((*op.Security)[1]) == 0 && (*op.Security)[0]["basic"] != nil
	}
	return op.Security != nil && len(*op.Security) == 0
}
