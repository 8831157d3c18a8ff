package confdsvc

import (
	"context"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Device is a telephone that a provisioning daemon sets up. There is no such daemon here, and so there are no devices: clients read that there are none.
type Device struct {
	ID         string  `json:"id" example:"6a36853232fe417b8c06104c7946ff5a" doc:"Its id."`
	TenantUUID string  `json:"tenant_uuid" format:"uuid"`
	Status     string  `json:"status" example:"configured" doc:"How far it is set up."`
	IP         *string `json:"ip" example:"192.0.2.10" doc:"Its address."`
	MAC        *string `json:"mac" example:"00:00:5e:00:53:01" doc:"Its hardware address."`
	Vendor     *string `json:"vendor" example:"Example" doc:"Who made it."`
	Model      *string `json:"model" example:"T1" doc:"Which it is."`
}

// Wizard says that the installation is set up: nothing else is there to be asked.
type Wizard struct {
	Configured   bool              `json:"configured" doc:"Whether it is set up."`
	Configurable bool              `json:"configurable" doc:"Whether it could be."`
	Status       map[string]string `json:"configurable_status" doc:"The services that this needs."`
}

func init() {
	resources = append(resources, declareDevices, declareWizard)
	docs["{device_id}"] = "The id of the device."
	tags["devices"], tags["wizard"] = "Telephones that are set up by a provisioning daemon: there is none here.", "Whether the installation is set up."
}

// declareDevices adds the operations on devices: of reads the answers where there are none, and of writes why.
func declareDevices(e *crud.Engine) {
	list, device := rest.ListOf(rest.SchemaOf[Device](), false), rest.SchemaOf[Device]()
	nothing := func(context.Context, *rest.Request) (rest.Reply, error) {
		return rest.Reply{}, apierr.New(apierr.NotFound, "Device was not found: there is no provisioning here")
	}
	never := func(context.Context, *rest.Request) (rest.Reply, error) {
		return rest.Reply{}, apierr.New(apierr.NotImplemented,
			"Devices are set up by a provisioning daemon, which is not part of this: set telephones up by their own pages")
	}
	asked := rest.ListSpec{Order: []string{"ip", "id", "mac", "sn", "plugin", "vendor", "model", "version", "description"}, Recurse: true}
	empty := func(_ context.Context, r *rest.Request) (rest.Reply, error) {
		_, err := r.List(asked)
		return rest.Reply{Body: rest.Listed([]Device{})}, err
	}
	noneOfLine := e.Reading(func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		if _, err := crud.Of[Line](e).NamedIn(ctx, c, r, scope); err != nil {
			return nil, err
		}
		return nil, apierr.New(apierr.NotFound, "LineDevice was not found: there is no provisioning here")
	})
	for _, is := range []struct {
		method, path, id, summary string
		reply                     *rest.Schema
		handle                    rest.Handler
	}{
		{"GET", "/devices", "list_devices", "List devices", list, empty},
		{"POST", "/devices", "create_device", "Create a device", nil, never},
		{"GET", "/devices/unallocated", "list_unallocated_devices", "List devices of no tenant", list, empty},
		{"PUT", "/devices/unallocated/{device_id}", "assign_unallocated_device_tenant", "Take a device into the tenant", nil, never},
		{"GET", "/devices/{device_id}", "get_device", "Read a device", device, nothing},
		{"PUT", "/devices/{device_id}", "update_device", "Change a device", nil, never},
		{"DELETE", "/devices/{device_id}", "delete_device", "Delete a device", nil, never},
		{"GET", "/devices/{device_id}/autoprov", "reset_device_autoprov", "Set a device up anew", nil, nothing},
		{"GET", "/devices/{device_id}/synchronize", "synchronize_device", "Let a device read its settings", nil, nothing},
		{"GET", "/devices/{device_id}/lines", "get_device_line_association", "List the telephones of a device", list, nothing},
		{"GET", "/lines/{line_id}/devices", "get_line_device", "Read the device of a telephone", device, noneOfLine},
		{"PUT", "/lines/{line_id}/devices/{device_id}", "associate_line_device", "Give a telephone a device", nil, never},
		{"DELETE", "/lines/{line_id}/devices/{device_id}", "dissociate_line_device", "Take the device of a telephone away", nil, never},
	} {
		action := map[string]string{"GET": "read", "POST": "create", "PUT": "update", "DELETE": "delete"}[is.method]
		op := rest.Operation{
			Method: is.method, Path: is.path, ID: is.id, Summary: is.summary, Reply: is.reply, Handle: is.handle,
			Access: rights.AccessOf("confd", is.path, action), Tag: "devices", Tenanted: true, Success: http.StatusOK,
		}
		switch {
		case is.method != http.MethodGet:
			op.Unimplemented, op.Statuses = true, []int{http.StatusNotImplemented}
		case is.reply != list:
			op.Statuses = []int{http.StatusNotFound}
		case strings.HasPrefix(is.id, "list_"):
			op.Query = asked.Parameters()
		}
		if is.reply == nil {
			op.Success = http.StatusNoContent
		}
		e.Add(op)
	}
}

// declareWizard adds what sets up an installation of the existing platform, and that everybody may ask: it is set up.
func declareWizard(e *crud.Engine) {
	configured := func(context.Context, *rest.Request) (rest.Reply, error) {
		return rest.Reply{}, apierr.New(apierr.Forbidden, "Wazo is already configured")
	}
	for _, op := range []rest.Operation{
		{
			Method: http.MethodGet, Path: "/wizard", ID: "get_wizard_status", Summary: "Whether the installation is set up", Reply: rest.SchemaOf[Wizard](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: Wizard{Configured: true, Configurable: true, Status: map[string]string{"wazo-auth": "ok", "wazo-provd": "ok"}}}, nil
			},
		},
		{Method: http.MethodPost, Path: "/wizard", ID: "pass_wizard", Summary: "Set the installation up, which is done", Unimplemented: true, Handle: configured},
		{
			Method: http.MethodGet, Path: "/wizard/discover", ID: "get_wizard_discover",
			Summary: "Ask for the machine's network, before it is set up", Handle: configured,
		},
	} {
		op.Public, op.Tag, op.Success = true, "wizard", http.StatusOK
		if op.Path != "/wizard" || op.Method == http.MethodPost {
			op.Statuses = []int{http.StatusForbidden}
		}
		e.Add(op)
	}
}
