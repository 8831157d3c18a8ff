package wazo

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
)

// option is an option of a section of one of Asterisk's files.
type option struct {
	Source  string  `db:"source"`
	ID      int64   `db:"id"`
	Section string  `db:"section"`
	Key     string  `db:"key"`
	Value   *string `db:"value"`
}

// refuse leaves out the options that our services refuse: Asterisk would not load the section, or would run something by them.
func refuse(ctx context.Context, tx store.Conn) error {
	sip, err := store.Select[option](ctx, tx, `SELECT 'endpoint_sip_section_option' AS source, o.rowid AS id, s.type AS section,
			coalesce(o.key, '') AS key, o.value
		FROM w_endpoint_sip_section_option o JOIN w_endpoint_sip_section s ON s.uuid = o.endpoint_sip_section_uuid`)
	if err != nil {
		return err
	}
	for _, o := range sip {
		if fault := confdsvc.OptionFault(o.Section+"_section_options", o.Key, text(o.Value)); fault != "" {
			if err := o.leave(ctx, tx, fault); err != nil {
				return err
			}
		}
	}
	if _, err := tx.Exec(ctx, `CREATE TEMP TABLE w_section (path text, key text, value text, PRIMARY KEY (path, key))`); err != nil {
		return err
	}
	others, err := store.Select[option](ctx, tx, `SELECT 'asterisk_file_variable' AS source, v.rowid AS id,
			replace(f.name, '.conf', '') || '/' || s.name AS section, coalesce(v.key, '') AS key, v.value
		FROM w_asterisk_file_variable v JOIN w_asterisk_file_section s ON s.id = v.asterisk_file_section_id JOIN w_asterisk_file f ON f.id = s.asterisk_file_id
		UNION ALL SELECT 'features', rowid, 'features/' || category, coalesce(var_name, ''), var_val FROM w_features WHERE commented = '0' AND var_val IS NOT NULL
		UNION ALL SELECT 'staticiax', rowid, 'iax/general', coalesce(var_name, ''), var_val FROM w_staticiax
			WHERE commented = '0' AND var_val IS NOT NULL AND var_metric = '0' AND var_name <> 'register'
		UNION ALL SELECT 'staticqueue', rowid, 'queues/' || category, coalesce(var_name, ''), var_val FROM w_staticqueue WHERE commented = '0' AND var_val IS NOT NULL
		ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	for _, o := range others {
		if err := o.keep(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps an option of a section below asterisk/, if that is here and takes it.
func (o option) keep(ctx context.Context, tx store.Conn) error {
	value := text(o.Value)
	if o.Section == "features/applicationmap" { // it names keys, and what they start, which has one meaning here
		value, _, _ = strings.Cut(value, ",")
	}
	if fault := confdsvc.OptionFault(o.Section, o.Key, value); fault != "" {
		return o.leave(ctx, tx, fault)
	}
	_, err := tx.Exec(ctx, `INSERT INTO w_section (path, key, value) VALUES ($1, $2, $3)
		ON CONFLICT (path, key) DO UPDATE SET value = excluded.value`, o.Section, o.Key, value)
	return err
}

// leave leaves the option out. Its value may be secret, and is not told.
func (o option) leave(ctx context.Context, tx store.Conn, fault string) error {
	_, err := tx.Exec(ctx, `INSERT INTO w_left (source, object, reason) VALUES ($1, $2, $3)`, o.Source, o.Section+": "+o.Key, "the option "+fault)
	if err != nil || o.Source == "features" { // function keys refer to those
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM w_"+o.Source+" WHERE rowid = $1", o.ID)
	return err
}
