package crudtest

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// of is the same check of another collection.
func (x *trial) of(path string) *trial {
	x.Helper()
	for _, k := range x.Described.Collections {
		if r, ok := x.Resources[path]; ok && k.Path == path {
			other := *x
			other.k, other.r = k, r
			return &other
		}
	}
	x.Fatalf("the suite does not try %s", path)
	return nil
}

// linkTrial is the check of one link.
type linkTrial struct {
	*trial

	l           crud.DescribedLink
	left, right *trial
	rules       Link
}

// links tries the links of which the collection is the left side.
func (x *trial) links() {
	for _, l := range x.Described.Links {
		if l.Left != x.k.Path {
			continue
		}
		x := &linkTrial{trial: x, l: l, left: x, right: x.of(l.Right), rules: x.r.Links[l.Path]}
		if x.may("put") {
			x.makeAndEnd()
			x.cardinality()
			x.linkedTenants()
			x.linkedAcross()
			x.strict()
			x.denied()
			x.deletions()
		}
		if x.may("create") {
			x.createLinked()
		}
	}
}

// called is all that a path can name an object by.
func (x *trial) called(o Object) []string {
	var out []string
	for _, key := range slices.Concat(x.k.Keys, x.k.Names) {
		out = append(out, o.Text(key))
	}
	return out
}

func (x *linkTrial) may(operation string) bool { return slices.Contains(x.l.Only, operation) }

func (x *linkTrial) below(left Object) string { return x.left.at(left) + "/" + x.l.Path }

func (x *linkTrial) pair(left, right Object) string {
	return x.below(left) + "/" + right.Text(x.right.k.Keys[0])
}

// objects are two that can be linked.
func (x *linkTrial) objects(c *Client) (left, right Object) {
	x.Helper()
	left, right = x.left.make(c, nil), x.right.make(c, nil)
	x.ready(c, left, right)
	return left, right
}

func (x *linkTrial) ready(c *Client, left, right Object) {
	if x.rules.Ready != nil {
		x.rules.Ready(c, left, right)
	}
}

func (x *linkTrial) link(left, right Object) {
	x.Helper()
	x.a.Do(http.MethodPut, x.pair(left, right), nil).Want(http.StatusNoContent).Empty()
}

// end ends a link, by the operation that there is.
func (x *linkTrial) end(left, right Object) {
	x.Helper()
	path := x.pair(left, right)
	if !x.may("delete") {
		path = x.below(left)
	}
	x.a.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent).Empty()
}

func (x *linkTrial) makeAndEnd() {
	left, right := x.objects(x.a)
	leftPath, rightPath := x.left.at(left), x.right.at(right)
	leftBefore, rightBefore := x.a.Get(leftPath).Body, x.a.Get(rightPath).Body
	x.audits(1, "linking "+x.l.Path, func() { x.link(left, right) })
	x.audits(0, "linking "+x.l.Path+" again", func() { x.link(left, right) })
	for _, key := range x.left.called(left) { // by whichever keys
		for _, other := range x.right.called(right) {
			x.audits(0, "linking "+x.l.Path+" by other keys", func() {
				x.a.Do(http.MethodPut, x.left.all()+"/"+key+"/"+x.l.Path+"/"+other, nil).Want(http.StatusNoContent)
			})
		}
	}
	if shown := x.a.Get(leftPath).Body != leftBefore; shown != x.l.LeftShown {
		x.Errorf("%s: the left side shows it: %t", x.l.Path, shown)
	}
	if x.l.RightShown && x.a.Get(rightPath).Body == rightBefore {
		x.Errorf("%s: the right side does not show it", x.l.Path)
	}
	if x.may("list") {
		if l := x.a.Get(x.below(left)).List(); *l.Total != 1 || x.right.at(l.Items[0]) != rightPath {
			x.Errorf("%s: the list is %v", x.l.Path, l.Items)
		}
	}
	if x.may("list_back") {
		if l := x.a.Get(rightPath + "/" + x.l.Left).List(); *l.Total != 1 || x.left.at(l.Items[0]) != leftPath {
			x.Errorf("%s: the list back is %v", x.l.Path, l.Items)
		}
	}
	if x.may("one") {
		if got, want := x.a.Get(leftPath+"/"+x.l.One).Want(http.StatusOK).Body, x.a.Get(rightPath).Body; got != want {
			x.Errorf("%s: the one is %s, want %s", x.l.Path, got, want)
		}
	}
	x.audits(1, "ending "+x.l.Path, func() { x.end(left, right) })
	x.audits(0, "ending "+x.l.Path+" again", func() { x.end(left, right) })
	if after := x.a.Get(leftPath).Body; after != leftBefore {
		x.Errorf("%s: the left side was %s, and is %s", x.l.Path, leftBefore, after)
	}
	if after := x.a.Get(rightPath).Body; after != rightBefore {
		x.Errorf("%s: the right side was %s, and is %s", x.l.Path, rightBefore, after)
	}
	if x.may("one") {
		x.a.Get(leftPath + "/" + x.l.One).Want(http.StatusNotFound)
	}
	x.a.Do(http.MethodPut, x.below(left)+"/999999999", nil).Want(http.StatusNotFound)
	x.a.Do(http.MethodPut, strings.Replace(x.pair(left, right), leftPath, x.left.all()+"/999999999", 1), nil).Want(http.StatusNotFound)
}

// cardinality: an object that may have one of the other side has no second.
func (x *linkTrial) cardinality() {
	left, right := x.objects(x.a)
	otherLeft, otherRight := x.objects(x.a)
	x.link(left, right)
	for _, try := range []struct {
		has         crud.Count
		left, right Object
	}{{x.l.LeftHas, left, otherRight}, {x.l.RightHas, otherLeft, right}} {
		if try.has != crud.AtMostOne {
			continue
		}
		before := x.a.Get(x.left.at(try.left)).Body
		x.audits(0, "a second of "+x.l.Path, func() {
			x.a.Do(http.MethodPut, x.pair(try.left, try.right), nil).Want(http.StatusBadRequest).Says("is associated with")
		})
		if after := x.a.Get(x.left.at(try.left)).Body; after != before {
			x.Errorf("%s: a refused link changed %s to %s", x.l.Path, before, after)
		}
	}
}

func (x *linkTrial) linkedTenants() {
	left, right := x.objects(x.a)
	_, foreign := x.objects(x.b)
	unknown := x.nobodys(x.right.k.Keys[0], foreign.Text(x.right.k.Keys[0]))
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		if method == http.MethodDelete && !x.may("delete") {
			continue
		}
		got := x.a.Do(method, x.pair(left, foreign), nil).Want(http.StatusNotFound)
		like := x.a.Do(method, x.below(left)+"/"+unknown, nil).Want(http.StatusNotFound)
		if !alike(got.Body, foreign.Text(x.right.k.Keys[0]), like.Body, unknown) {
			x.Errorf("%s of another tenant's: %s; of nobody's: %s", method, got.Body, like.Body)
		}
		x.b.Do(method, x.pair(left, foreign), nil).Want(http.StatusNotFound)
		x.b.Do(method, x.pair(left, right), nil).Want(http.StatusNotFound)
	}
	if !x.l.AcrossTenants {
		x.top.Do(http.MethodPut, x.pair(left, foreign), nil).Want(http.StatusBadRequest).Says("different tenants")
		_, below := x.objects(x.a1)
		x.a.Do(http.MethodPut, x.pair(left, below), nil).Want(http.StatusBadRequest).Says("different tenants")
	}
	x.link(left, right)
	for operation, path := range map[string]string{
		"list": x.below(left), "list_back": x.right.at(right) + "/" + x.l.Left, "one": x.left.at(left) + "/" + x.l.One,
	} {
		if x.may(operation) {
			x.b.Get(path).Want(http.StatusNotFound)
		}
	}
	before := x.a.Get(x.left.at(left)).Body
	if x.may("delete_all") {
		x.b.Do(http.MethodDelete, x.below(left), nil).Want(http.StatusNotFound)
	}
	if after := x.a.Get(x.left.at(left)).Body; after != before {
		x.Errorf("%s: another tenant changed %s to %s", x.l.Path, before, after)
	}
}

// linkedAcross: who sees objects of two tenants can link them in one direction at least, if the link lets them. Who sees one of the two
// neither makes nor ends it, and is not shown the other.
func (x *linkTrial) linkedAcross() {
	if !x.l.AcrossTenants {
		return
	}
	linked := 0
	for _, of := range [][2]*Client{{x.a, x.a1}, {x.a1, x.a}} {
		left, right := x.left.make(of[0], nil), x.right.make(of[1], nil)
		x.ready(x.a, left, right)
		refused := func() {
			x.a1.Do(http.MethodPut, x.pair(left, right), nil).Want(http.StatusNotFound)
			if x.may("delete") {
				x.a1.Do(http.MethodDelete, x.pair(left, right), nil).Want(http.StatusNotFound)
			}
		}
		x.audits(0, "linking what one does not see", refused)
		if x.a.Do(http.MethodPut, x.pair(left, right), nil).Status != http.StatusNoContent {
			continue // it has a rule of its own
		}
		linked++
		x.audits(0, "ending what one does not see", refused)
		lists := map[string][2]string{"list": {x.left.at(left), x.l.Path}, "list_back": {x.right.at(right), x.l.Left}}
		for operation, path := range lists {
			if !x.may(operation) {
				continue
			}
			if l := x.a.Get(path[0] + "/" + path[1]).List(); *l.Total != 1 {
				x.Errorf("%s across tenants: %s shows %v", x.l.Path, operation, l.Items)
			}
			if x.a1.Get(path[0]).Status == http.StatusNotFound {
				x.a1.Get(path[0] + "/" + path[1]).Want(http.StatusNotFound)
			} else if l := x.a1.Get(path[0] + "/" + path[1]).List(); *l.Total != 0 || len(l.Items) != 0 {
				x.Errorf("%s across tenants: %s shows the tenant below %v", x.l.Path, operation, l.Items)
			}
		}
		x.audits(1, "ending "+x.l.Path+" across tenants", func() { x.end(left, right) })
	}
	if linked == 0 {
		x.Errorf("%s: nothing is linked across tenants", x.l.Path)
	}
}

// strict: who may not make or end a strict link is answered the same whether there is one or not, and changes nothing.
func (x *linkTrial) strict() {
	if !x.l.Strict {
		return
	}
	if x.rules.Refused == "" {
		x.Errorf("the suite has nobody whom the strict link %s refuses", x.l.Path)
		return
	}
	left, right := x.objects(x.a)
	caller := x.a.holding(x.rules.Refused)
	ask := func(method, path string) (refusal string) {
		x.audits(0, "a refused "+method+" of "+path, func() {
			refusal = moment.ReplaceAllString(caller.Do(method, path, nil).Want(http.StatusForbidden).Body, "")
		})
		return refusal
	}
	asked := map[string][2]string{
		"put": {http.MethodPut, x.pair(left, right)}, "delete": {http.MethodDelete, x.pair(left, right)}, "delete_all": {http.MethodDelete, x.below(left)},
	}
	without := map[string]string{}
	for operation, request := range asked {
		if x.may(operation) {
			without[operation] = ask(request[0], request[1])
		}
	}
	x.audits(1, "linking "+x.l.Path+" after refusals", func() { x.link(left, right) })
	for operation, refusal := range without {
		if got := ask(asked[operation][0], asked[operation][1]); got != refusal {
			x.Errorf("%s: %s of a link is refused with %s, and of none with %s", x.l.Path, operation, got, refusal)
		}
	}
	x.audits(1, "ending "+x.l.Path+" after refusals", func() { x.end(left, right) })
}

// denied: who is denied an operation by one key of an object is refused it by every other.
func (x *linkTrial) denied() {
	left, right := x.objects(x.a)
	x.link(left, right)
	for operation, method := range map[string]string{
		"put": http.MethodPut, "delete": http.MethodDelete, "delete_all": http.MethodDelete, "list": http.MethodGet, "one": http.MethodGet,
	} {
		if !x.may(operation) {
			continue
		}
		parameters := placeholder.FindAllString(x.l.Accesses[operation], -1)
		path := x.left.all() + "/" + parameters[0] + "/" + x.l.Path
		lefts, rights := x.left.called(left), []string{""}
		switch {
		case operation == "one":
			path = x.left.all() + "/" + parameters[0] + "/" + x.l.One
		case len(parameters) == 2:
			path, rights = path+"/"+parameters[1], x.right.called(right)
		}
		var names []*strings.Replacer
		for _, one := range lefts {
			for _, other := range rights {
				names = append(names, strings.NewReplacer(parameters[0], one, parameters[len(parameters)-1], other))
			}
		}
		for i, typed := range names {
			for j, meant := range names {
				if i != j {
					caller := x.a.holding(x.Access, "!"+meant.Replace(x.l.Accesses[operation]))
					x.audits(0, "what is denied", func() { caller.Do(method, typed.Replace(path), nil).Want(http.StatusForbidden).Says("denies") })
				}
			}
		}
	}
}

// placeholder is a parameter of a path or an access.
var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// deletions: what becomes of a link, and of the other side, when one side is deleted.
func (x *linkTrial) deletions() {
	for side, deletion := range map[string]crud.Deletion{"left": x.l.LeftDeleted, "right": x.l.RightDeleted} {
		left, right := x.objects(x.a)
		gone, stays := x.left.at(left), x.right.at(right)
		if side == "right" {
			gone, stays = stays, gone
		}
		before := x.a.Get(stays).Body
		x.link(left, right)
		if slices.Contains(x.rules.Kept, side) {
			deletion = crud.Refuse
		}
		if deletion == crud.Refuse {
			x.audits(0, "a refused deletion", func() {
				x.a.Do(http.MethodDelete, gone, nil).Want(http.StatusBadRequest).Says("is associated with")
			})
			x.a.Get(gone).Want(http.StatusOK)
			x.end(left, right)
		}
		x.a.Do(http.MethodDelete, gone, nil).Want(http.StatusNoContent)
		if deletion == crud.Cascade {
			x.a.Get(stays).Want(http.StatusNotFound)
			continue
		}
		if after := x.a.Get(stays).Want(http.StatusOK).Body; after != before {
			x.Errorf("%s: after the %s side was deleted the other is %s, and was %s", x.l.Path, side, after, before)
		}
	}
}

// createLinked makes the right object by the left one, in its tenant.
func (x *linkTrial) createLinked() {
	left, spare := x.objects(x.a)
	x.a.Do(http.MethodDelete, x.right.at(spare), nil).Want(http.StatusNoContent)
	body := x.right.minimal(x.a, nil)
	x.b.Do(http.MethodPost, x.below(left), body).Want(http.StatusNotFound)
	x.a.Do(http.MethodPost, x.left.all()+"/999999999/"+x.l.Path, body).Want(http.StatusNotFound)
	x.a.Do(http.MethodPost, x.below(left), "[]").Want(http.StatusBadRequest)
	made := x.top.Do(http.MethodPost, x.below(left), body).Want(x.Described.Style.CreateStatus).Object()
	if made["tenant_uuid"] != x.a.Tenant {
		x.Errorf("%s: it is of %v, and the left side of %v", x.l.Path, made["tenant_uuid"], x.a.Tenant)
	}
	x.same("made by the left side", x.a.Get(x.right.at(made)).Want(http.StatusOK).Object(), made)
	if x.l.LeftHas == crud.AtMostOne {
		total := *x.a.Get(x.right.all()).List().Total
		x.a.Do(http.MethodPost, x.below(left), x.right.minimal(x.a, nil)).Want(http.StatusBadRequest).Says("is associated with")
		if now := *x.a.Get(x.right.all()).List().Total; now != total {
			x.Errorf("%s: a refused create left an object", x.l.Path)
		}
	}
}

// lists tries the lists that replace all links of an object of the collection.
func (x *trial) lists() {
	for _, l := range x.Described.Links {
		link := &linkTrial{trial: x, l: l, left: x.of(l.Left), right: x.of(l.Right), rules: x.Resources[l.Left].Links[l.Path]}
		if l.Set != nil && l.Left == x.k.Path {
			link.list(l.Set, x, x.of(l.Right), false)
		}
		if l.SetBack != nil && l.Right == x.k.Path {
			link.list(l.SetBack, x, x.of(l.Left), true)
		}
	}
}

func (x *linkTrial) list(d *crud.DescribedList, near, far *trial, backward bool) {
	one := near.make(x.a, nil)
	path := near.at(one) + "/" + d.Path
	fresh := func(c *Client, near Object) Object {
		o := far.make(c, nil)
		if backward {
			x.ready(c, o, near)
		} else {
			x.ready(c, near, o)
		}
		return o
	}
	objects := []Object{fresh(x.a, one), fresh(x.a, one), fresh(x.a, one)}
	by := d.By[0]
	body := func(objects ...Object) Object {
		items := []any{}
		for _, o := range objects {
			items = append(items, Object{by: o[by]})
		}
		return Object{d.Field: items}
	}
	put := func(objects ...Object) {
		x.Helper()
		x.a.Do(http.MethodPut, path, body(objects...)).Want(http.StatusNoContent).Empty()
	}
	keys := func(objects ...Object) []string { return resttest.List{Items: objects}.Column(by) }
	is := func(what string, want ...Object) {
		x.Helper()
		got, expected := x.listed(x.a.Get(near.at(one)).Object(), by, keys(objects...)), keys(want...)
		if !d.Ordered {
			slices.Sort(got)
			slices.Sort(expected)
		}
		if !slices.Equal(got, expected) {
			x.Errorf("%s: %s shows %v, want %v", what, path, got, expected)
		}
	}
	first, second, third := objects[0], objects[1], objects[2]
	if d.Ordered {
		x.audits(1, "a list", func() { put(third, first, second) })
		is("a list", third, first, second)
		x.audits(0, "the same list", func() { put(third, first, second) })
		x.audits(1, "another order", func() { put(first, third, second) })
		is("another order", first, third, second)
	}
	put(first, second)
	is("a shorter list", first, second)
	foreign := fresh(x.b, near.make(x.b, nil))
	nobody := Object{by: map[bool]any{true: 999999999, false: "00000000-0000-4000-8000-000000000000"}[by == "id"]}
	x.audits(0, "refused lists", func() {
		x.a.Do(http.MethodPut, path, body(third, third)).Want(http.StatusBadRequest).Says("")
		got := x.a.Do(http.MethodPut, path, body(third, foreign)).Want(http.StatusBadRequest).Says("was not found")
		like := x.a.Do(http.MethodPut, path, body(third, nobody)).Want(http.StatusBadRequest)
		if !alike(got.Body, foreign.Text(by), like.Body, nobody.Text(by)) {
			x.Errorf("another tenant's in a list: %s; nobody's: %s", got.Body, like.Body)
		}
		if !x.l.AcrossTenants {
			x.top.Do(http.MethodPut, path, body(third, foreign)).Want(http.StatusBadRequest).Says("different tenants")
		}
		x.b.Do(http.MethodPut, path, body(foreign)).Want(http.StatusNotFound)
		x.b.Do(http.MethodPut, path, body()).Want(http.StatusNotFound)
		for _, bad := range []any{
			Object{},
			Object{d.Field: nil},
			Object{d.Field: Object{}},
			Object{d.Field: "x"},
			Object{d.Field: []any{nil}},
			Object{d.Field: []any{1}},
			Object{d.Field: []any{Object{}}},
			Object{d.Field: []any{Object{by: nil}}},
			Object{d.Field: []any{Object{by: []any{}}}},
			Object{d.Field: []any{Object{by: 1.5}}},
			Object{d.Field: []any{Object{by: true}}},
			"null", "[]", "{",
		} {
			x.a.Do(http.MethodPut, path, bad).Want(http.StatusBadRequest)
		}
	})
	is("refused lists", first, second)
	put()
	is("an empty list")
	x.audits(0, "an empty list again", func() { put() })
}

// listed are, of the lists that an object shows, the keys in that one which has any of these objects.
func (x *trial) listed(o Object, by string, among []string) []string {
	for _, value := range o {
		if inner, ok := value.(map[string]any); ok {
			if keys := x.listed(inner, by, among); len(keys) > 0 {
				return keys
			}
		}
		items, _ := value.([]any)
		var keys []string
		for _, item := range items {
			if item, ok := item.(map[string]any); ok && item["href"] == nil && slices.Contains(among, Object(item).Text(by)) {
				keys = append(keys, Object(item).Text(by))
			}
		}
		if len(keys) > 0 {
			return keys
		}
	}
	return []string{}
}

// parts tries the parts of the collection's objects.
func (x *trial) parts() {
	for _, part := range x.Described.Parts {
		if part.Of == x.k.Path && (len(part.Only) == 0 || slices.Contains(part.Only, "read")) {
			x.part(part)
		}
	}
}

func (x *trial) part(d crud.DescribedPart) {
	o := x.make(x.a, nil)
	path := x.at(o) + "/" + d.Path
	read := x.a.Get(path).Want(http.StatusOK)
	before, tag := read.Object(), read.Header.Get("ETag")
	for _, key := range x.k.Keys {
		if other := x.a.Get(x.one(o, key) + "/" + d.Path).Want(http.StatusOK); other.Body != read.Body {
			x.Errorf("%s by %s is %s", path, key, other.Body)
		}
	}
	if shown := x.a.Get(x.at(o)).Object(); shown[d.Path] != nil && !shown.Same(d.Path, before) {
		x.Errorf("the object shows %v for %v", shown[d.Path], before)
	}
	x.audits(0, "the same "+d.Path, func() {
		for _, body := range []any{Object{}, before, Object{"no_such_attribute": 1}} {
			x.a.Do(http.MethodPut, path, body).Want(http.StatusNoContent).Empty()
		}
	})
	x.a.Do(http.MethodPut, path, Object{}, ifMatch(tag)).Want(http.StatusNoContent)
	x.a.Do(http.MethodPut, path, Object{}, ifMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	x.a.Get(path, resttest.Header("If-None-Match", tag)).Want(http.StatusNotModified)
	paths := map[string]any{path: before} // with what was read
	for i := range d.Schema.Properties {
		p := &d.Schema.Properties[i]
		if _, there := before[p.Name]; !there {
			x.Errorf("%s has no %s", path, p.Name)
		}
		x.badPart(path, p)
		if d.Named {
			named := path + "/" + p.Name
			paths[named] = before[p.Name]
			if got := x.a.Get(named).Want(http.StatusOK).Object(); !before.Same(p.Name, got) {
				x.Errorf("%s is %v, and %v of the whole", named, got, before[p.Name])
			}
			x.audits(0, "the same "+named, func() { x.a.Do(http.MethodPut, named, before[p.Name]).Want(http.StatusNoContent).Empty() })
		}
	}
	for path, read := range paths {
		for what, body := range badTexts {
			if got := x.a.Do(http.MethodPut, path, body); got.Status != http.StatusBadRequest {
				x.Errorf("%s %s: %d %s", path, what, got.Status, got.Body)
			}
		}
		x.b.Get(path).Want(http.StatusNotFound)
		x.b.Do(http.MethodPut, path, read).Want(http.StatusNotFound)
		nowhere := strings.Replace(path, x.at(o), x.all()+"/999999999", 1)
		x.a.Get(nowhere).Want(http.StatusNotFound)
		x.a.Do(http.MethodPut, nowhere, read).Want(http.StatusNotFound)
	}
	x.same("refused changes of "+d.Path, x.a.Get(path).Object(), before)
	x.changePart(d, path, before)
}

// badPart: a property of a part takes no value that its schema does not let through.
func (x *trial) badPart(path string, p *rest.Property) {
	x.Helper()
	for _, value := range wrong(p.Schema) {
		if p.Schema.Type == "object" && strings.HasPrefix(value, "{") {
			continue // it may have other attributes
		}
		if got := x.a.Do(http.MethodPut, path, `{"`+p.Name+`":`+value+`}`); got.Status != http.StatusBadRequest {
			x.Errorf("%s.%s = %.80s: %d %s", path, p.Name, value, got.Status, got.Body)
		}
	}
}

// changePart changes a part as a whole and, where that is so, by the names of its properties.
func (x *trial) changePart(d crud.DescribedPart, path string, before Object) {
	change := x.r.Parts[d.Path]
	if len(change) == 0 {
		x.Errorf("the suite has no change of %s", path)
	}
	is := func(what string, want Object) {
		x.Helper()
		after := x.a.Get(path).Want(http.StatusOK).Object()
		for name, value := range want {
			if !after.Same(name, value) {
				x.Errorf("%s: %s of %s is %v, want %v", what, name, path, after[name], value)
			}
		}
	}
	changed := maps.Clone(before)
	maps.Copy(changed, change)
	put := func(path string, body any) { x.a.Do(http.MethodPut, path, body).Want(http.StatusNoContent).Empty() }
	x.audits(1, "a change of "+d.Path, func() { put(path, change) })
	is("a change", changed)
	x.audits(0, "the same change of "+d.Path, func() { put(path, change) })
	put(path, Object{})
	if d.Whole {
		is("nothing for the whole", before)
		return
	}
	is("nothing", changed)
	if !d.Named {
		return
	}
	x.a.Get(path + "/nothing").Want(http.StatusNotFound)
	x.a.Do(http.MethodPut, path+"/nothing", before[d.Schema.Properties[0].Name]).Want(http.StatusNotFound)
	for name := range change {
		put(path+"/"+name, before[name])
	}
	is("by name", before)
}
