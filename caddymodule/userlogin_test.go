package caddymodule_test

import (
	"fmt"
	"net/http"
	"testing"
)

// A telephone user and the account are made, changed and deleted together, or not at all; the caller needs the accesses of both services, and
// gives nobody what the caller does not hold.
func TestUserWithLogin(t *testing.T) {
	g := loadDefault(t, "")
	admin := g.Admin(t)
	const users, accounts = "/api/confd/1.1/users", "/api/auth/0.1/users"
	body := func(name, more string) string {
		return fmt.Sprintf(`{"firstname":"Al","email":"%[1]s@example.org","username":"%[1]s","password":"Correct.horse-%[1]s","auth":{"purpose":"user"}%[2]s}`, name, more)
	}
	total := func(path string) int {
		return g.Do(t, http.MethodGet, path, admin, "").Want(http.StatusOK).List().Total
	}

	made := g.Do(t, http.MethodPost, users, admin, body("al", "")).Want(http.StatusCreated)
	id := made.Text("uuid")
	if made.Text("auth.uuid") != id || made.Text("auth.username") != "al" || made.JSON("auth.emails") == nil || made.Object()["password"] == nil {
		t.Errorf("%s", made.Body)
	}
	if account := g.Do(t, http.MethodGet, accounts+"/"+id, admin, "").Want(http.StatusOK); account.Text("firstname") != "Al" {
		t.Errorf("%s", account.Body)
	}
	mine := g.Login(t, "al", "Correct.horse-al")

	// Nothing is left of a refused one, on either side.
	people, logins := total(users), total(accounts)
	_, _, clerk := g.Account(t, admin, "clerk", "confd.#")
	_, _, maker := g.Account(t, admin, "maker", "confd.users.create", "auth.users.create")
	logins += 2
	g.Do(t, http.MethodPost, users, clerk, body("bo", "")).Want(http.StatusForbidden)
	g.Do(t, http.MethodPost, users, admin, `{"firstname":"X","auth":{"username":"al","password":"Correct.horse-al"}}`).Want(http.StatusBadRequest).Says("already used")
	g.Do(t, http.MethodPost, users, admin, `{"firstname":"X","auth":{"password":5}}`).Want(http.StatusBadRequest).Says("auth: {'password': ")
	g.Do(t, http.MethodPost, users, admin, `{"firstname":"X","auth":{"email_address":"no"}}`).Want(http.StatusBadRequest).Says("auth: {'email_address': ")
	g.Do(t, http.MethodPost, users, admin, `{"firstname":"X","auth":[]}`).Want(http.StatusBadRequest).Says("auth")
	g.Do(t, http.MethodPost, users, admin, body("bo", `,"lines":[{"context":"nowhere"}]`)).Want(http.StatusBadRequest)
	if people != total(users) || logins != total(accounts) {
		t.Errorf("%d users, want %d; %d accounts, want %d", total(users), people, total(accounts), logins)
	}
	second := g.Do(t, http.MethodPost, users, maker, body("bo", "")).Want(http.StatusCreated).Text("uuid")

	// An account for a user who was there before gets all that refers to the user: the caller must hold it.
	plain := g.Do(t, http.MethodPost, users, admin, `{"firstname":"Cy"}`).Want(http.StatusCreated).Text("uuid")
	const account = `{"auth":{"username":"cy","password":"Correct.horse-cy"}}`
	_, _, weak := g.Account(t, admin, "weak", "confd.users.*.update", "auth.users.create")
	g.Do(t, http.MethodPut, users+"/"+plain+"?recursive=true", weak, account).Want(http.StatusForbidden)
	g.Do(t, http.MethodPut, users+"/"+plain, admin, account).Want(http.StatusNoContent) // ignored
	g.Do(t, http.MethodGet, accounts+"/"+plain, admin, "").Want(http.StatusNotFound)
	g.Do(t, http.MethodPut, users+"/"+plain+"?recursive=true", admin, account).Want(http.StatusNoContent)
	g.Do(t, http.MethodPut, users+"/"+plain+"?recursive=true", admin, `{"auth":{"lastname":"Two"}}`).Want(http.StatusNoContent)
	if got := g.Do(t, http.MethodGet, accounts+"/"+plain, admin, "").Want(http.StatusOK); got.Text("lastname") != "Two" || got.Text("username") != "cy" {
		t.Errorf("%s", got.Body)
	}
	g.Do(t, http.MethodPut, users+"/"+plain+"?recursive=true", admin, `{"auth":{"password":"Correct.horse-new"}}`).Want(http.StatusBadRequest).Says("auth: {'password': ")
	g.Do(t, http.MethodPut, users+"/"+plain+"?recursive=true", clerk, `{"auth":{"lastname":"Three"}}`).Want(http.StatusForbidden)

	// The account goes with the user, and its sessions with it.
	g.Do(t, http.MethodDelete, users+"/"+id+"?recursive=true", clerk, "").Want(http.StatusForbidden)
	g.Do(t, http.MethodGet, accounts+"/"+id, admin, "").Want(http.StatusOK)
	for _, gone := range []string{id, second, plain} {
		g.Do(t, http.MethodDelete, users+"/"+gone+"?recursive=true", admin, "").Want(http.StatusNoContent)
		g.Do(t, http.MethodGet, accounts+"/"+gone, admin, "").Want(http.StatusNotFound)
	}
	g.Do(t, http.MethodGet, "/api/confd/1.1/infos", mine, "").Want(http.StatusUnauthorized)

	// The audit has the address of the account when it was made, and when it was deleted.
	for action, picture := range map[string]string{"create_user": "after", "delete_user": "before"} {
		entries := g.Do(t, http.MethodGet, "/api/auth/0.1/audit?action="+action+"&object="+id, admin, "").Want(http.StatusOK)
		found := false
		for _, entry := range entries.List().Items {
			user, _ := entry[picture].(map[string]any)
			emails, _ := user["emails"].([]any)
			found = found || len(emails) == 1 && emails[0].(map[string]any)["address"] == "al@example.org"
		}
		if !found {
			t.Errorf("%s: %s", action, entries.Body)
		}
	}
}
