package freepbx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/moving/report"
)

// Job is one import. It is run once; to run another one with the same files changes what the first has made.
type Job struct {
	// Client is one of the gateway, in the tenant that gets the extensions.
	Client *operator.Client
	// Extensions and DIDs are the files; the second may be "".
	Extensions, DIDs string
	// Inside and Outside name the contexts of the extensions and of the incoming numbers, by their names or labels. Where there is "" it is the
	// only one that the tenant has, or a new one.
	Inside, Outside string
	// Progress is told how much is done.
	Progress func(done, of int)
	// Report says what has become of it.
	Report report.Report

	extensions []*extension
	dids       []row
	places     places
	templates  map[bool]string // of telephones; true: those in browsers
	inside     string
	done       int
}

const (
	prefix         = "/api/confd/1.1"
	kindExtensions = "extensions"
	kindDIDs       = "incoming numbers"
)

// Run reads the files, and imports what they have. An error of a file changes nothing. A row that is refused is left out whole; any other error
// ends the import between two rows: running it once more completes it.
func (j *Job) Run(ctx context.Context) error {
	if err := j.read(); err != nil {
		return err
	}
	if err := j.prepare(ctx); err != nil {
		return err
	}
	var made []*extension
	for _, x := range j.extensions {
		if err := ctx.Err(); err != nil {
			return err
		}
		ok, err := j.whole(x.row, kindExtensions, j.extension(ctx, x))
		if err != nil {
			return err
		}
		if ok {
			made = append(made, x)
		}
	}
	for _, x := range made { // once all are there: they lead to one another
		if _, err := j.whole(x.row, kindExtensions, j.fallbacks(ctx, x)); err != nil {
			return err
		}
	}
	for _, r := range j.dids {
		if _, err := j.whole(r, kindDIDs, j.incoming(ctx, r)); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether a row was taken. A refusal leaves it out.
func (j *Job) whole(r row, kind string, err error) (bool, error) {
	if j.Progress != nil {
		j.done++
		j.Progress(j.done, max(j.done, 2*len(j.extensions)+len(j.dids)))
	}
	taken, err := j.Report.Taken(report.Told{Kind: kind, Object: r.text("extension"), Line: r.line}, err)
	if err != nil {
		err = fmt.Errorf("%s %s of line %d: %w", kind, r.text("extension"), r.line, err)
	}
	return taken, err
}

func (j *Job) leave(r row, kind, reason string) {
	j.Report.Leave(report.Told{Kind: kind, Object: r.text("extension"), Line: r.line, Reason: reason})
}

func (j *Job) read() error {
	t, err := readTable(j.Extensions, []string{"extension", "name"}, []string{"extension"})
	if err != nil {
		return err
	}
	sip := 0
	for _, r := range t.rows {
		if strings.EqualFold(r.text("tech"), "sip") {
			sip++
		}
		if x, whole := readExtension(r, func(reason string) { j.leave(r, kindExtensions, reason) }); whole {
			j.extensions = append(j.extensions, x)
		}
	}
	if sip > 0 {
		j.Report.Note("%d extensions are of chan_sip (tech=sip), which Asterisk has no more: they become PJSIP, with the same logins. "+
			"If the telephones were led to a port of its own, lead them to that of the transport here.", sip)
	}
	j.unread("extensions", t.columns, readColumns)
	if j.DIDs == "" {
		return nil
	}
	if t, err = readTable(j.DIDs, []string{"extension", "destination"}, []string{"extension", "cidnum"}); err != nil {
		return err
	}
	j.dids = t.rows
	j.unread("DIDs", t.columns, []string{"extension", "destination", "description", "cidnum"})
	return nil
}

// unread tells of the columns that nothing is made of.
func (j *Job) unread(file string, columns, read []string) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return slices.Contains(read, name) || name == "" })
	if len(columns) > 0 {
		j.Report.Note("Columns of the %s that are not read: %s.", file, strings.Join(slices.Sorted(slices.Values(columns)), ", "))
	}
}

// prepare finds the contexts, the templates of telephones, and what the tenant has.
func (j *Job) prepare(ctx context.Context) error {
	var numbers, outside []string
	for _, x := range j.extensions {
		numbers = append(numbers, x.number)
	}
	for _, r := range j.dids {
		outside = append(outside, dialled(r))
	}
	in, err := j.context(ctx, "internal", j.Inside, object{"label": "Inside", "type": "internal", "user_ranges": ranges(numbers)})
	if err != nil {
		return err
	}
	j.inside, _ = in["name"].(string)
	if len(j.dids) > 0 {
		out, err := j.context(ctx, "incall", j.Outside, object{"label": "From outside", "type": "incall", "incall_ranges": ranges(outside)})
		if err != nil {
			return err
		}
		j.Outside, _ = out["name"].(string)
	}
	var tenant struct {
		Global *string `json:"global_sip_template_uuid"`
		WebRTC *string `json:"webrtc_sip_template_uuid"`
	}
	if err := j.call(ctx, http.MethodGet, fmt.Sprintf("/tenants/%v", in["tenant_uuid"]), nil, &tenant); err != nil {
		return err
	}
	j.templates = map[bool]string{}
	for browser, uuid := range map[bool]*string{false: tenant.Global, true: tenant.WebRTC} {
		if uuid != nil {
			j.templates[browser] = *uuid
		}
	}
	return j.find(ctx)
}

// context returns the context of a type that is named, or the only one, or a new one.
func (j *Job) context(ctx context.Context, kind, named string, fresh object) (object, error) {
	all, err := j.Client.All(ctx, prefix+"/contexts", url.Values{"type": {kind}})
	if err != nil {
		return nil, err
	}
	var found []object
	var names []string
	for _, c := range all {
		if named == "" || c["name"] == named || c["label"] == named {
			found = append(found, c)
		}
		names = append(names, fmt.Sprint(c["label"]))
	}
	flag := map[string]string{"internal": "--context", "incall": "--incall-context"}[kind]
	switch {
	case len(found) == 1:
		return found[0], nil
	case named != "":
		return nil, fmt.Errorf("%d contexts of type %s are called %q: name one with %s", len(found), kind, named, flag)
	case len(found) > 1:
		return nil, fmt.Errorf("the tenant has several contexts of type %s: name one of %q with %s", kind, names, flag)
	}
	var made object
	err = j.call(ctx, http.MethodPost, "/contexts", fresh, &made)
	j.Report.Of("contexts").Made++
	return made, err
}

// ranges returns those of all numbers, from the least to the greatest of each length.
func ranges(numbers []string) []object {
	byLength := map[int][]string{}
	for _, n := range numbers {
		if n != "" && strings.Trim(n, "0123456789") == "" {
			byLength[len(n)] = append(byLength[len(n)], n)
		}
	}
	out := []object{}
	for _, length := range slices.Sorted(maps.Keys(byLength)) {
		out = append(out, object{"start": slices.Min(byLength[length]), "end": slices.Max(byLength[length])})
	}
	return out
}

// numbered are an object's numbers, as lists show it.
type numbered struct {
	Exten, Context string
}

// shown is what an import knows of an object that exists.
type shown struct {
	ID    int64
	Lines []struct {
		Extensions  []numbered
		EndpointSIP *struct{ UUID string } `json:"endpoint_sip"`
	}
	Voicemail  *struct{ ID int64 }
	Extensions []numbered
}

// find reads who has which number, and what else numbers lead to.
func (j *Job) find(ctx context.Context) error {
	j.places = places{users: map[string]*person{}, others: map[[2]string]object{}}
	users, err := listed(ctx, j.Client, "/users")
	if err != nil {
		return err
	}
	for _, u := range users {
		for _, line := range u.Lines {
			for _, x := range line.Extensions {
				if x.Context == j.inside {
					j.places.users[x.Exten] = u.person(line.EndpointSIP)
				}
			}
		}
	}
	for _, c := range collections {
		all, err := listed(ctx, j.Client, c.path)
		if refused, ok := errors.AsType[*operator.RefusedError](err); ok && refused.Status == http.StatusNotFound {
			continue // this release does not have them
		}
		if err != nil {
			return err
		}
		for _, o := range all {
			for _, x := range o.Extensions {
				j.places.others[[2]string{c.context, x.Exten}] = object{"type": c.kind, c.key: o.ID}
			}
		}
	}
	return nil
}

func (u *shown) person(endpoint *struct{ UUID string }) *person {
	p := &person{id: u.ID}
	if endpoint != nil {
		p.endpoint = endpoint.UUID
	}
	if u.Voicemail != nil {
		p.mailbox = u.Voicemail.ID
	}
	return p
}

// listed returns the objects of a collection.
func listed(ctx context.Context, c *operator.Client, path string) (out []shown, err error) {
	for {
		var answer struct{ Items []shown }
		if err := c.Call(ctx, http.MethodGet, fmt.Sprintf("%s%s?limit=500&offset=%d", prefix, path, len(out)), nil, &answer); err != nil {
			return nil, err
		}
		if out = append(out, answer.Items...); len(answer.Items) == 0 {
			return out, nil
		}
	}
}

func (j *Job) call(ctx context.Context, method, path string, body, into any) error {
	return j.Client.Call(ctx, method, prefix+path, body, into)
}

// extension makes the user with the line, the telephone, the number and the mailbox, or changes the one who has the number, in one transaction.
func (j *Job) extension(ctx context.Context, x *extension) error {
	if there := j.places.users[x.number]; there != nil {
		return j.change(ctx, x, there)
	}
	endpoint := x.endpoint(nil)
	if template := cmp.Or(j.templates[x.webRTC], j.templates[false]); template != "" {
		endpoint["templates"] = []object{{"uuid": template}}
	}
	body := maps.Clone(x.user)
	body["lines"] = []object{{"context": j.inside, "endpoint_sip": endpoint, "extensions": []object{{"exten": x.number, "context": j.inside}}}}
	if x.mailbox != nil {
		x.mailbox["context"] = j.inside
		body["voicemail"] = x.mailbox
	}
	if x.forwards != nil {
		body["forwards"] = x.forwards
	}
	var made shown
	if err := j.call(ctx, http.MethodPost, "/users", body, &made); err != nil {
		return err
	}
	j.places.users[x.number] = made.person(nil)
	j.Report.Of(kindExtensions).Made++
	return nil
}

// change changes the user who has the number.
func (j *Job) change(ctx context.Context, x *extension, there *person) error {
	var all []object
	do := func(method, path string, body any) {
		all = append(all, object{"method": method, "path": path, "body": body})
	}
	user := fmt.Sprintf("/users/%d", there.id)
	do(http.MethodPut, user, x.user)
	if there.endpoint == "" {
		j.leave(x.row, kindExtensions, "the line with the number has no SIP endpoint here: its telephone stays as it is")
	} else {
		var before object
		if err := j.call(ctx, http.MethodGet, "/endpoints/sip/"+there.endpoint, nil, &before); err != nil {
			return err
		}
		do(http.MethodPut, "/endpoints/sip/"+there.endpoint, x.endpoint(before))
	}
	switch {
	case x.mailbox == nil && there.mailbox != 0:
		j.leave(x.row, kindExtensions, "it has no mailbox in the file: the one that it has here stays")
	case x.mailbox == nil:
	case there.mailbox != 0:
		do(http.MethodPut, fmt.Sprintf("/voicemails/%d", there.mailbox), x.mailbox)
	default:
		x.mailbox["context"] = j.inside
		do(http.MethodPost, user+"/voicemails", x.mailbox)
	}
	if x.forwards != nil {
		do(http.MethodPut, user+"/forwards", x.forwards)
	}
	var done struct {
		Results []struct{ Body struct{ ID int64 } }
	}
	if err := j.call(ctx, http.MethodPost, "/bulk", object{"operations": all}, &done); err != nil {
		return err
	}
	for i, o := range all {
		if o["method"] == http.MethodPost {
			there.mailbox = done.Results[i].Body.ID
		}
	}
	j.Report.Of(kindExtensions).Changed++
	return nil
}

// fallbacks says where calls go that the user does not take.
func (j *Job) fallbacks(ctx context.Context, x *extension) error {
	body := object{}
	for column, attribute := range map[string]string{
		"noanswer_dest": "noanswer_destination", "busy_dest": "busy_destination", "chanunavail_dest": "fail_destination",
	} {
		if !x.has(column) {
			continue
		}
		text := x.text(column)
		if after := x.text("findmefollow_postdest"); column == "noanswer_dest" && x.yes("findmefollow_enabled") && after != "" {
			text = after
		}
		to, reason := j.places.to(text, x.number)
		if reason != "" {
			j.leave(x.row, kindExtensions, column+": "+reason)
			continue
		}
		body[attribute] = to // a nil map is null
	}
	if len(body) == 0 {
		return nil
	}
	return j.call(ctx, http.MethodPut, fmt.Sprintf("/users/%d/fallbacks", j.places.users[x.number].id), body, nil)
}

// dialled returns an incoming number as it is here, where numbers have digits alone.
func dialled(r row) string { return strings.TrimPrefix(r.text("extension"), "+") }

// incoming makes an incoming call, or changes the one that has the number, in one transaction.
func (j *Job) incoming(ctx context.Context, r row) error {
	number := dialled(r)
	switch {
	case number == "":
		j.leave(r, kindDIDs, "a route of any number is not here: make one with a pattern, such as _X.")
		return nil
	case r.text("cidnum") != "":
		j.leave(r, kindDIDs, "a route by the caller's number is not here")
		return nil
	}
	to, reason := j.places.to(r.text("destination"), "")
	if to == nil {
		j.leave(r, kindDIDs, cmp.Or(reason, "it has no destination"))
		return nil
	}
	body := object{"destination": to, "description": orNull(r.text("description"))}
	there, err := j.Client.All(ctx, prefix+"/extensions", url.Values{"exten": {number}, "context": {j.Outside}})
	if err != nil {
		return err
	}
	for _, x := range there {
		if incall, is := x["incall"].(object); is {
			if err := j.call(ctx, http.MethodPut, fmt.Sprintf("/incalls/%v", incall["id"]), body, nil); err != nil {
				return err
			}
			j.Report.Of(kindDIDs).Changed++
			return nil
		}
	}
	body["extensions"] = []object{{"exten": number, "context": j.Outside}}
	if err := j.call(ctx, http.MethodPost, "/incalls?recursive=true", body, nil); err != nil {
		return err
	}
	j.Report.Of(kindDIDs).Made++
	return nil
}
