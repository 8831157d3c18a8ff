package wazo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/moving/report"
)

// Comparison says how the answers of a platform that runs differ from ours to the same requests. It has no values: some are secret.
type Comparison struct {
	// Lists is how many lists were asked for, of each tenant, and Objects how many objects the platform answered with.
	Lists   int `json:"lists"`
	Objects int `json:"objects"`
	// Refused are the lists that the platform has not, or refuses.
	Refused     []string `json:"refused"`
	Differences []Unlike `json:"differences"`
}

// Unlike is an attribute that differs, or "" where the whole object is only there or only here.
type Unlike struct {
	List      string `json:"list"`
	Attribute string `json:"attribute"`
	What      string `json:"what"`
	Count     int    `json:"count"`
	// Object is the first one.
	Object string `json:"object"`
}

// Compare asks a platform that runs, and an installation that was made of its dump, for the same lists of each tenant. Attributes that only one of
// both has are not compared. services describe ours.
func Compare(ctx context.Context, theirs, ours *operator.Client, services ...*rest.Service) (*Comparison, error) {
	var lists []string
	for _, s := range services {
		for _, op := range s.Operations {
			paged := slices.ContainsFunc(op.Query, func(p rest.Parameter) bool { return p.Name == "limit" })
			if op.Method == http.MethodGet && paged && !strings.Contains(op.Path, "{") && op.Path != "/audit" {
				lists = append(lists, s.Prefix+op.Path)
			}
		}
	}
	tenants, err := ours.All(ctx, "/api/auth/0.1/tenants", url.Values{"recurse": {"true"}})
	if err != nil {
		return nil, err
	}
	c := &Comparison{}
	for _, list := range lists {
		for _, t := range tenants {
			there, here := *theirs, *ours
			there.Tenant = fmt.Sprint(t["uuid"])
			here.Tenant = there.Tenant
			was, err := there.All(ctx, list, url.Values{})
			if _, refused := errors.AsType[*operator.RefusedError](err); refused {
				c.Refused = append(c.Refused, list)
				break
			}
			if err != nil {
				return nil, err
			}
			is, err := here.All(ctx, list, url.Values{})
			if err != nil {
				return nil, err
			}
			c.Lists++
			c.Objects += len(was)
			c.compare(list, was, is)
		}
	}
	return c, nil
}

// compare compares two lists of objects by their keys.
func (c *Comparison) compare(list string, was, is []operator.Object) {
	here := map[string]operator.Object{}
	for _, o := range is {
		here[keyOf(o)] = o
	}
	for _, o := range was {
		key := keyOf(o)
		other, ok := here[key]
		delete(here, key)
		if !ok {
			c.differs(list, "", "only there", o)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if now, has := other[name]; has && name != "links" && name != "href" && !alike(o[name], now) {
				c.differs(list, name, "differs", o)
			}
		}
	}
	for _, o := range is {
		if _, left := here[keyOf(o)]; left {
			c.differs(list, "", "only here", o)
		}
	}
}

func (c *Comparison) differs(list, attribute, what string, o operator.Object) {
	i := slices.IndexFunc(c.Differences, func(d Unlike) bool { return d.List == list && d.Attribute == attribute && d.What == what })
	if i < 0 {
		c.Differences = append(c.Differences, Unlike{List: list, Attribute: attribute, What: what, Object: keyOf(o)})
		i = len(c.Differences) - 1
	}
	c.Differences[i].Count++
}

// keyOf returns what tells an object from the others of its list.
func keyOf(o operator.Object) string {
	for _, key := range []string{"uuid", "id", "name", "client_id"} {
		if o[key] != nil {
			return fmt.Sprint(o[key])
		}
	}
	return ""
}

// alike reports whether two values are the same, in whatever order lists are, but for what only one of both has, and addresses of the two.
func alike(one, other any) bool {
	switch a := one.(type) {
	case map[string]any:
		b, ok := other.(map[string]any)
		for name, value := range a {
			if now, has := b[name]; has && name != "links" && name != "href" && !alike(value, now) {
				return false
			}
		}
		return ok
	case []any:
		b, ok := other.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		a, b = sorted(a), sorted(b)
		for i := range a {
			if !alike(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return fmt.Sprint(one) == fmt.Sprint(other)
	}
}

// sorted sorts the items of a list by their keys, or by their texts.
func sorted(list []any) []any {
	text := func(item any) string {
		if o, ok := item.(map[string]any); ok && keyOf(o) != "" {
			return keyOf(o)
		}
		out, err := json.Marshal(item)
		if err != nil {
			return ""
		}
		return string(out)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return list
}

func (c *Comparison) print(p *report.Printer) {
	p.Line("\nAnswers of the platform that runs, beside ours: %d lists, %d objects.", c.Lists, c.Objects)
	for _, d := range c.Differences {
		p.Line("  %s %s %s (%d): %.80q", d.List, d.Attribute, d.What, d.Count, d.Object)
	}
	if len(c.Refused) > 0 {
		p.Line("  It has not, or refuses: %s", strings.Join(c.Refused, ", "))
	}
}
