package commands

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
numbers, and with groups of them, a queue, a call filter and a switchboard. Its main
number is a menu, during office hours; calls to the outside, dialled with 0, go by
one of two trunks, and calls abroad need the digits 4711. The carriers are made up:
no call leaves the machine.
Everything is made as the API makes it. Nothing that is there is changed: if a
tenant of this name exists, nothing is done. To remove a demo, delete its tenant:
all that the tenant has goes with it.

It works on the database itself: run it as the user that the gateway runs as,
with the same RINGFENCE_DATA and RINGFENCE_DATABASE, once the gateway has created
the database. The gateways go on. One that has the embedded database is asked to
do it, through its admin socket.

    ringfence demo --users 200
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
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

// demo makes a company by the operations of the services, in the tenant of its client. Nothing is done after an error.
type demo struct {
	client *operator.Client
	domain string // of the users' e-mail addresses; RFC 2606, 2: nobody has such a name
	err    error
}

// newDemo creates the tenant. It refuses a name that a tenant has.
func newDemo(ctx context.Context, c *operator.Client, name string) (*demo, error) {
	const tenants = "/api/auth/0.1/tenants"
	var found struct{ Items []struct{ Name *string } }
	if err := c.Call(ctx, http.MethodGet, tenants+"?name="+url.QueryEscape(name), nil, &found); err != nil {
		return nil, err
	}
	if len(found.Items) > 0 {
		return nil, fmt.Errorf("there is a tenant %q already; name another with --tenant", name)
	}
	var made struct{ UUID, Slug string }
	if err := c.Call(ctx, http.MethodPost, tenants, object{"name": name}, &made); err != nil {
		return nil, fmt.Errorf("creating the tenant: %w", err)
	}
	c.Tenant = made.UUID
	return &demo{client: c, domain: strings.ToLower(strings.ReplaceAll(made.Slug, "_", "-")) + ".invalid"}, nil
}

type object = map[string]any

// created is what the services say of a new object, as far as it has that.
type created struct {
	ID         int64
	UUID, Name string
}

func (d *demo) call(ctx context.Context, method, path string, body, into any) {
	if d.err != nil {
		return
	}
	if err := d.client.Call(ctx, method, "/api/confd/1.1"+path, body, into); err != nil {
		d.err = fmt.Errorf("%s %s: %w", method, path, err)
	}
}

func (d *demo) create(ctx context.Context, path string, body object) (made created) {
	d.call(ctx, http.MethodPost, path, body, &made)
	return made
}

func (d *demo) put(ctx context.Context, path string, body any) {
	d.call(ctx, http.MethodPut, path, body, nil)
}

const (
	demoUsers, demoGroups, demoIncalls = 100_000, 200_000, 300_000
	// demoMain is the number of the company, behind those of the users.
	demoMain = demoIncalls + maxDemo
	// demoQueue is the number of the queue, behind those of the groups.
	demoQueue = demoGroups + maxDemo
	// demoAtOnce is how many users one request makes.
	demoAtOnce = 250
)

var (
	demoFirst  = strings.Fields("Ada Alan Barbara Claude Donald Edsger Frances Grace Guido Hedy Jean John Ken Linus Margaret Niklaus Radia Shafi Tim Vint")
	demoLast   = strings.Fields("Allen Berners-Lee Boole Borg Cerf Dijkstra Goldwasser Hamilton Hopper Knuth Lamarr Liskov Lovelace Perlman Shannon Turing")
	demoGroup  = strings.Fields("Sales Support Accounting Purchasing Development Marketing Warehouse Reception Legal Travel")
	demoHeader = "firstname,lastname,email,line_protocol,context,exten,voicemail_name,voicemail_number,voicemail_context,incall_exten,incall_context\n"
)

// fill makes what the company has, but for the tenant.
func (d *demo) fill(ctx context.Context, users int, progress func(done, of int)) error {
	numbers := func(from, to int) []object { return []object{{"start": fmt.Sprint(from), "end": fmt.Sprint(to)}} }
	inside := d.create(ctx, "/contexts", object{
		"label": "Inside", "user_ranges": numbers(demoUsers, demoUsers+maxDemo), "group_ranges": numbers(demoGroups, demoQueue-1),
		"queue_ranges": numbers(demoQueue, demoQueue),
	})
	incoming := d.create(ctx, "/contexts", object{"label": "From outside", "type": "incall", "incall_ranges": numbers(demoIncalls, demoMain)})
	var people []confdsvc.ImportedUser
	for done := 0; done < users && d.err == nil; progress(done, users) {
		var file strings.Builder
		file.WriteString(demoHeader)
		for range min(demoAtOnce, users-done) {
			first, last := demoFirst[done%len(demoFirst)], demoLast[done/len(demoFirst)%len(demoLast)]
			name := strings.ToLower(first + "." + last)
			if again := done / len(demoFirst) / len(demoLast); again > 0 {
				name += strconv.Itoa(again + 1)
			}
			fmt.Fprintf(&file, "%s,%s,%s@%s,sip,%s,%d,%s %s,%d,%s,%d,%s\n",
				first, last, name, d.domain, inside.Name, demoUsers+done, first, last, demoUsers+done, inside.Name, demoIncalls+done, incoming.Name)
			done++
		}
		var made confdsvc.ImportedUsers
		d.call(ctx, http.MethodPost, "/users/import", file.String(), &made)
		people = append(people, made.Created...)
	}
	if d.err == nil {
		groups := d.groups(ctx, people, inside.Name)
		d.mainNumber(ctx, people[0], groups, incoming.Name)
		d.queue(ctx, people, inside.Name)
		d.outside(ctx, inside.ID, incoming.Name)
		d.secretary(ctx, people)
	}
	return d.err
}

// groups makes the groups, of ten users at most, and returns their numbers.
func (d *demo) groups(ctx context.Context, people []confdsvc.ImportedUser, inside string) (ids []int64) {
	for i, label := range demoGroup[:min(len(demoGroup), len(people))] {
		var users []object
		for j := i; j < len(people) && len(users) < 10; j += len(demoGroup) {
			users = append(users, object{"uuid": people[j].UserUUID})
		}
		group := d.create(ctx, "/groups", object{"label": label})
		exten := d.create(ctx, "/extensions", object{"exten": fmt.Sprint(demoGroups + i), "context": inside})
		d.put(ctx, fmt.Sprintf("/groups/%s/members/users", group.UUID), object{"users": users})
		d.put(ctx, fmt.Sprintf("/groups/%s/extensions/%d", group.UUID, exten.ID), nil)
		ids = append(ids, group.ID)
	}
	return ids
}

// secretary has the calls to the first user taken by the second, once they switch that on, and has both take those that wait at a switchboard.
func (d *demo) secretary(ctx context.Context, people []confdsvc.ImportedUser) {
	if len(people) < 2 {
		return
	}
	boss, other := object{"uuid": people[0].UserUUID}, object{"uuid": people[1].UserUUID}
	filter := d.create(ctx, "/callfilters", object{"name": "Management", "strategy": "all-surrogates-then-all-recipients", "source": "all"})
	d.put(ctx, fmt.Sprintf("/callfilters/%d/recipients/users", filter.ID), object{"users": []object{boss}})
	d.put(ctx, fmt.Sprintf("/callfilters/%d/surrogates/users", filter.ID), object{"users": []object{other}})
	board := d.create(ctx, "/switchboards", object{"name": "Reception"})
	d.put(ctx, "/switchboards/"+board.UUID+"/members/users", object{"users": []object{boss, other}})
}

// queue makes a queue of up to five agents, who are the last of the users and have their numbers: they log in by *31 and the number.
func (d *demo) queue(ctx context.Context, people []confdsvc.ImportedUser, inside string) {
	queue := d.create(ctx, "/queues", object{"name": "hotline", "label": "Hotline", "timeout": 300, "music_on_hold": "default"})
	exten := d.create(ctx, "/extensions", object{"exten": fmt.Sprint(demoQueue), "context": inside})
	d.put(ctx, fmt.Sprintf("/queues/%d/extensions/%d", queue.ID, exten.ID), nil)
	for i := max(0, len(people)-5); i < len(people); i++ {
		first, last := demoFirst[i%len(demoFirst)], demoLast[i/len(demoFirst)%len(demoLast)]
		agent := d.create(ctx, "/agents", object{
			"number": fmt.Sprint(demoUsers + i), "firstname": first, "lastname": last, "queues": []object{{"id": queue.ID}},
		})
		d.put(ctx, fmt.Sprintf("/users/%d/agents/%d", *people[i].UserID, agent.ID), nil)
	}
}

// mainNumber makes the company's own number: a menu during office hours, and the mailbox of one user at other times.
func (d *demo) mainNumber(ctx context.Context, operator confdsvc.ImportedUser, groups []int64, incoming string) {
	choices := []object{{"exten": "0", "destination": object{"type": "user", "user_id": operator.UserID}}}
	for i, group := range groups[:min(len(groups), 3)] { // those that the sound offers
		choices = append(choices, object{"exten": fmt.Sprint(i + 1), "destination": object{"type": "group", "group_id": group}})
	}
	menu := d.create(ctx, "/ivr", object{"name": "Welcome", "menu_sound": "basic-pbx-ivr-main", "invalid_sound": "pbx-invalid", "choices": choices})
	closed := object{"type": "voicemail", "voicemail_id": operator.VoicemailID}
	hours := d.create(ctx, "/schedules", object{
		"name": "Office hours", "timezone": "Europe/Paris", "closed_destination": closed,
		"open_periods":        []object{{"hours_start": "09:00", "hours_end": "18:00", "week_days": []int{1, 2, 3, 4, 5}}},
		"exceptional_periods": []object{{"hours_start": "00:00", "hours_end": "23:59", "month_days": []int{25, 26}, "months": []int{12}, "destination": closed}},
	})
	incall := d.create(ctx, "/incalls", object{"description": "The main number", "destination": object{"type": "ivr", "ivr_id": menu.ID}})
	exten := d.create(ctx, "/extensions", object{"exten": fmt.Sprint(demoMain), "context": incoming})
	d.put(ctx, fmt.Sprintf("/incalls/%d/extensions/%d", incall.ID, exten.ID), nil)
	d.put(ctx, fmt.Sprintf("/incalls/%d/schedules/%d", incall.ID, hours.ID), nil)
}

// outside makes two trunks, the calls that go by them, and what not all may call.
func (d *demo) outside(ctx context.Context, inside int64, incoming string) {
	context := d.create(ctx, "/contexts", object{"label": "To outside", "type": "outcall"})
	d.put(ctx, fmt.Sprintf("/contexts/%d/contexts", inside), object{"contexts": []object{{"id": context.ID}}})
	var trunks []object
	for i, label := range []string{"First carrier", "Second carrier"} {
		server := fmt.Sprintf("sip:carrier-%d.invalid", i+1) // RFC 2606, 2: nobody has such a name
		endpoint := d.create(ctx, "/endpoints/sip", object{
			"label": label, "aor_section_options": [][]string{{"contact", server}, {"qualify_frequency", "0"}},
			"endpoint_section_options": [][]string{{"allow", "!all,alaw,ulaw"}, {"send_pai", "yes"}},
		})
		trunk := d.create(ctx, "/trunks", object{"context": incoming})
		d.put(ctx, fmt.Sprintf("/trunks/%d/endpoints/sip/%s", trunk.ID, endpoint.UUID), nil)
		trunks = append(trunks, object{"id": trunk.ID})
	}
	outcall := d.create(ctx, "/outcalls", object{"name": "Outside"})
	exten := d.create(ctx, "/extensions", object{"exten": "_0X.", "context": context.Name})
	d.put(ctx, fmt.Sprintf("/outcalls/%d/extensions/%d", outcall.ID, exten.ID), object{"strip_digits": 1})
	d.put(ctx, fmt.Sprintf("/outcalls/%d/trunks", outcall.ID), object{"trunks": trunks})
	d.create(ctx, "/emergency-numbers", object{"number": "112"})
	abroad := d.create(ctx, "/callpermissions", object{"name": "Abroad", "mode": "deny", "extensions": []string{"_000X."}, "password": "4711"})
	d.put(ctx, fmt.Sprintf("/outcalls/%d/callpermissions/%d", outcall.ID, abroad.ID), nil)
}
