package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// externalConfig are the settings that the shipped plugins know. Others may be stored beside them, for other plugins and daemons.
type externalConfig struct {
	ClientID              *string `json:"client_id" maxLength:"1024"`
	ClientSecret          *string `json:"client_secret" maxLength:"1024"`
	FCMAPIKey             *string `json:"fcm_api_key" maxLength:"4096"`
	FCMSenderID           *string `json:"fcm_sender_id" maxLength:"1024"`
	FCMServiceAccountInfo *string `json:"fcm_service_account_info" multiline:"true" maxLength:"16384" doc:"JSON, as text."`
	IOSAPNCertificate     *string `json:"ios_apn_certificate" multiline:"true" maxLength:"16384"`
	IOSAPNPrivate         any     `json:"ios_apn_private" doc:"The private key, or whether there is one."`
	UseSandbox            *bool   `json:"use_sandbox"`
}

func (h *Host) configOperations() []rest.Operation {
	operation := func(method, action, summary string, success int, handle rest.Handler) rest.Operation {
		op := rest.Operation{
			Method: method, Path: "/external/{auth_type}/config", Access: "auth.{auth_type}.external.config." + action,
			ID: action + "_external_config", Summary: summary, Success: success, Statuses: []int{http.StatusNotFound}, Tenanted: true, Handle: handle,
		}
		if method == http.MethodPost || method == http.MethodPut {
			op.Body, op.MaxBody = rest.SchemaOf[externalConfig](), maxBody
		}
		return op
	}
	read := operation(http.MethodGet, "read", "Read a tenant's configuration of an external service, secrets included", http.StatusOK, h.getConfig)
	read.Reply, read.Conditional = rest.SchemaOf[externalConfig](), true
	const who = "Everybody's credentials pass through the client that is configured, so it takes somebody who may act on all the tenant's users."
	create := operation(http.MethodPost, "create", "Configure an external service for a tenant", http.StatusCreated, h.createConfig)
	create.Description = who
	create.Reply = &rest.Schema{Type: "string", Doc: "Empty."}
	create.Statuses = append(create.Statuses, http.StatusConflict)
	update := operation(http.MethodPut, "update", "Change a tenant's configuration of an external service", http.StatusNoContent, h.updateConfig)
	update.Description = "Settings that are not sent stay as they are. " + who
	update.Statuses = append(update.Statuses, http.StatusPreconditionFailed)
	remove := operation(http.MethodDelete, "delete", "Remove a tenant's configuration of an external service", http.StatusNoContent, h.deleteConfig)
	remove.Description = "What is stored for the users stays, and cannot be renewed. " + who
	remove.Statuses = append(remove.Statuses, http.StatusPreconditionFailed)
	return []rest.Operation{read, create, update, remove}
}

// config returns a tenant's configuration of a type, or ErrNoConfig.
func (h *Host) config(ctx context.Context, tenantUUID, authType string) (json.RawMessage, error) {
	return h.storedConfig(ctx, h.db, tenantUUID, authType)
}

func (h *Host) storedConfig(ctx context.Context, c store.Conn, tenantUUID, authType string) (json.RawMessage, error) {
	blob, err := store.Get[[]byte](ctx, c, `SELECT sealed FROM auth_external_config WHERE tenant_uuid = $1 AND auth_type = $2`, tenantUUID, authType)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNoConfig
	}
	if err != nil {
		return nil, err
	}
	return h.unseal(blob, configRow(tenantUUID, authType))
}

// configType is how a type is written whose configuration is kept: that of a plugin, or of somebody else's.
var configType = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// configPlace is the tenant that the request acts in, and the type.
func (h *Host) configPlace(ctx context.Context, r *rest.Request) (tenantUUID, authType string, err error) {
	authType = r.Param("auth_type")
	if !configType.MatchString(authType) {
		return "", "", unknownType(authType)
	}
	tenantUUID, err = tenant.Of(ctx, h.db, r)
	return tenantUUID, authType, err
}

func noConfig(authType string) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-external-auth", Resource: authType, Details: map[string]any{"type": authType},
		Message: fmt.Sprintf("No config found for this external auth type: %q", authType),
	}
}

func (h *Host) getConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	tenantUUID, authType, err := h.configPlace(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	text, err := h.config(ctx, tenantUUID, authType)
	if errors.Is(err, ErrNoConfig) {
		return rest.Reply{}, noConfig(authType)
	}
	return rest.Reply{Body: text, Header: http.Header{"Cache-Control": {"no-store"}}}, err
}

// createConfig answers with the JSON text "", which existing clients parse. The type need not be a plugin's: other daemons read theirs here.
func (h *Host) createConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	tenantUUID, authType, err := h.configPlace(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	sent, err := sentConfig(r)
	if err != nil {
		return rest.Reply{}, err
	}
	blob, err := h.sealConfig(sent, tenantUUID, authType)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Body: ""}, h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := h.rights.MayConfigure(ctx, tx, r.Principal(), tenantUUID); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `INSERT INTO auth_external_config (tenant_uuid, auth_type, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			tenantUUID, authType, blob)
		if err != nil {
			return err
		}
		if n == 0 {
			return &apierr.Error{
				Kind: apierr.Conflict, ID: "conflict", Resource: authType, Details: map[string]any{"type": authType},
				Message: fmt.Sprintf("This external auth type has a configuration already: %q", authType),
			}
		}
		return auditConfig(ctx, tx, r, tenantUUID, authType, nil, sent)
	})
}

func auditConfig(ctx context.Context, tx store.Conn, r *rest.Request, tenantUUID, authType string, before, after map[string]any) error {
	c := audit.Change{Tenant: tenantUUID, Resource: "external/config", Object: authType}
	if before != nil {
		c.Before = shownConfig(before)
	}
	if after != nil {
		c.After = shownConfig(after)
	}
	return audit.Write(ctx, tx, r, c)
}

// shownConfig is a configuration without what may be a secret: nobody knows what a setting of another plugin is.
func shownConfig(config map[string]any) map[string]any {
	out := make(map[string]any, len(config))
	for name, value := range config {
		switch name {
		case "client_id", "fcm_sender_id", "use_sandbox":
			out[name] = value
		default:
			out[name] = "(secret)"
		}
	}
	return out
}

func (h *Host) updateConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	sent, err := sentConfig(r)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{}, h.changeConfig(ctx, r, func(ctx context.Context, tx store.Conn, tenantUUID, authType string, before map[string]any) error {
		after := maps.Clone(before)
		maps.Copy(after, sent)
		blob, err := h.sealConfig(after, tenantUUID, authType)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE auth_external_config SET sealed = $3 WHERE tenant_uuid = $1 AND auth_type = $2`, tenantUUID, authType, blob)
		if err != nil {
			return err
		}
		return auditConfig(ctx, tx, r, tenantUUID, authType, before, after)
	})
}

func (h *Host) deleteConfig(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return rest.Reply{}, h.changeConfig(ctx, r, func(ctx context.Context, tx store.Conn, tenantUUID, authType string, before map[string]any) error {
		if _, err := tx.Exec(ctx, `DELETE FROM auth_external_config WHERE tenant_uuid = $1 AND auth_type = $2`, tenantUUID, authType); err != nil {
			return err
		}
		return auditConfig(ctx, tx, r, tenantUUID, authType, before, nil)
	})
}

// changeConfig changes an existing configuration in one transaction, if it is still the one that the client means.
func (h *Host) changeConfig(ctx context.Context, r *rest.Request,
	change func(ctx context.Context, tx store.Conn, tenantUUID, authType string, before map[string]any) error,
) error {
	tenantUUID, authType, err := h.configPlace(ctx, r)
	if err != nil {
		return err
	}
	return h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := h.rights.MayConfigure(ctx, tx, r.Principal(), tenantUUID); err != nil {
			return err
		}
		text, err := h.storedConfig(ctx, tx, tenantUUID, authType)
		if errors.Is(err, ErrNoConfig) {
			return noConfig(authType)
		}
		if err != nil {
			return err
		}
		if err := rest.CheckIfMatch(r.HTTP.Header, text); err != nil {
			return err
		}
		config := map[string]any{}
		if err := decodeStored(text, &config); err != nil {
			return err
		}
		return change(ctx, tx, tenantUUID, authType, config)
	})
}

// free is the schema of settings that nobody has said anything about. A private key has several lines.
var free = &rest.Schema{Type: "object", Values: &rest.Schema{Nullable: true, Multiline: true}}

func sentConfig(r *rest.Request) (map[string]any, error) {
	sent, err := parseObject(r)
	if err != nil {
		return nil, err
	}
	for _, schema := range []*rest.Schema{r.Op().Body, free} {
		if fields := schema.Validate("", sent); len(fields) > 0 {
			return nil, &apierr.Error{Kind: apierr.Invalid, Fields: fields}
		}
	}
	return sent, nil
}

func (h *Host) sealConfig(config map[string]any, tenantUUID, authType string) ([]byte, error) {
	text, err := rest.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing an external configuration: %w", err)
	}
	return h.seal(text, configRow(tenantUUID, authType))
}
