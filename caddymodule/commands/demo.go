package commands

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/operator"
)

// maxDemo is how many users a demo may have: their numbers have six digits.
const maxDemo = 90_000

func init() {
	Register(caddycmd.Command{
		Name:  "demo",
		Usage: "--users <number> [--tenant <name>] [--data <folder>] [--database <address>]",
		Short: "Adds a made-up company, in a tenant of its own",
		Long: `
Creates a tenant with users, who have lines, numbers, voicemails and incoming
numbers, and with groups of them. Everything is made as the API makes it. Nothing
that is there is changed: if a tenant of this name exists, nothing is done. To
remove a demo, delete its tenant: all that the tenant has goes with it.

It works on the database itself: run it as the user that the gateway runs as,
with the same RINGFENCE_DATA and RINGFENCE_DATABASE, once the gateway has created
the database. The gateways go on. One that has the embedded database is asked to
do it, through its admin socket.

    ringfence demo --users 200
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
			cmd.SilenceUsage = true
			cmd.RunE = runDemo
			cmd.Flags().Int("users", 100, "How many users")
			cmd.Flags().String("tenant", "demo", "The name of the new tenant")
			addPlaceFlags(cmd)
		},
	})
}

func runDemo(cmd *cobra.Command, _ []string) (err error) {
	users, err := cmd.Flags().GetInt("users")
	if err != nil || users < 1 || users > maxDemo {
		return fmt.Errorf("--users must be from 1 to %d", maxDemo)
	}
	c, closeAll, err := localClient(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	company, err := newDemo(cmd.Context(), c, flagOf(cmd, "tenant"))
	if err != nil {
		return err
	}
	if err := company.fill(cmd.Context(), users, progressOn[int](cmd.ErrOrStderr(), "users")); err != nil {
		return fmt.Errorf("%w; the tenant %s keeps what was made until then", err, c.Tenant)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "tenant: %s\nusers: %d\n", c.Tenant, users)
	return err
}

// demo makes a company by the operations of the services, in the tenant of its client.
type demo struct{ client *operator.Client }

// newDemo creates the tenant. It refuses a name that a tenant has.
func newDemo(ctx context.Context, c *operator.Client, name string) (demo, error) {
	const tenants = "/api/auth/0.1/tenants"
	var found struct{ Items []struct{ Name *string } }
	if err := c.Call(ctx, http.MethodGet, tenants+"?name="+url.QueryEscape(name), nil, &found); err != nil {
		return demo{}, err
	}
	if len(found.Items) > 0 {
		return demo{}, fmt.Errorf("there is a tenant %q already; name another with --tenant", name)
	}
	var made struct{ UUID string }
	if err := c.Call(ctx, http.MethodPost, tenants, map[string]any{"name": name}, &made); err != nil {
		return demo{}, fmt.Errorf("creating the tenant: %w", err)
	}
	c.Tenant = made.UUID
	return demo{c}, nil
}

// The first digits of the numbers of users, groups and incoming calls.
const (
	demoUsers, demoGroups, demoIncalls = 100_000, 200_000, 300_000
	// demoAtOnce is how many users one request makes.
	demoAtOnce = 250
)

var (
	demoFirst  = strings.Fields("Ada Alan Barbara Claude Donald Edsger Frances Grace Guido Hedy Jean John Ken Linus Margaret Niklaus Radia Shafi Tim Vint")
	demoLast   = strings.Fields("Allen Berners-Lee Boole Borg Cerf Dijkstra Goldwasser Hamilton Hopper Knuth Lamarr Liskov Lovelace Perlman Shannon Turing")
	demoGroup  = strings.Fields("Sales Support Accounting Purchasing Development Marketing Warehouse Reception Legal Travel")
	demoHeader = "firstname,lastname,email,line_protocol,context,exten,voicemail_name,voicemail_number,voicemail_context,incall_exten,incall_context\n"
)

// fill makes the company's contexts, users and groups.
func (d demo) fill(ctx context.Context, users int, progress func(done, of int)) error {
	numbers := func(from int) []any {
		return []any{map[string]any{"start": fmt.Sprint(from), "end": fmt.Sprint(from + maxDemo)}}
	}
	var inside, outside struct{ Name string }
	ranges := map[string]any{"label": "Inside", "user_ranges": numbers(demoUsers), "group_ranges": numbers(demoGroups)}
	if err := d.create(ctx, "/contexts", ranges, &inside); err != nil {
		return err
	}
	if err := d.create(ctx, "/contexts", map[string]any{"label": "From outside", "type": "incall", "incall_ranges": numbers(demoIncalls)}, &outside); err != nil {
		return err
	}
	var members []string
	for done := 0; done < users; {
		var file strings.Builder
		file.WriteString(demoHeader)
		for range min(demoAtOnce, users-done) {
			first, last := demoFirst[done%len(demoFirst)], demoLast[done/len(demoFirst)%len(demoLast)]
			fmt.Fprintf(&file, "%s,%s,user%d@%s.demo.invalid,sip,%s,%d,%s %s,%d,%s,%d,%s\n",
				first, last, done+1, d.client.Tenant, inside.Name, demoUsers+done, first, last, demoUsers+done, inside.Name, demoIncalls+done, outside.Name)
			done++
		}
		var made confdsvc.ImportedUsers
		if err := d.create(ctx, "/users/import", file.String(), &made); err != nil {
			return fmt.Errorf("making users: %w", err)
		}
		for _, user := range made.Created {
			members = append(members, *user.UserUUID)
		}
		progress(done, users)
	}
	return d.groups(ctx, members, inside.Name)
}

// groups makes the groups, of ten users at most.
func (d demo) groups(ctx context.Context, members []string, inside string) error {
	for i, label := range demoGroup {
		var users []any
		for j := i; j < len(members) && len(users) < 10; j += len(demoGroup) {
			users = append(users, map[string]any{"uuid": members[j]})
		}
		if len(users) == 0 {
			return nil
		}
		var group struct{ UUID string }
		if err := d.create(ctx, "/groups", map[string]any{"label": label}, &group); err != nil {
			return fmt.Errorf("making groups: %w", err)
		}
		path := "/groups/" + group.UUID
		var exten struct{ ID int64 }
		if err := d.create(ctx, "/extensions", map[string]any{"exten": fmt.Sprint(demoGroups + i), "context": inside}, &exten); err != nil {
			return fmt.Errorf("making groups: %w", err)
		}
		if err := d.put(ctx, path+"/members/users", map[string]any{"users": users}); err != nil {
			return fmt.Errorf("making groups: %w", err)
		}
		if err := d.put(ctx, fmt.Sprintf("%s/extensions/%d", path, exten.ID), nil); err != nil {
			return fmt.Errorf("making groups: %w", err)
		}
	}
	return nil
}

const confd = "/api/confd/1.1"

func (d demo) create(ctx context.Context, path string, body, into any) error {
	return d.client.Call(ctx, http.MethodPost, confd+path, body, into)
}

func (d demo) put(ctx context.Context, path string, body any) error {
	return d.client.Call(ctx, http.MethodPut, confd+path, body, nil)
}
