package crudtest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
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

	l           *crud.DeclaredRelation
	left, right *trial
	rules       Link
}

// links tries the links of which the collection is the left side.
func (x *trial) links() {
	for _, l := range x.Described.Links {
		if l.Left.Entity != x.k {
			continue
		}
		x := &linkTrial{trial: x, l: l, left: x, right: x.of(l.Right.Path), rules: x.r.Links[l.Path]}
		if x.may("put") {
			x.makeAndEnd()
			x.cardinality()
			x.linkedTenants()
			x.linkedAcross()
			x.givesRights()
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
	x.a.Do(http.MethodDelete, x.ending(left, right), nil).Want(http.StatusNoContent).Empty()
}

// ending is the path of the operation that ends a link.
func (x *linkTrial) ending(left, right Object) string {
	if !x.may("delete") {
		return x.below(left)
	}
	return x.pair(left, right)
}

func (x *linkTrial) makeAndEnd() {
	left, right := x.objects(x.a)
	leftPath, rightPath := x.left.at(left), x.right.at(right)
	leftRead := x.a.Get(leftPath)
	leftBefore, tagBefore, rightBefore := leftRead.Body, leftRead.Header.Get("ETag"), x.a.Get(rightPath).Body
	x.audits(1, "linking "+x.l.Path, func() { x.link(left, right) })
	x.audits(0, "linking "+x.l.Path+" again", func() { x.link(left, right) })
	for _, key := range x.left.called(left) { // by whichever keys
		for _, other := range x.right.called(right) {
			x.audits(0, "linking "+x.l.Path+" by other keys", func() {
				x.a.Do(http.MethodPut, x.left.all()+"/"+key+"/"+x.l.Path+"/"+other, nil).Want(http.StatusNoContent)
			})
		}
	}
	if shown := x.a.Get(leftPath).Body != leftBefore; shown != x.l.Left.Shown {
		x.Errorf("%s: the left side shows it: %t", x.l.Path, shown)
	}
	if x.l.Right.Shown && x.a.Get(rightPath).Body == rightBefore {
		x.Errorf("%s: the right side does not show it", x.l.Path)
	}
	if x.may("list") {
		if l := x.a.Get(x.below(left)).List(); l.Total != 1 || x.right.at(l.Items[0]) != rightPath {
			x.Errorf("%s: the list is %v", x.l.Path, l.Items)
		}
	}
	if x.may("list_back") {
		if l := x.a.Get(rightPath + "/" + x.l.Left.Path).List(); l.Total != 1 || x.left.at(l.Items[0]) != leftPath {
			x.Errorf("%s: the list back is %v", x.l.Path, l.Items)
		}
	}
	if x.may("one") {
		if got, want := x.a.Get(leftPath+"/"+x.l.Right.Singular).Want(http.StatusOK).Body, x.a.Get(rightPath).Body; got != want {
			x.Errorf("%s: the one is %s, want %s", x.l.Path, got, want)
		}
	}
	x.audits(0, "changing links of an object that has changed since it was read", func() {
		if x.l.Left.Shown {
			x.a.Do(http.MethodPut, x.pair(left, right), nil, resttest.IfMatch(tagBefore)).Want(http.StatusPreconditionFailed)
		}
		x.a.Do(http.MethodPut, x.pair(left, right), nil, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
		x.a.Do(http.MethodDelete, x.ending(left, right), nil, resttest.IfMatch(`"x"`)).Want(http.StatusPreconditionFailed)
	})
	x.a.Do(http.MethodPut, x.pair(left, right), nil, resttest.IfMatch(x.a.Get(leftPath).Header.Get("ETag"))).Want(http.StatusNoContent)
	x.audits(1, "ending "+x.l.Path, func() { x.end(left, right) })
	x.audits(0, "ending "+x.l.Path+" again", func() { x.end(left, right) })
	if after := x.a.Get(leftPath).Body; after != leftBefore {
		x.Errorf("%s: the left side was %s, and is %s", x.l.Path, leftBefore, after)
	}
	if after := x.a.Get(rightPath).Body; after != rightBefore {
		x.Errorf("%s: the right side was %s, and is %s", x.l.Path, rightBefore, after)
	}
	if x.may("one") {
		x.a.Get(leftPath + "/" + x.l.Right.Singular).Want(http.StatusNotFound)
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
	}{{x.l.Left.Has, left, otherRight}, {x.l.Right.Has, otherLeft, right}} {
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
	unknown := x.unknownKey(x.right.k.Keys[0], foreign.Text(x.right.k.Keys[0]))
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
	if !x.l.GivesRights {
		x.top.Do(http.MethodPut, x.pair(left, foreign), nil).Want(http.StatusBadRequest).Says("different tenants")
		_, below := x.objects(x.a1)
		x.a.Do(http.MethodPut, x.pair(left, below), nil).Want(http.StatusBadRequest).Says("different tenants")
	}
	x.link(left, right)
	for operation, path := range map[string]string{
		"list": x.below(left), "list_back": x.right.at(right) + "/" + x.l.Left.Path, "one": x.left.at(left) + "/" + x.l.Right.Singular,
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
	if !x.l.GivesRights {
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
		lists := map[string][2]string{"list": {x.left.at(left), x.l.Path}, "list_back": {x.right.at(right), x.l.Left.Path}}
		for operation, path := range lists {
			if !x.may(operation) {
				continue
			}
			if l := x.a.Get(path[0] + "/" + path[1]).List(); l.Total != 1 {
				x.Errorf("%s across tenants: %s shows %v", x.l.Path, operation, l.Items)
			}
			if x.a1.Get(path[0]).Status == http.StatusNotFound {
				x.a1.Get(path[0] + "/" + path[1]).Want(http.StatusNotFound)
			} else if l := x.a1.Get(path[0] + "/" + path[1]).List(); l.Total != 0 || len(l.Items) != 0 {
				x.Errorf("%s across tenants: %s shows the tenant below %v", x.l.Path, operation, l.Items)
			}
		}
		x.audits(1, "ending "+x.l.Path+" across tenants", func() { x.end(left, right) })
	}
	if linked == 0 {
		x.Errorf("%s: nothing is linked across tenants", x.l.Path)
	}
}

// givesRights: a caller who may not make or end a link that gives rights gets the same refusal whether there is one or not, and changes nothing.
func (x *linkTrial) givesRights() {
	if !x.l.GivesRights {
		return
	}
	if x.rules.Refused == "" {
		x.Errorf("the suite has nobody whom the link %s refuses, which gives rights", x.l.Path)
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

// denied: a caller who is denied an operation by one key of an object is refused it by every other key.
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
			path = x.left.all() + "/" + parameters[0] + "/" + x.l.Right.Singular
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
	for side, deletion := range map[string]crud.Deletion{"left": x.l.Left.Deleted, "right": x.l.Right.Deleted} {
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
	if x.l.Left.Has == crud.AtMostOne {
		total := x.a.Get(x.right.all()).List().Total
		x.a.Do(http.MethodPost, x.below(left), x.right.minimal(x.a, nil)).Want(http.StatusBadRequest).Says("is associated with")
		if now := x.a.Get(x.right.all()).List().Total; now != total {
			x.Errorf("%s: a refused create left an object", x.l.Path)
		}
	}
}
