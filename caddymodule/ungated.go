package caddymodule

import (
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// checkGated refuses a service of ours in a route where no gate comes before it. It is called while the service is provisioned,
// so that no such configuration can be loaded, validated or run. It looks at names and places, not at matchers: whether the gate
// really lets a request through to the service is known only when the request comes (see gated.ServeHTTP).
//
// Caddy provisions routes in order, and drops the raw form of a route's handlers once all of them are provisioned. So the service
// is in the first route of a list that still has its raw form, and the routes before it are complete.
func checkGated(ctx caddy.Context, service string) error {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return nil // not in a server's routes
	}
	modules := ctx.Modules() // the last one is the service itself
	around := enclosing(modules[:max(0, len(modules)-1)])
	if around == nil {
		return nil // in a handler that is not known here
	}
	lists := []caddyhttp.RouteList{server.Routes}
	if loading(server.Routes) < 0 && server.Errors != nil {
		lists[0] = server.Errors.Routes
	}
	if loading(lists[0]) < 0 {
		return checkNamed(server, around, service)
	}
	for _, sub := range around {
		lists = append(lists, sub.Routes)
	}
	if gateOnTheWay(server, lists, service) {
		return nil
	}
	return ungated(service)
}

func ungated(service string) error {
	return fmt.Errorf("%s has no ringfence_gate before it: put ringfence_gate into the same route", service)
}

// enclosing returns the subroutes around a handler, nil if other handlers are around it too.
func enclosing(modules []caddy.Module) []*caddyhttp.Subroute {
	subroutes := []*caddyhttp.Subroute{}
	for _, m := range modules {
		switch m := m.(type) {
		case *caddyhttp.App:
		case *caddyhttp.Subroute:
			subroutes = append(subroutes, m)
		default:
			return nil
		}
	}
	return subroutes
}

// loading returns the index of the route whose handlers are being provisioned, negative if there is none.
func loading(list caddyhttp.RouteList) int {
	for i := range list {
		if len(list[i].HandlersRaw) > 0 {
			return i
		}
	}
	return -1
}

// gateOnTheWay reports whether a gate comes before the service in one of the lists, each of which is in a route of the one
// before.
func gateOnTheWay(server *caddyhttp.Server, lists []caddyhttp.RouteList, service string) bool {
	var met []caddyhttp.MatcherSets // by a request that gets so far
	for i, list := range lists {
		at := loading(list)
		if at < 0 {
			return false
		}
		met = append(met, list[at].MatcherSets)
		for j := range list[:at] {
			// A request takes only one route of a group.
			if exclusive := list[j].Group != "" && list[j].Group == list[at].Group; !exclusive && hasGate(server, &list[j], met) {
				return true
			}
		}
		name := "subroute"
		if i == len(lists)-1 {
			name = service
		}
		if rawGateBefore(list[at].HandlersRaw, name) {
			return true
		}
	}
	return false
}

// hasGate reports whether requests that satisfy all these matchers pass a gate of our own services in the route.
func hasGate(server *caddyhttp.Server, route *caddyhttp.Route, met []caddyhttp.MatcherSets) bool {
	if !slices.ContainsFunc(met, func(m caddyhttp.MatcherSets) bool { return covers(route.MatcherSets, m) }) {
		return false
	}
	return gateAmong(server, route.Handlers, met)
}

func gateAmong(server *caddyhttp.Server, handlers []caddyhttp.MiddlewareHandler, met []caddyhttp.MatcherSets) bool {
	for _, h := range handlers {
		switch h := h.(type) {
		case *Gate:
			if h.Service == "" {
				return true
			}
		case *caddyhttp.Subroute:
			for i := range h.Routes {
				if hasGate(server, &h.Routes[i], met) {
					return true
				}
			}
		case *caddyhttp.Invoke:
			if route := server.NamedRoutes[h.Name]; route != nil && (hasGate(server, route, met) || rawGate(route.HandlersRaw...)) {
				return true
			}
		}
	}
	return false
}

// covers reports whether all requests that satisfy the matchers of inner satisfy those of outer, as far as paths tell.
func covers(outer, inner caddyhttp.MatcherSets) bool {
	if len(outer) == 0 || reflect.DeepEqual(outer, inner) {
		return true
	}
	var wide []string
	for _, set := range outer {
		if patterns := pathsOf(set); len(set) == 1 {
			wide = append(wide, patterns...)
		}
	}
	covered := func(pattern string) bool {
		return slices.ContainsFunc(wide, func(w string) bool {
			prefix, open := strings.CutSuffix(w, "*")
			return w == pattern || open && !strings.Contains(prefix, "*") && strings.HasPrefix(pattern, prefix)
		})
	}
	for _, set := range inner {
		patterns := pathsOf(set)
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return !covered(p) }) {
			return false
		}
	}
	return len(inner) > 0
}

// pathsOf returns the patterns of the path matchers in the set.
func pathsOf(set caddyhttp.MatcherSet) []string {
	for _, m := range set {
		if paths, ok := m.(*caddyhttp.MatchPath); ok {
			return *paths
		}
	}
	return nil
}

// rawGateBefore reports whether a gate comes before a handler of this name within one route, in its raw form. Of several handlers
// with the name the last one counts, since it is not known which one is being provisioned.
func rawGateBefore(handlers []json.RawMessage, name string) bool {
	last := 0
	for i, raw := range handlers {
		var h struct {
			Handler string `json:"handler"`
		}
		if json.Unmarshal(raw, &h) == nil && h.Handler == name {
			last = i
		}
	}
	return rawGate(handlers[:last]...)
}

// rawGate reports whether a gate of our own services is among handlers in their raw form, or below them.
func rawGate(handlers ...json.RawMessage) bool {
	return rawSearch(handlers, func(h map[string]any) bool {
		return h["handler"] == "ringfence_gate" && (h["service"] == nil || h["service"] == "")
	})
}

// rawHas reports whether a handler of this name is among handlers in their raw form, or below them.
func rawHas(handlers []json.RawMessage, name string) bool {
	return rawSearch(handlers, func(h map[string]any) bool { return h["handler"] == name })
}

func rawSearch(handlers []json.RawMessage, found func(map[string]any) bool) bool {
	for _, raw := range handlers {
		var tree any
		if json.Unmarshal(raw, &tree) == nil && search(tree, found) {
			return true
		}
	}
	return false
}

func search(tree any, found func(map[string]any) bool) bool {
	switch tree := tree.(type) {
	case []any:
		for _, each := range tree {
			if search(each, found) {
				return true
			}
		}
	case map[string]any:
		if found(tree) {
			return true
		}
		for _, each := range tree {
			if search(each, found) {
				return true
			}
		}
	}
	return false
}

// checkOpen refuses an open service on a server that other machines can reach.
func checkOpen(ctx caddy.Context, service string) error {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return nil
	}
	for _, listen := range server.Listen {
		at, err := caddy.ParseNetworkAddress(listen)
		if err != nil {
			return fmt.Errorf("reading the server's address %q: %w", listen, err)
		}
		if ip := net.ParseIP(at.Host); !at.IsUnixNetwork() && at.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return fmt.Errorf("%s open has no ringfence_gate, so it may be served on a loopback address alone, not on %s: bind it to 127.0.0.1 and [::1]", service, listen)
		}
	}
	return nil
}

// checkNamed is checkGated for a service in a named route, which Caddy provisions after all others: the gate must be in the named
// route itself, or before each place that invokes it.
func checkNamed(server *caddyhttp.Server, around []*caddyhttp.Subroute, service string) error {
	var lists []caddyhttp.RouteList
	for _, sub := range around {
		lists = append(lists, sub.Routes)
	}
	if gateOnTheWay(server, lists, service) {
		return nil
	}
	for name, route := range server.NamedRoutes {
		// Several named routes may be incomplete: those with the service and without a gate matter.
		if route == nil || !rawHas(route.HandlersRaw, service) || rawGate(route.HandlersRaw...) {
			continue
		}
		if in := (invoked{server: server, name: name}); in.ungated(server.Routes, false) {
			return ungated(service)
		}
	}
	return nil
}

// invoked searches for the places that invoke a named route.
type invoked struct {
	server *caddyhttp.Server
	name   string
}

func (in invoked) ungated(list caddyhttp.RouteList, gate bool) bool {
	for i := range list {
		here := gate
		for _, h := range list[i].Handlers {
			switch h := h.(type) {
			case *caddyhttp.Invoke:
				if h.Name == in.name && !here {
					return true
				}
			case *caddyhttp.Subroute:
				if in.ungated(h.Routes, here) {
					return true
				}
			}
			here = here || gateAmong(in.server, []caddyhttp.MiddlewareHandler{h}, []caddyhttp.MatcherSets{nil})
		}
		if list[i].Group == "" && len(list[i].MatcherSets) == 0 {
			gate = here
		}
	}
	return false
}
