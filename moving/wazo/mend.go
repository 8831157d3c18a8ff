package wazo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// The schemas of what is no attribute of an object by itself, by which our services check it.
var (
	destinationSchema = rest.SchemaOf[confdsvc.Destination]()
	keySchema         = rest.SchemaOf[confdsvc.FuncKey]()
	periodSchema      = rest.SchemaOf[confdsvc.SchedulePeriod]()
	choiceSchema      = rest.SchemaOf[confdsvc.IVRChoice]()
	emailSchema       = &rest.Schema{Type: "string", Format: "email"}
	callerIDSchema    = rest.SchemaOf[confdsvc.User]().Property("caller_id").Schema
)

// accepted returns why a schema refuses a value, as a leaveError. What is accepted is read into targets.
func accepted(s *rest.Schema, value any, targets ...any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return leaveError("it is no value that can be written")
	}
	parsed, err := rest.ParseJSON(text)
	if err != nil {
		return leaveError(err.Error())
	}
	if faults := s.Validate("", parsed); len(faults) > 0 {
		return leaveError(faults[0].Name + ": " + faults[0].Message)
	}
	for _, target := range targets {
		if err := json.Unmarshal(text, target); err != nil {
			return leaveError(err.Error())
		}
	}
	return nil
}

// mend makes what was compiled such as our services could have written it, and notes what that has changed.
func mend(ctx context.Context, db store.DB) error {
	if err := db.InTx(ctx, dropKeys); err != nil {
		return fmt.Errorf("checking function keys: %w", err)
	}
	var all []crud.Mended
	seen, more := map[crud.Mended]int{}, map[crud.Mended]int64{} // of many that are alike, most are only counted
	tell := func(m crud.Mended) error {
		like := crud.Mended{Table: m.Table, Attribute: m.Attribute, Done: m.Done, Deleted: m.Deleted}
		if seen[like]++; seen[like] > toldOf {
			if len(more) < toldOf {
				like.Fault = m.Fault
			}
			more[like]++
			return nil
		}
		all = append(all, m)
		return nil
	}
	if err := authsvc.Mend(ctx, db, tell); err != nil {
		return fmt.Errorf("checking what accounts are made of: %w", err)
	}
	if err := confdsvc.Mend(ctx, db, tell); err != nil {
		return fmt.Errorf("checking what telephony is made of: %w", err)
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		for _, m := range all {
			if err := tellMended(ctx, tx, m, 1); err != nil {
				return err
			}
		}
		for m, n := range more {
			if err := tellMended(ctx, tx, m, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// tellMended notes what has become of an object, or of so many.
func tellMended(ctx context.Context, tx store.Conn, m crud.Mended, n int64) error {
	reason := m.Fault + ": " + m.Done
	if m.Attribute != "" {
		reason = m.Attribute + ": " + reason
	}
	where, source := "w_mended", m.Table
	if m.Deleted {
		where, source = "w_left", sourceOf(m.Table)
	}
	_, err := tx.Exec(ctx, "INSERT INTO "+where+" (source, tenant, object, reason, n) VALUES ($1, $2, $3, $4, $5)", source, m.Tenant, m.Object, reason, n)
	return err
}

// dropKeys leaves out the function keys that our service refuses.
func dropKeys(ctx context.Context, tx store.Conn) error {
	keys, err := store.Select[struct {
		ID     int64   `db:"id"`
		Tenant string  `db:"tenant"`
		Object string  `db:"object"`
		Label  *string `db:"label"`
		Type   string  `db:"type"`
		Keys   string  `db:"keys"`
	}](ctx, tx, `SELECT k.id, t.tenant_uuid AS tenant, coalesce('user ' || t.user_id, t.name, '') || ', key ' || k.place AS object, k.label, k.type, k.keys
		FROM confd_func_key k JOIN confd_func_key_template t ON t.id = k.template_id ORDER BY k.id`)
	if err != nil {
		return err
	}
	for _, k := range keys {
		does := map[string]any{}
		if err := json.Unmarshal([]byte(k.Keys), &does); err != nil {
			return err
		}
		does["type"] = k.Type
		fault := accepted(keySchema, map[string]any{"label": k.Label, "destination": does})
		if fault == nil {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO w_left (source, tenant, object, reason) VALUES ('func_key_mapping', $1, $2, $3)`,
			k.Tenant, k.Object, fault.Error()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM confd_func_key WHERE id = $1`, k.ID); err != nil {
			return err
		}
	}
	return nil
}
