package merge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/moving/report"
)

// The kinds of the authentication service, as the report and the file of names call them.
const (
	policies = "auth/policies"
	groups   = "auth/groups"
	logins   = "auth/users"
)

// logins brings policies, groups, who logs in, and who has what. Passwords are not brought: no API tells them.
func (j *Job) logins(ctx context.Context) error {
	for _, kind := range []struct {
		name string
		make func(ctx context.Context, o object, here []object) error
	}{{policies, j.policy}, {groups, j.group}, {logins, j.login}} {
		path := "/" + strings.TrimPrefix(kind.name, "auth/")
		all, err := j.From.All(ctx, auth+path, url.Values{})
		if err != nil {
			return err
		}
		here, err := j.To.All(ctx, auth+path, url.Values{})
		if err != nil {
			return err
		}
		for _, o := range all {
			if j.names.of(kind.name, o) != nil {
				j.Report.Of(kind.name).There++
				continue
			}
			if _, err := j.taken(kind.name, o, "", kind.make(ctx, o, here)); err != nil {
				return fmt.Errorf("%s %s: %w", kind.name, called(o), err)
			}
		}
		if err := j.give(ctx, kind.name, all); err != nil {
			return err
		}
	}
	return nil
}

// create makes an object of the authentication service.
func (j *Job) create(ctx context.Context, kind string, o object, attributes ...string) error {
	var made object
	if err := j.To.Call(ctx, http.MethodPost, auth+"/"+strings.TrimPrefix(kind, "auth/"), given(o, attributes...), &made); err != nil {
		return err
	}
	j.Report.Of(kind).Made++
	return j.names.add(kind, object{"uuid": o["uuid"]}, object{"uuid": made["uuid"]})
}

// alike finds the object here that an installation or a tenant has by itself.
func (j *Job) alike(kind string, o object, here []object, same func(h object) bool) {
	i := slices.IndexFunc(here, same)
	if i < 0 {
		j.leave(kind, o, "it is one of the old installation itself, and there is none like it here")
		return
	}
	j.names.take(&mapped{Kind: kind, Old: object{"uuid": o["uuid"]}, New: object{"uuid": here[i]["uuid"]}})
}

func (j *Job) policy(ctx context.Context, o object, here []object) error {
	if o["read_only"] == true || o["tenant_uuid"] != j.From.Tenant {
		j.alike(policies, o, here, func(h object) bool { return h["slug"] == o["slug"] })
		return nil
	}
	body := object{"uuid": o["uuid"], "name": o["name"], "slug": o["slug"], "description": o["description"]}
	acl := []string{}
	list, _ := o["acl"].([]any)
	for _, item := range list {
		old, _ := item.(string)
		patterns, reason := j.Accesses(old)
		for _, p := range patterns {
			renamed, brought := j.rename(p)
			if !brought {
				reason = "it names an object that was not brought"
				continue
			}
			acl = append(acl, renamed)
		}
		if reason != "" {
			j.Report.Leave(report.Told{Kind: policies, Object: called(o) + ": " + old, Reason: reason})
		}
	}
	body["acl"] = acl
	return j.create(ctx, policies, body, "name", "slug", "description", "acl")
}

// rename writes a pattern with the new numbers and UUIDs of the objects that it names. It reports whether all of them were brought.
func (j *Job) rename(pattern string) (string, bool) {
	words := strings.Split(pattern, ".")
	begin := 1
	for i := 1; i < len(words); i++ {
		by, old := "uuid", any(words[i])
		if n, err := strconv.ParseUint(words[i], 10, 53); err == nil {
			by, old = "id", float64(n)
		} else if uuid.Validate(words[i]) != nil {
			continue
		}
		kind := j.kindIn(strings.TrimPrefix(words[0], "!"), words[begin:i])
		begin = i + 1
		if kind == "" && by == "id" {
			continue // the position of a key
		}
		found := j.names.find(kind, by, old)
		if kind == "" {
			for _, k := range []string{"users", logins, groups, policies} {
				if found == nil {
					found = j.names.find(k, by, old)
				}
			}
		}
		if words[i] == j.From.Tenant {
			found = j.To.Tenant
		}
		if found == nil {
			return "", false
		}
		words[i] = text(found)
	}
	return strings.Join(words, "."), true
}

// kindIn returns the kind that the words before a name in an access end with, or "".
func (j *Job) kindIn(service string, words []string) string {
	for i := range words {
		path := strings.Join(words[i:], "/")
		switch known := slices.ContainsFunc(j.kinds, func(k *kind) bool { return k.path == path }); {
		case service == "confd" && known:
			return path
		case service == "auth" && slices.Contains([]string{policies, groups, logins}, "auth/"+path):
			return "auth/" + path
		}
	}
	return ""
}

func (j *Job) group(ctx context.Context, o object, here []object) error {
	if isManaged(o) {
		j.alike(groups, o, here, func(h object) bool { return h["tenant_uuid"] == j.To.Tenant && isManaged(h) })
		return nil
	}
	for _, h := range here {
		if h["slug"] == o["slug"] && h["slug"] == adminGroup && h["tenant_uuid"] == j.To.Tenant { // that each tenant gets of the configuration
			j.names.take(&mapped{Kind: groups, Old: object{"uuid": o["uuid"]}, New: object{"uuid": h["uuid"]}})
			return nil
		}
	}
	return j.create(ctx, groups, o, "name", "slug")
}

// isManaged reports whether a group is that of all users of a tenant.
func isManaged(group object) bool {
	return group["read_only"] == true || group["system_managed"] == true
}

// adminGroup is the group of administrators that the configuration makes in each tenant, here as there.
const adminGroup = "wazo_default_admin_group"

// login makes a login without a password, with the UUID of the telephone user.
func (j *Job) login(ctx context.Context, o object, _ []object) error {
	if o["purpose"] == "internal" {
		j.leave(logins, o, "it is the login of a program of the old installation")
		return nil
	}
	was, _ := o["uuid"].(string)
	in, err := old(ctx, j.From, auth+"/users/"+was+"/groups")
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(in, isManaged) {
		const more = "it was not in the group of all users, and each login here is: it could do more than before"
		j.leave(logins, o, more)
		return nil
	}
	id := j.names.find("users", "uuid", was)
	if id == nil {
		id = uuid.NewSHA1(uuid.MustParse(j.To.Tenant), []byte(was)).String()
	}
	body := given(o, "username", "firstname", "lastname", "enabled", "purpose")
	body["uuid"] = id
	if err := j.To.Call(ctx, http.MethodPost, auth+"/users", body, nil); err != nil {
		// It may be the one of a run that died after it was made: nobody else knows this UUID.
		if there := j.To.Call(ctx, http.MethodGet, fmt.Sprintf("%s/users/%v", auth, id), nil, nil); there != nil {
			return err
		}
	}
	var emails []object
	for _, e := range items(o["emails"]) {
		emails = append(emails, object{"address": e["address"], "main": e["main"] == true, "confirmed": e["confirmed"] == true})
	}
	if len(emails) > 0 {
		err := j.To.Call(ctx, http.MethodPut, fmt.Sprintf("%s/admin/users/%v/emails", auth, id), object{"emails": emails}, nil)
		if _, err := j.taken(logins, o, "its addresses: ", err); err != nil {
			return err
		}
	}
	j.Report.Of(logins).Made++
	return j.names.add(logins, object{"uuid": o["uuid"]}, object{"uuid": id})
}

// give gives users and groups what they have: policies, and groups their users. Given again, it changes nothing.
func (j *Job) give(ctx context.Context, kind string, all []object) error {
	below := map[string][]string{groups: {policies}, logins: {policies, groups}}[kind]
	if below == nil {
		return nil
	}
	for _, o := range all {
		m := j.names.of(kind, o)
		if m == nil || m.done[linked] {
			continue
		}
		left := len(j.Report.Left)
		for _, to := range below {
			if err := j.giveAll(ctx, kind, o, m, to); err != nil {
				return err
			}
		}
		if kind == logins {
			if err := j.mail(ctx, o, m); err != nil {
				return err
			}
		}
		if err := j.finish(m, linked, left); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) giveAll(ctx context.Context, kind string, o object, m *mapped, to string) error {
	path, below := "/"+strings.TrimPrefix(kind, "auth/"), "/"+strings.TrimPrefix(to, "auth/")
	others, err := old(ctx, j.From, fmt.Sprintf("%s%s/%v%s", auth, path, o["uuid"], below))
	if err != nil {
		return err
	}
	for _, other := range others {
		link := fmt.Sprintf("%s of %s", called(other), called(o))
		id := j.names.find(to, "uuid", other["uuid"])
		if id == nil {
			j.Report.Leave(report.Told{Kind: to, Object: link, Reason: "it was not brought, so it is not given"})
			continue
		}
		at := fmt.Sprintf("%s%s/%v%s/%v", auth, path, m.New["uuid"], below, id)
		if to == groups {
			if isManaged(other) {
				continue // all are in it
			}
			at = fmt.Sprintf("%s/groups/%v/users/%v", auth, id, m.New["uuid"])
		}
		if _, err := j.Report.Taken(report.Told{Kind: to, Object: link}, j.To.Call(ctx, http.MethodPut, at, nil, nil)); err != nil {
			return err
		}
	}
	return nil
}

// errLater ends a run whose mails are more than the gateway sends at a time.
var errLater = errors.New("the gateway sends no more mails for a while: run it once more later, and it goes on with the next login")

// mail asks for the mail by which somebody sets a password.
func (j *Job) mail(ctx context.Context, o object, m *mapped) error {
	confirmed := slices.ContainsFunc(items(o["emails"]), func(e object) bool { return e["confirmed"] == true })
	switch name, _ := o["username"].(string); {
	case name == "" || !confirmed:
		j.leave(logins, o, "no mail for a new password: it has no username, or no address that is confirmed")
		return nil
	case !j.Mails || m.done[mailed]:
		return nil
	default:
		err := j.To.Call(ctx, http.MethodGet, auth+"/users/password/reset?username="+url.QueryEscape(name), nil, nil)
		if refused, is := errors.AsType[*operator.RefusedError](err); is && refused.Status == http.StatusTooManyRequests {
			return errLater
		}
		if err != nil {
			return err
		}
		j.Report.Of("mails for new passwords").Made++
		return j.names.finish(m, mailed)
	}
}
