package caddymodule

import (
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/target"
)

// requirements returns what this configuration's gates would require of a request. The explanation of a decision uses the same
// routers as the decision itself.
func (a *App) requirements(method, path string) (authsvc.Requirement, error) {
	t, err := target.Parse(path)
	if err != nil {
		refusal := apierr.InvalidField("path", "path", "%s", err)
		refusal.Err = err
		return authsvc.Requirement{}, refusal
	}
	a.mu.Lock()
	routers := a.routers
	a.mu.Unlock()
	best := -1
	var found gate.Need
	for _, r := range routers {
		if need, ok := r.Route(method, &t); ok && len(r.Prefix()) > best {
			best, found = len(r.Prefix()), need
		}
	}
	if best < 0 {
		return authsvc.Requirement{}, apierr.New(apierr.NotFound, "No service is served at this path")
	}
	if err := gate.Check(method, &t, &found); err != nil {
		return authsvc.Requirement{}, err
	}
	need := authsvc.Requirement{Service: found.Service, Access: found.Access, Public: found.Public}
	if found.Match != nil && found.Match.Op != nil {
		need.Master = found.Match.Op.Master
	}
	return need, nil
}

// explains adds the routers of a gate that is being provisioned.
func (a *App) explains(routers []gate.Router) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.routers = append(a.routers, routers...)
}
