// Package leftout says what the files of a telephone system lack of what is stored, and why.
package leftout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Omission is a stored object that the files do not have or, if Option is set, of which they lack that option alone. Nothing in it is secret: of a
// value it tells nothing.
type Omission struct {
	TenantUUID string `json:"tenant_uuid" example:"11111111-1111-4111-8111-111111111111" doc:"Its tenant's UUID; empty, like the slug, if the installation's."`
	Tenant     string `json:"tenant" example:"acme" doc:"The tenant's slug."`
	Kind       string `json:"kind" example:"line" doc:"What it is in confd."`
	Key        string `json:"key" example:"12" doc:"The object's id or UUID there."`
	Name       string `json:"name" example:"ada" doc:"Its name, or empty. That of a line is its endpoint's."`
	UserUUID   string `json:"user_uuid" example:"22222222-2222-4222-8222-222222222222" doc:"Whose telephone it is; empty if it is nobody's."`
	User       string `json:"user" example:"Ada Lovelace" doc:"That user's name."`
	Option     string `json:"option" example:"endpoint_section_options.acl" doc:"The option that is left out; empty if the whole object is."`
	Reason     string `json:"reason" example:"its endpoint has no login" doc:"Why, in words."`
}

// String says in one line what is left out, and why.
func (o Omission) String() string {
	var s strings.Builder
	if o.Option != "" {
		s.WriteString("the option " + o.Option + " of ")
	}
	s.WriteString(o.Kind + " " + o.Key)
	if o.Name != "" {
		fmt.Fprintf(&s, " (%s)", o.Name)
	}
	if o.User != "" {
		s.WriteString(" of " + o.User)
	}
	if o.TenantUUID != "" {
		s.WriteString(", tenant " + cmp.Or(o.Tenant, o.TenantUUID))
	}
	return s.String() + ": " + o.Reason
}

// Nothing begins the reason of one of the telephone system's own files that keeps the generated part of it from being loaded.
const Nothing = "Asterisk loads nothing of it: "

// Unread reports whether the telephone system loads nothing of a file, by a fault in its own part of that.
func (o Omission) Unread() bool { return o.Kind == "file" && strings.HasPrefix(o.Reason, Nothing) }

// most is how many omissions are named at most.
const most = 100

// Omissions are what is left out of the files. They name at most 100, and first the objects that are left out whole.
type Omissions struct {
	Total int64      `json:"total" doc:"How many objects and options are left out."`
	Items []Omission `json:"items" doc:"The first 100 of them: whole objects come before options."`
}

// Of returns the omissions of all that is left out.
func Of(all []Omission) Omissions {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Omission) int { return cmp.Compare(min(len(a.Option), 1), min(len(b.Option), 1)) })
	return Omissions{Total: int64(len(all)), Items: append([]Omission{}, all[:min(len(all), most)]...)}
}

// Lines says what is left out, a line for each, and how much more there is.
func (l Omissions) Lines() []string {
	lines := make([]string, 0, len(l.Items)+1)
	for _, o := range l.Items {
		lines = append(lines, o.String())
	}
	if more := l.Total - int64(len(l.Items)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
