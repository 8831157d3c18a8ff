package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// externalConfig is a tenant's configuration of a type. The type need not be a plugin's: other daemons read their settings here.
type externalConfig struct {
	TenantUUID string `db:"tenant_uuid" json:"-"`
	Type       string `db:"auth_type" json:"-"`
	Sealed     []byte `db:"sealed" json:"-"`

	text json.RawMessage // all settings, each as it was sent; stored sealed

	// These are the settings of the shipped plugins, for the definition. Clients may send others too, for other plugins and
	// daemons.

	ClientID              *string `json:"client_id" maxLength:"1024"`
	ClientSecret          *string `json:"client_secret" maxLength:"1024"`
	FCMAPIKey             *string `json:"fcm_api_key" maxLength:"4096" doc:"The key of Firebase Cloud Messaging." example:"correct-horse"`
	FCMSenderID           *string `json:"fcm_sender_id" maxLength:"1024"`
	FCMServiceAccountInfo *string `json:"fcm_service_account_info" multiline:"true" maxLength:"16384" doc:"JSON, as text." example:"{}"`
	IOSAPNCertificate     *string `json:"ios_apn_certificate" multiline:"true" maxLength:"16384" doc:"The certificate for Apple's push service, in PEM."`
	IOSAPNPrivate         pushKey `json:"ios_apn_private" doc:"The private key, or whether there is one."`
	UseSandbox            *bool   `json:"use_sandbox" doc:"Whether Apple's push service for tests is used."`
}

// pushKey is the private key of Apple's push service, or whether there is one.
type pushKey struct{ json.RawMessage }

// JSONSchema returns the schema of a text, true, false or null.
func (pushKey) JSONSchema() *rest.Schema {
	return &rest.Schema{Nullable: true, Multiline: true, Check: func(value any) []apierr.Field {
		switch value.(type) {
		case nil, string, bool:
			return nil
		}
		return []apierr.Field{{Constraint: "type", Value: "string", Message: "Must be a string, or true or false"}}
	}}
}

// free is the schema of settings that nobody has described. A private key has several lines.
var free = &rest.Schema{Type: "object", Values: &rest.Schema{Nullable: true, Multiline: true}}

// sentConfig is the schema of a client's body: the known settings, and any others.
var sentConfig = func() *rest.Schema {
	s := *rest.SchemaOf[externalConfig]()
	s.Open, s.Check = true, func(value any) []apierr.Field { return free.Validate("", value) }
	return &s
}()

// MarshalJSON returns all settings.
func (c *externalConfig) MarshalJSON() ([]byte, error) { return c.text, nil }

func (h *shared) declareConfigs(e *crud.Engine) {
	h.configs = crud.Document[externalConfig]{
		Resource: crud.Resource[externalConfig]{
			Path: "external/{auth_type}/config", Singular: "external_config", Table: "auth_external_config",
			Load: h.openConfigs, Prepare: h.prepareConfig, Describe: describeConfig,
		},
		Allow: func(ctx context.Context, tx store.Conn, change *crud.Change[externalConfig]) error {
			return h.rights.MayConfigure(ctx, tx, change.Request.Principal(), change.Tenant)
		},
		Audited: auditedConfig,
	}.On(e)
}

func describeConfig(action string, op *rest.Operation) {
	const who = "Everybody's credentials pass through the client that is configured, so it takes somebody who may act on all the tenant's users."
	op.Access = "auth.{auth_type}.external.config." + action
	op.Statuses, op.Tagged = append(op.Statuses, http.StatusNotImplemented), false
	handle, body, header := op.Handle, any(nil), http.Header(nil)
	switch action {
	case "read":
		op.Summary, op.Reply = "Read a tenant's configuration of an external service, secrets included", sentConfig
		header = http.Header{"Cache-Control": {"no-store"}}
	case "create":
		op.Summary, op.Description = "Configure an external service for a tenant", who
		op.Body, op.MaxBody, op.Success, op.Reply = sentConfig, maxBody, http.StatusCreated, &rest.Schema{Type: "string", Doc: "Empty."}
		op.Statuses = append(op.Statuses, http.StatusNotFound)
		body = "" // existing clients parse it
	case "update":
		op.Summary, op.Description = "Change a tenant's configuration of an external service", "Settings that are not sent stay as they are. "+who
		op.Body, op.MaxBody, op.Success, op.Reply = sentConfig, maxBody, http.StatusNoContent, nil
	case "delete":
		op.Summary = "Remove a tenant's configuration of an external service"
		op.Description = "What is stored for the users stays, and cannot be renewed. " + who
	}
	op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		authType := r.Param("auth_type")
		if !configType.MatchString(authType) {
			return rest.Reply{}, unknownType(authType)
		}
		reply, err := handle(ctx, r)
		if err != nil {
			return rest.Reply{}, configRefusal(authType, err)
		}
		if action != "read" {
			reply.Body = body
		}
		reply.Header = header
		return reply, nil
	}
}

// configType is the form of a type with a configuration: a plugin's, or somebody else's.
var configType = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// configRefusal says in the form that existing clients know that there is no configuration, or already one.
func configRefusal(authType string, err error) error {
	e := apierr.As(err)
	switch {
	case e != nil && e.Kind == apierr.NotFound:
		return noConfig(authType)
	case e != nil && e.Kind == apierr.Conflict:
		return &apierr.Error{
			Kind: apierr.Conflict, ID: "conflict", Resource: authType, Details: map[string]any{"type": authType},
			Message: fmt.Sprintf("This external auth type has a configuration already: %q", authType), Err: err,
		}
	}
	return err
}

func noConfig(authType string) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-external-auth", Resource: authType, Details: map[string]any{"type": authType},
		Message: fmt.Sprintf("No config found for this external auth type: %q", authType),
	}
}

// config returns a tenant's configuration of a type, or ErrNoConfig.
func (h *Host) config(ctx context.Context, tenantUUID, authType string) (json.RawMessage, error) {
	c, err := h.configs.Of(ctx, h.db, tenantUUID, authType)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, ErrNoConfig
	}
	return c.text, nil
}

func (h *shared) openConfigs(_ context.Context, _ store.Conn, configs []*externalConfig) (err error) {
	for _, c := range configs {
		if c.text, err = h.unseal(c.Sealed, configRow(c.TenantUUID, c.Type)); err != nil {
			return err
		}
	}
	return nil
}

// prepareConfig merges the settings that were sent into the stored ones, and seals them.
func (h *shared) prepareConfig(_ context.Context, _ store.Conn, change *crud.Change[externalConfig]) error {
	settings := map[string]any{}
	if change.Old != nil {
		kept, err := change.Old.settings()
		if err != nil {
			return err
		}
		for name, value := range kept {
			settings[name] = value
		}
	}
	maps.Copy(settings, change.Sent.Values())
	text, err := rest.Marshal(settings)
	if err != nil {
		return fmt.Errorf("writing an external configuration: %w", err)
	}
	c := change.New
	if bytes.Equal(text, c.text) {
		return nil // unchanged, so it is not sealed again
	}
	c.text = text
	c.Sealed, err = h.seal(text, configRow(c.TenantUUID, c.Type))
	return err
}

// settings returns the configuration's settings, each as it was sent.
func (c *externalConfig) settings() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	return out, decodeStored(c.text, &out)
}

// auditedConfig returns a configuration without possible secrets: the settings of other plugins are unknown.
func auditedConfig(c *externalConfig) map[string]any {
	settings, err := c.settings()
	if err != nil {
		return map[string]any{}
	}
	out := make(map[string]any, len(settings))
	for name, value := range settings {
		switch name {
		case "client_id", "fcm_sender_id", "use_sandbox":
			out[name] = value
		default:
			out[name] = "(secret)"
		}
	}
	return out
}
