package wazo

import (
	"context"

	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
)

// secrets are what is kept sealed: a query of the rows, each with the context to which what is sealed is bound, the key by which update finds it,
// and what it is. These contexts are those of authsvc.
var secrets = []struct{ query, update string }{
	{
		`SELECT 'auth_ldap_config.' || tenant_uuid AS context, tenant_uuid AS key, '' AS part, bind_password AS plain FROM w_auth_ldap_config
			WHERE bind_password IS NOT NULL AND bind_password <> ''`,
		`UPDATE auth_ldap_config SET bind_password = $1 WHERE tenant_uuid = $2 AND $3 = ''`,
	},
	{
		`SELECT 'auth_external_config.' || c.tenant_uuid || '.' || t.name AS context, c.tenant_uuid AS key, t.name AS part, c.data AS plain
			FROM w_auth_external_auth_config c JOIN w_auth_external_auth_type t ON t.uuid = c.type_uuid`,
		`UPDATE auth_external_config SET sealed = $1 WHERE tenant_uuid = $2 AND auth_type = $3`,
	},
	{
		`SELECT 'auth_external.' || c.user_uuid || '.' || t.name AS context, c.user_uuid AS key, t.name AS part, c.data AS plain
			FROM w_auth_user_external_auth c JOIN w_auth_external_auth_type t ON t.uuid = c.external_auth_type_uuid`,
		`UPDATE auth_external SET sealed = $1 WHERE user_uuid = $2 AND auth_type = $3`,
	},
	{
		`SELECT 'auth_refresh_token.' || id AS context, id AS key, '' AS part, uuid AS plain FROM w_auth_refresh_token`,
		`UPDATE auth_refresh_token SET sealed = $1 WHERE uuid = $2 AND $3 = ''`,
	},
}

// seal keeps secrets as authsvc does.
func seal(ctx context.Context, tx store.Conn, box *sealed.Box) error {
	for _, s := range secrets {
		rows, err := store.Select[struct {
			Context string `db:"context"`
			Key     string `db:"key"`
			Part    string `db:"part"`
			Plain   string `db:"plain"`
		}](ctx, tx, s.query)
		if err != nil {
			return err
		}
		for _, row := range rows {
			blob, err := box.SealSame([]byte(row.Plain), []byte(row.Context))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, s.update, blob, row.Key, row.Part); err != nil {
				return err
			}
		}
	}
	return nil
}
