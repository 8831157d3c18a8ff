package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Object is an object as the API shows it.
type Object = map[string]any

// page is how many objects one request asks for.
const page = 1000

// List returns the objects of a kind: those of the tenant and, without one, of all tenants that the caller sees.
func (c *Client) List(ctx context.Context, k Kind, search string) ([]Object, error) {
	query := url.Values{}
	if search != "" {
		query.Set("search", search)
	}
	return c.list(ctx, k, query)
}

func (c *Client) list(ctx context.Context, k Kind, query url.Values) ([]Object, error) {
	if k.Scoped && c.Tenant == "" {
		query.Set("recurse", "true")
	}
	return c.All(ctx, prefix+"/"+k.Plural, query)
}

// All returns all objects of the collection at a path of the server.
func (c *Client) All(ctx context.Context, path string, query url.Values) ([]Object, error) {
	all := []Object{}
	for {
		query.Set("limit", strconv.Itoa(page))
		query.Set("offset", strconv.Itoa(len(all)))
		var answer struct{ Items []Object }
		if err := c.Call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &answer); err != nil {
			return nil, err
		}
		if all = append(all, answer.Items...); len(answer.Items) < page {
			return all, nil
		}
	}
}

// find returns the UUID of an object that people call by its name or its UUID.
func (c *Client) find(ctx context.Context, k Kind, name string) (string, error) {
	if id, err := uuid.Parse(name); err == nil && len(name) == len(id.String()) {
		return id.String(), nil
	}
	if k.Key == "" {
		return "", fmt.Errorf("%q is not the UUID of a %s; \"ringfence %s list\" shows them", printable(name), k.Name, k.Name)
	}
	found, err := c.list(ctx, k, url.Values{k.Key: {name}})
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no %s %q; \"ringfence %s list\" shows them", k.Name, printable(name), k.Name)
	case 1:
		id, _ := found[0]["uuid"].(string)
		return id, nil
	default:
		var which []string
		for _, o := range found {
			which = append(which, fmt.Sprintf("%v in tenant %v", o["uuid"], o["tenant_uuid"]))
		}
		return "", fmt.Errorf("several are called %q: use a UUID, or --tenant: %v", printable(name), which)
	}
}

// FindTenant returns the UUID of a tenant.
func (c *Client) FindTenant(ctx context.Context, name string) (string, error) {
	return c.find(ctx, Find("tenant"), name)
}

// Show returns an object.
func (c *Client) Show(ctx context.Context, k Kind, name string) (Object, error) {
	id, err := c.find(ctx, k, name)
	if err != nil {
		return nil, err
	}
	var o Object
	err = c.do(ctx, http.MethodGet, "/"+k.Plural+"/"+id, nil, &o)
	return o, err
}

// Changes are what becomes of an object, apart from its attributes. The keys are those of Kind.Links.
type Changes struct {
	Attach, Detach map[string][]string
}

// request is a link that is made or ended.
type request struct{ method, format, other, what string }

// requests finds what is named, before anything is changed.
func (c *Client) requests(ctx context.Context, k Kind, changes Changes) ([]request, error) {
	var all []request
	for method, named := range map[string]map[string][]string{http.MethodPut: changes.Attach, http.MethodDelete: changes.Detach} {
		for _, link := range slices.Sorted(maps.Keys(named)) {
			for _, name := range named[link] {
				id, err := c.find(ctx, Find(k.Links[link].Kind), name)
				if err != nil {
					return nil, err
				}
				all = append(all, request{method, k.Links[link].path, id, link + " " + printable(name)})
			}
		}
	}
	return all, nil
}

func (c *Client) send(ctx context.Context, id string, all []request) error {
	for _, r := range all {
		if err := c.do(ctx, r.method, fmt.Sprintf(r.format, id, r.other), nil, nil); err != nil {
			return fmt.Errorf("%s: %w; what comes before it was done", r.what, err)
		}
	}
	return nil
}

// Add makes an object. The password is that of a user, or "".
func (c *Client) Add(ctx context.Context, k Kind, given []string, password string, changes Changes) (Object, error) {
	attributes, err := k.parse(given, true)
	if err != nil {
		return nil, err
	}
	if password != "" {
		attributes["password"] = password
	}
	links, err := c.requests(ctx, k, changes)
	if err != nil {
		return nil, err
	}
	var made Object
	if err := c.do(ctx, http.MethodPost, "/"+k.Plural, attributes, &made); err != nil {
		return nil, err
	}
	id, _ := made["uuid"].(string)
	return made, c.send(ctx, id, links)
}

// Set changes attributes of an object, and keeps the others.
func (c *Client) Set(ctx context.Context, k Kind, name string, given []string, changes Changes) (Object, error) {
	attributes, err := k.parse(given, false)
	if err != nil {
		return nil, err
	}
	id, err := c.find(ctx, k, name)
	if err != nil {
		return nil, err
	}
	links, err := c.requests(ctx, k, changes)
	if err != nil {
		return nil, err
	}
	if len(attributes) == 0 && len(links) == 0 {
		return nil, errors.New("say what to change: <attribute>=<value>, or what to attach")
	}
	if len(attributes) == 0 {
		if err := c.send(ctx, id, links); err != nil {
			return nil, err
		}
		return c.Show(ctx, k, id)
	}
	var o Object
	if err := c.do(ctx, http.MethodPut, "/"+k.Plural+"/"+id, attributes, &o); err != nil {
		return nil, err
	}
	return o, c.send(ctx, id, links)
}

// Remove deletes an object. It returns the object's UUID. That there is none is an error.
func (c *Client) Remove(ctx context.Context, k Kind, name string) (string, error) {
	id, err := c.find(ctx, k, name)
	if err != nil {
		return id, err
	}
	there := true
	if k.Key == "" { // the API answers the same whether there is such a session or not
		if there, err = c.lists(ctx, k, id); err != nil {
			return id, err
		}
	}
	if err := c.do(ctx, http.MethodDelete, "/"+k.Plural+"/"+id, nil, nil); err != nil {
		return id, err
	}
	if !there { // said only now: it may have been missed in the list, and must have ended all the same
		return id, fmt.Errorf("there is no session %s, or it has ended; \"ringfence %s list\" shows them", id, k.Name)
	}
	return id, nil
}

// lists reports whether an object is in the list of its kind. It is taken to be for a caller who may not see the list.
func (c *Client) lists(ctx context.Context, k Kind, id string) (bool, error) {
	all, err := c.List(ctx, k, "")
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusForbidden {
		return true, nil
	}
	return slices.ContainsFunc(all, func(o Object) bool { return o["uuid"] == id }), err
}

// Login returns a token of a user, as the API does, for so many seconds, or for the server's default if that is 0. Code is that of the user's
// second factor, or empty.
func (c *Client) Login(ctx context.Context, username, password, code string, seconds int64) (Object, error) {
	body := map[string]any{}
	if code != "" {
		body["otp"] = code
	}
	if seconds != 0 {
		body["expiration"] = seconds
	}
	var answer struct{ Data Object }
	err := c.do(ctx, http.MethodPost, "/token", body, &answer, func(r *http.Request) {
		r.Header.Del("X-Auth-Token")
		r.SetBasicAuth(username, password)
	})
	refused, ok := errors.AsType[*RefusedError](err)
	switch {
	case ok && refused.ID == "second-factor-required":
		return nil, errors.New("the password is right, and the user has a second factor: give its code, which counts once, with --code")
	case ok && refused.Status == http.StatusUnauthorized:
		return nil, errors.New("the username or the password is wrong, or the user is disabled")
	}
	return answer.Data, err
}

// JSON returns a value as indented JSON with a line end.
func JSON(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}
