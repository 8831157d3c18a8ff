package wazo_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// dumpText is the text of a dump that a test changes.
type dumpText struct {
	t    *testing.T
	text string
}

// table returns where the rows of a table begin, and its columns.
func (d *dumpText) table(name string) (at int, columns []string) {
	d.t.Helper()
	at = strings.Index(d.text, "COPY public."+name+" (")
	if at < 0 {
		d.t.Fatalf("the sample has no table %s", name)
	}
	head, _, _ := strings.Cut(d.text[at:], "\n")
	_, list, _ := strings.Cut(strings.TrimSuffix(head, ") FROM stdin;"), " (")
	for c := range strings.SplitSeq(list, ", ") {
		columns = append(columns, strings.Trim(c, `"`))
	}
	return at + len(head) + 1, columns
}

// add adds a row to a table, given as columns and values in turn, as COPY writes them. The rest is null.
func (d *dumpText) add(table string, values ...string) {
	d.t.Helper()
	_, columns := d.table(table)
	row := make([]string, len(columns))
	for i := range row {
		row[i] = `\N`
	}
	set(d.t, row, columns, values)
	d.last(table, row)
}

// last adds a row behind those of a table.
func (d *dumpText) last(table string, row []string) {
	at, _ := d.table(table)
	at += strings.Index("\n"+d.text[at:], "\n\\.\n")
	d.text = d.text[:at] + strings.Join(row, "\t") + "\n" + d.text[at:]
}

// change changes the row of a table with an id; like adds a row like one that has a value in a column, changed.
func (d *dumpText) change(table, id string, values ...string) {
	d.t.Helper()
	begins, ends, row, columns := d.find(table, "id", id)
	set(d.t, row, columns, values)
	d.text = d.text[:begins] + strings.Join(row, "\t") + d.text[ends:]
}

func (d *dumpText) like(table, column, value string, values ...string) {
	d.t.Helper()
	_, _, row, columns := d.find(table, column, value)
	set(d.t, row, columns, values)
	d.last(table, row)
}

func (d *dumpText) find(table, column, value string) (begins, ends int, row, columns []string) {
	d.t.Helper()
	begins, columns = d.table(table)
	of := slices.Index(columns, column)
	for {
		line, _, _ := strings.Cut(d.text[begins:], "\n")
		if line == `\.` {
			d.t.Fatalf("%s has no row with %s %s", table, column, value)
		}
		ends, row = begins+len(line), strings.Split(line, "\t")
		if row[of] == value {
			return begins, ends, row, columns
		}
		begins = ends + 1
	}
}

func set(t *testing.T, row, columns, values []string) {
	t.Helper()
	for pair := range slices.Chunk(values, 2) {
		i := slices.Index(columns, pair[0])
		if i < 0 {
			t.Fatalf("no column %s", pair[0])
		}
		row[i] = pair[1]
	}
}

const (
	fournier = "3f481f52-2e86-4b01-93c1-463be01e4734"
	lyon     = "65042aeb-f802-4c02-b42e-6ede54f40f86"
	inside   = "ctx-fournier-internal-fab13d93-8653-48b8-aa1d-3e93f525a36f"
	incoming = "ctx-fournier-incall-76c2d790-8e98-4613-9871-813733a437db"
	ofVentes = "6cfebbd5-9060-48e8-8b20-2cd77adc271a"
	ventes   = "grp-fournier-" + ofVentes
)

func newUUID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// variants are what other companies have: each changes the sample. tells are lines of the report; holds are queries of what is there then, each of
// which finds one row.
var variants = []struct {
	name  string
	edit  func(d *dumpText)
	tells []string
	holds []string
}{
	{
		"a user whose address and names are odd",
		func(d *dumpText) {
			d.change("userfeatures", "4", "lastname", `Th\tom\nas`, "email", "ALICE.martin@fournier.example", "mobilephonenumber", "06 12 34", "language", "klingon",
				"description", `a\nb\\c`, "loginclient", "dup", "ringseconds", "99999")
			d.change("userfeatures", "5", "loginclient", "dup", "lastname", `Ünï 中文 \\N`, "firstname", "")
		},
		[]string{
			"lastname: has control characters", "the e-mail address of another telephone user", "the username of another telephone user",
			"mobile_phone_number: Must match", "language: ", "ring_seconds: Must be between",
		},
		[]string{
			`SELECT 1 FROM confd_user WHERE id = 4 AND lastname = 'Th om as' AND email IS NULL AND mobile_phone_number IS NULL AND language IS NULL
				AND description = 'a' || char(10) || 'b\c' AND ring_seconds = 30`,
			`SELECT 1 FROM confd_user WHERE id = 5 AND lastname = 'Ünï 中文 \N' AND firstname = '' AND username IS NULL`,
		},
	},
	{
		"users who could not be written here, and must be here all the same",
		func(d *dumpText) {
			d.change("userfeatures", "6", "callerid", `""Al" \\\\ Martin" <105>`)
			d.change("userfeatures", "7", "mobilephonenumber", "", "mobile_fallback_enabled", "t")
			d.change("userfeatures", "8", "mobilephonenumber", "06 12", "mobile_fallback_enabled", "t", "callerid", "nobody <x>")
		},
		[]string{"callerid: is no name between quotes", "mobile_fallback_enabled: PSTN fallback must be disabled"},
		[]string{
			`SELECT 1 FROM confd_user WHERE id = 6 AND caller_id = '"Al  Martin" <105>'`,
			`SELECT 1 FROM (SELECT count(*) AS n FROM confd_user u JOIN confd_user_line l ON l.user_id = u.id WHERE u.id IN (7, 8) AND NOT u.mobile_fallback_enabled) WHERE n = 2`,
		},
	},
	{
		"what links have, and none may have",
		func(d *dumpText) {
			d.add("queuemember", "queue_name", "facturation", "interface", "Agent/9", "penalty", "-5", "usertype", "agent", "userid", "4", "channel", "Agent", "category", "queue", "position", "-1")
			d.add("queueskill", "id", "901", "tenant_uuid", fournier, "name", "patience")
			d.add("agentqueueskill", "agentid", "1", "skillid", "901", "weight", "-3")
			d.change("dialpattern", "1", "stripnum", "99", "externprefix", "no way")
		},
		[]string{"penalty: Must be", "priority: Must be", "skill_weight: Must be", "strip_digits: Must be", "external_prefix: "},
		[]string{
			`SELECT 1 FROM confd_queue_agent WHERE agent_id = 4 AND queue_id = 2 AND penalty = 0 AND priority = 0`,
			`SELECT 1 FROM confd_outcall_extension WHERE strip_digits = 0 AND external_prefix IS NULL`,
		},
	},
	{
		"what of another tenant is used",
		func(d *dumpText) {
			d.add("usercustom", "id", "903", "tenant_uuid", lyon, "interface", "dahdi/g3", "commented", "0", "category", "user")
			d.like("linefeatures", "id", "1", "id", "903", "endpoint_sip_uuid", `\N`, "endpoint_custom_id", "903", "provisioningid", "903", "application_uuid", newUUID(60))
			d.add("application", "uuid", newUUID(60), "tenant_uuid", lyon, "name", "Lyon")
			d.like("trunkfeatures", "id", "1", "id", "903", "endpoint_sip_uuid", `\N`, "endpoint_custom_id", "903", "register_iax_id", `\N`)
			d.add("moh", "uuid", newUUID(61), "tenant_uuid", lyon, "name", "moh-lyon-1", "label", "Lyon", "mode", "files")
			d.add("switchboard", "uuid", newUUID(62), "tenant_uuid", fournier, "name", "Desk", "hold_moh_uuid", newUUID(61))
			d.add("extensions", "id", "904", "commented", "0", "context", "ctx-lyon-internal-abad57b4-fd43-45e0-a58a-3c688e6de09f", "exten", "777", "type", "group", "typeval", "1")
			d.change("userfeatures", "31", "func_key_template_id", "1")
		},
		[]string{
			"has an endpoint of another tenant", "Atelier Fournier: line 903", "is in an application of another tenant", "Atelier Fournier: trunk 903",
			"had music of another tenant", "Atelier Fournier: switchboard Desk", "led to a group, a queue, an incall, a conference or a parking lot of another tenant",
			"has a template of keys of another tenant",
		},
		[]string{`SELECT 1 FROM confd_line WHERE id = 903`, `SELECT 1 FROM confd_switchboard WHERE name = 'Desk' AND waiting_room_music_on_hold IS NULL`},
	},
	{
		"a label that only people read",
		func(d *dumpText) { d.change("groupfeatures", "1", "label", "Équipe d'accueil") },
		[]string{"Must match", "Equipe d_accueil"},
		[]string{`SELECT 1 FROM confd_group WHERE id = 1 AND label = 'Equipe d_accueil'`},
	},
	{
		"lines that share numbers, users without lines, and a user with two",
		func(d *dumpText) {
			d.add("user_line", "user_id", "2", "line_id", "3", "main_user", "f", "main_line", "f")
			d.add("user_line", "user_id", "999", "line_id", "3", "main_user", "f", "main_line", "f")
			d.like("line_extension", "line_id", "3", "extension_id", "1", "main_extension", "f")
			d.like("line_extension", "line_id", "3", "line_id", "4", "main_extension", "f")
			d.add("extensions", "id", "905", "commented", "0", "context", inside, "exten", "188", "type", "user", "typeval", "3")
			d.like("line_extension", "line_id", "3", "extension_id", "905", "main_extension", "f")
		},
		[]string{"the user or the line is not there", "a line has one number here", "is a further number of a line, of which each has one here"},
		[]string{`SELECT 1 FROM confd_user_line WHERE user_id = 2 AND line_id = 3 AND position = 1`},
	},
	{
		"custom and SCCP lines",
		func(d *dumpText) {
			d.like("linefeatures", "id", "1", "id", "901", "endpoint_sip_uuid", `\N`, "endpoint_custom_id", "901", "provisioningid", "1")
			d.add("usercustom", "id", "901", "tenant_uuid", fournier, "interface", "dahdi/g1/911", "commented", "0", "category", "user")
			d.add("usercustom", "id", "902", "tenant_uuid", fournier, "interface", "SCCP/a b", "commented", "0", "category", "user")
			d.like("linefeatures", "id", "1", "id", "902", "endpoint_sip_uuid", `\N`, "endpoint_sccp_id", "901", "provisioningid", "203308")
			d.add("sccpline", "id", "901", "name", "901", "context", inside, "cid_name", "", "cid_num", "", "tenant_uuid", fournier)
		},
		[]string{"is an SCCP line", "SCCP is not here", "had the provisioning code of another line", "endpoint_custom 902"},
		[]string{
			`SELECT 1 FROM confd_line_endpoint WHERE line_id = 901 AND custom_id = 901`, `SELECT 1 FROM confd_line WHERE id = 901 AND provisioning_code = '000001'`,
			`SELECT 1 FROM confd_line WHERE id = 902 AND provisioning_code = '100000'`,
		},
	},
	{
		"destinations of every kind",
		func(d *dumpText) {
			for i, to := range [][3]string{
				{"none", `\N`, `\N`},
				{"user", "2", "0.0;1c7c1723-b6ac-4e73-aab5-c8d8fb99c722"},
				{"group", "2", "1.5"},
				{"voicemail", "2", "bs"},
				{"conference", "1", `\N`},
				{"ivr", "1", ""},
				{"extension", "100", inside},
				{"sound", "a/b", "skipnoanswer"},
				{"custom", "Playback(x)", ""},
				{"endcall:hangup", "", ""},
				{"endcall:busy", "5", ""},
				{"endcall:congestion", `\N`, `\N`},
				{"application:callbackdisa", "12", inside},
				{"application:disa", `\N`, inside},
				{"application:directory", inside, ""},
				{"application:voicemailmain", inside, ""},
				{"application:faxtomail", "a@b.example", ""},
				{"outcall", "1", "0123456789"},
				{"application:password", "1", ""},
				{"queue", "1", "1;2;{}"},
				{"user", "x", ""},
				{"application:faxtomail", "nobody", ""},
				{"extension", "1 00", "nowhere"},
			} {
				id := fmt.Sprint(800 + i)
				d.add("incall", "id", id, "tenant_uuid", fournier)
				d.add("dialaction", "event", "answer", "category", "incall", "categoryval", id, "action", to[0], "actionarg1", to[1], "actionarg2", to[2])
			}
		},
		[]string{`leads to "application:password"`, "which is no number", "cannot be here: email", "cannot be here: exten"},
		[]string{
			`SELECT 1 FROM (SELECT count(*) AS n FROM confd_destination WHERE of_incall_id BETWEEN 800 AND 822) WHERE n = 19`,
			`SELECT 1 FROM confd_destination WHERE of_incall_id = 801 AND moh_uuid IS NOT NULL`,
		},
	},
	{
		"old schedules",
		func(d *dumpText) {
			d.change("schedule_time", "1", "weekdays", "1-5,7", "monthdays", `\N`, "months", "")
			d.change("schedule_time", "2", "weekdays", "9")
			d.like("schedule_time", "id", "1", "id", "902", "hours", "18:00-8")
			d.like("schedule_time", "id", "1", "id", "903", "hours", "18:00-08:00")
			d.like("schedule_time", "id", "3", "id", "904", "hours", "18:00-08:00")
			d.like("schedule_time", "id", "3", "id", "905", "monthdays", "31", "months", "2")
			d.add("schedule_path", "schedule_id", "1", "path", "queue", "pathid", "1")
		},
		[]string{"its weekdays are no numbers", "schedule_time: hours_end: ", "hours_end is before hours_start", "none of the months has one of these days"},
		[]string{
			`SELECT 1 FROM confd_schedule WHERE id = 1 AND json_array_length(open_periods) = 1 AND open_periods LIKE '%[1,2,3,4,5,7]%'`,
			`SELECT 1 FROM confd_schedule WHERE id = 1 AND json_array_length(exceptional_periods) = 1 AND exceptional_periods LIKE '%[25]%'`,
		},
	},
	{
		"a menu with odd choices",
		func(d *dumpText) {
			d.add("ivr_choice", "id", "901", "ivr_id", "1", "exten", "t")
			d.add("ivr_choice", "id", "902", "ivr_id", "1", "exten", "x y")
			d.add("ivr_choice", "id", "903", "ivr_id", "99", "exten", "1")
			d.like("ivr_choice", "id", "1", "id", "904")
		},
		[]string{"ivr_choice: exten: ", "its menu is not there", "the menu has this choice already"},
		[]string{`SELECT 1 FROM confd_ivr WHERE id = 1 AND json_array_length(choices) > 1`},
	},
	{
		"function keys of all kinds",
		func(d *dumpText) {
			for i, kind := range []string{"agent", "bsfilter", "queue"} {
				id := fmt.Sprint(900 + i)
				d.add("func_key", "id", id, "type_id", "1", "destination_type_id", "1")
				d.add("func_key_mapping", "template_id", "1", "func_key_id", id, "destination_type_id", "1", "position", id, "blf", "t", "label", `a;b`)
				_ = kind
			}
			d.add("func_key", "id", "910", "type_id", "1", "destination_type_id", "10")
			d.add("func_key_dest_custom", "func_key_id", "910", "destination_type_id", "10", "exten", "no way?")
			d.add("func_key_mapping", "template_id", "1", "func_key_id", "910", "destination_type_id", "10", "position", "910", "blf", "t")
			d.add("func_key", "id", "911", "type_id", "1", "destination_type_id", "10")
			d.add("func_key_dest_custom", "func_key_id", "911", "destination_type_id", "10", "exten", "*98")
			d.add("func_key_mapping", "template_id", "1", "func_key_id", "911", "destination_type_id", "10", "position", "0", "blf", "t")
		},
		[]string{"does what is not there, or not here yet", "func_key_mapping: destination.exten: ", "func_key_mapping: it is not what there can be here"},
		nil,
	},
	{
		"what is not here",
		func(d *dumpText) {
			d.add("callerid", "mode", "prepend", "callerdisplay", "x", "type", "callfilter", "typeval", "1")
		},
		[]string{"meetings are not here yet"},
		nil,
	},
	{
		"accounts without names, addresses, passwords",
		func(d *dumpText) {
			d.add("auth_user", "uuid", newUUID(10), "tenant_uuid", fournier, "enabled", `\N`, "purpose", "user", "authentication_method", "saml")
			d.add("auth_user", "uuid", newUUID(11), "username", "ALICE.MARTIN", "tenant_uuid", fournier, "enabled", "t", "purpose", "robot", "authentication_method", "default")
			d.add("auth_email", "uuid", newUUID(12), "address", "no address", "confirmed", "t", "main", "t", "user_uuid", newUUID(11))
			d.add("auth_email", "uuid", newUUID(13), "address", "unconfirmed@fournier.example", "confirmed", "f", "main", "f", "user_uuid", newUUID(11))
			d.add("auth_user", "uuid", "not-a-uuid", "tenant_uuid", fournier, "enabled", "t", "purpose", "user", "authentication_method", "native")
		},
		[]string{"logs in by SAML", "cannot log in by this name", "it is no e-mail address", "its uuid is no UUID", "purpose: Must be one of"},
		[]string{
			`SELECT 1 FROM auth_user WHERE uuid = '` + newUUID(10) + `' AND enabled AND password_hash IS NULL`,
			`SELECT 1 FROM auth_user WHERE uuid = '` + newUUID(11) + `' AND purpose = 'user'`,
			`SELECT 1 FROM auth_email WHERE uuid = '` + newUUID(13) + `' AND NOT confirmed`,
		},
	},
	{
		"deep tenants with the same people",
		func(d *dumpText) {
			above := fournier
			for i := range 12 {
				id := newUUID(100 - i)
				d.add("auth_tenant", "uuid", id, "name", "Deep", "parent_uuid", above, "slug", fmt.Sprint("deep", i), "default_authentication_method", "native")
				above = id
			}
			d.add("tenant", "uuid", above, "slug", "deep11", "sip_templates_generated", "f", "voicemail_transcription_enabled", `\N`)
			d.like("userfeatures", "id", "1", "id", "901", "uuid", newUUID(101), "tenant_uuid", above, "email", `\N`, "voicemailid", `\N`, "musiconhold", "moh-gone",
				"func_key_private_template_id", "901")
			d.add("func_key_template", "id", "901", "tenant_uuid", above, "private", "t")
		},
		[]string{"music_on_hold: "},
		[]string{`SELECT 1 FROM (SELECT count(*) AS n FROM auth_tenant WHERE name = 'Deep') WHERE n = 12`, `SELECT 1 FROM confd_user WHERE id = 901 AND music_on_hold IS NULL`},
	},
	{
		"templates in a circle, and endpoints without",
		func(d *dumpText) {
			d.add("endpoint_sip_template", "child_uuid", "5745c78f-0cf0-4395-8da3-5380a18be4d0", "parent_uuid", "ef37f125-9801-4841-8af0-b0eb90f849c2", "priority", "0")
			d.add("endpoint_sip", "uuid", newUUID(20), "name", "bare", "tenant_uuid", fournier, "template", "f")
			d.add("endpoint_sip_section", "uuid", newUUID(21), "type", "auth", "endpoint_sip_uuid", newUUID(20))
			d.add("endpoint_sip_section_option", "uuid", newUUID(22), "key", "password", "value", `a\nb`, "endpoint_sip_section_uuid", newUUID(21))
			d.add("endpoint_sip_section_option", "uuid", newUUID(23), "key", "password", "value", ` blank`, "endpoint_sip_section_uuid", newUUID(21))
			d.add("endpoint_sip_section_option", "uuid", newUUID(24), "key", "no_such_option", "value", `x`, "endpoint_sip_section_uuid", newUUID(21))
		},
		[]string{"the template takes options from itself", "its value has control characters", "begins or ends with a blank", "is no option of this section"},
		[]string{`SELECT 1 FROM confd_endpoint_sip WHERE name = 'bare'`},
	},
	{
		"voicemails that are shared, or nobody's",
		func(d *dumpText) {
			d.change("userfeatures", "2", "voicemailid", "1")
			d.add("voicemail", "uniqueid", "901", "context", inside, "mailbox", "9", "fullname", "", "commented", "1", "options", `{{a,"b \\"c\\""},{broken}}`, "accesstype", "personal",
				"password", "abc", "skipcheckpass", "1", "pager", "")
			d.add("voicemail", "uniqueid", "902", "context", "gone", "mailbox", "9", "commented", "0", "options", "{}", "accesstype", "personal")
		},
		[]string{"options: are not pairs", "password: Must match", "its context is not there"},
		[]string{`SELECT 1 FROM confd_voicemail WHERE id = 901 AND NOT ask_password AND NOT enabled AND password IS NULL`, `SELECT 1 FROM confd_user_voicemail WHERE user_id = 2 AND voicemail_id = 1`},
	},
	{
		"policies in the old language, and slugs that are ours",
		func(d *dumpText) {
			d.add("auth_policy", "uuid", newUUID(30), "name", "me", "slug", "me", "tenant_uuid", fournier, "config_managed", `\N`, "shared", `\N`)
			d.add("auth_policy", "uuid", newUUID(31), "name", "Odd", "slug", "o d d", "tenant_uuid", fournier, "config_managed", "f", "shared", "f")
			d.add("auth_access", "id", "901", "access", "calld.users.{{ entry_uuid }}.edit")
			d.add("auth_policy_access", "policy_uuid", newUUID(30), "access_id", "901")
			d.add("auth_policy", "uuid", newUUID(32), "name", "Even", "slug", "o_d_d", "tenant_uuid", fournier, "config_managed", "f", "shared", "f")
			d.add("auth_group", "uuid", newUUID(33), "name", "Team", "slug", "t m", "tenant_uuid", fournier, "system_managed", "f")
			d.add("auth_group", "uuid", newUUID(34), "name", "team", "slug", "t-m", "tenant_uuid", fournier, "system_managed", "f")
			d.add("auth_group", "uuid", newUUID(35), "name", "Others", "slug", "t_m", "tenant_uuid", fournier, "system_managed", "f")
			d.add("auth_policy", "uuid", newUUID(36), "name", "No", "slug", "no", "tenant_uuid", fournier, "config_managed", "f", "shared", "f")
			d.add("auth_access", "id", "902", "access", "!confd.us ers.read")
			d.add("auth_policy_access", "policy_uuid", newUUID(36), "access_id", "902")
			d.add("auth_user_policy", "user_uuid", "cce803c7-d6cb-4793-a943-86b3726bd312", "policy_uuid", newUUID(36))
		},
		[]string{"auth_policy: slug: has other signs", "has a slug that another has", "a policy that its tenant does not see, which stays"},
		[]string{
			`SELECT 1 FROM auth_policy WHERE uuid = '` + newUUID(30) + `' AND slug = 'me_'`,
			`SELECT 1 FROM auth_policy WHERE slug = 'o_d_d' AND slug_key = 'o_d_d' AND name = 'Even'`,
			`SELECT 1 FROM auth_policy_access WHERE access = 'calld.users.me.update'`, `SELECT 1 FROM auth_policy WHERE slug = 'o_d_d_' || uuid`,
			`SELECT 1 FROM (SELECT count(*) AS n FROM auth_group WHERE slug_key LIKE 't_m%') WHERE n = 3`,
			`SELECT 1 FROM auth_user_policy WHERE policy_uuid = '` + newUUID(36) + `'`, `SELECT 1 FROM auth_policy_access WHERE access = '!confd.*.read'`,
		},
	},
	{
		"a directory, and what is secret of external services",
		func(d *dumpText) {
			d.add("auth_ldap_config", "tenant_uuid", fournier, "host", "ldap.example", "port", "389", "protocol_version", "3", "protocol_security", "none", "user_base_dn", "dc=x",
				"user_login_attribute", "uid", "user_email_attribute", "mail", "bind_password", "s3cret-of-ldap")
		},
		[]string{"protocol_security: Must be one of", "was kept in clear there"},
		[]string{`SELECT 1 FROM auth_ldap_config WHERE tenant_uuid = '` + fournier + `' AND protocol_security IS NULL AND length(bind_password) > 20`},
	},
	{
		"numbers that our patterns refuse",
		func(d *dumpText) {
			d.add("extensions", "id", "901", "commented", "0", "context", inside, "exten", "_X.[a-z]!", "type", "user", "typeval", "0")
			d.add("extensions", "id", "902", "commented", "0", "context", inside, "exten", "100", "type", "user", "typeval", "0")
			d.add("extensions", "id", "903", "commented", "0", "context", incoming, "exten", "0199999999", "type", "incall", "typeval", "99999")
			d.add("contextnumbers", "context", incoming, "type", "incall", "numberbeg", "0500", "numberend", "04", "didlength", "4")
			d.add("phone_number", "uuid", newUUID(40), "tenant_uuid", fournier, "number", "call me", "shared", "f", "main", "f")
		},
		[]string{"another has its exten, context", "incall_ranges[", "phone_number"},
		[]string{`SELECT 1 FROM confd_extension WHERE id = 903`},
	},
	{
		"a context of an old release",
		func(d *dumpText) {
			d.add("context", "id", "901", "uuid", newUUID(50), "tenant_uuid", fournier, "name", "from-extern", "displayname", `\N`, "contexttype", "incall", "commented", "0")
			d.add("context", "id", "902", "uuid", newUUID(51), "tenant_uuid", fournier, "name", "odd", "displayname", "", "contexttype", "shop", "commented", "1")
			d.add("contextinclude", "context", "from-extern", "include", "nowhere", "priority", "0")
			d.add("context", "id", "903", "tenant_uuid", fournier, "name", "old", "contexttype", "internal", "commented", "0")
		},
		[]string{"type: Must be one of", "one of the contexts is not there"},
		[]string{`SELECT 1 FROM confd_context WHERE id = 901 AND label = 'from-extern'`, `SELECT 1 FROM confd_context WHERE id = 903 AND uuid IS NOT NULL`, `SELECT 1 FROM confd_context WHERE id = 902 AND type = 'internal' AND NOT enabled`},
	},
	{
		"a key of each kind",
		func(d *dumpText) {
			feature := func(name string) string {
				_, _, row, columns := d.find("feature_extension", "feature", name)
				return row[slices.Index(columns, "uuid")]
			}
			for i, key := range [][]string{
				{"1", "user", "user_id", "1"},
				{"2", "group", "group_id", "1"},
				{"3", "queue", "queue_id", "1"},
				{"4", "conference", "conference_id", "1"},
				{"5", "service", "feature_extension_uuid", feature("enablednd")},
				{"6", "forward", "feature_extension_uuid", feature("fwdrna"), "number", " 0612345678"},
				{"6", "forward", "feature_extension_uuid", feature("fwdbusy")},
				{"6", "forward", "feature_extension_uuid", feature("fwdunc"), "number", ""},
				{"7", "park_position", "parking_lot_id", "1", "park_position", "0701"},
				{"8", "features", "features_id", "12"},
				{"8", "features", "features_id", "10"},
				{"8", "features", "features_id", "13"},
				{"9", "paging", "paging_id", "1"},
				{"10", "custom", "exten", "*98"},
				{"11", "agent", "agent_id", "2", "feature_extension_uuid", feature("agentstaticlogoff")},
				{"12", "bsfilter", "filtermember_id", "2"},
				{"13", "groupmember", "group_id", "2", "feature_extension_uuid", feature("groupmemberleave")},
				{"14", "parking", "parking_lot_id", "1"},
				{"11", "agent", "agent_id", "1", "feature_extension_uuid", feature("agentstaticlogtoggle")},
			} {
				id := fmt.Sprint(9200 + i)
				d.add("func_key", "id", id, "type_id", "1", "destination_type_id", key[0])
				d.add("func_key_dest_"+key[1], append([]string{"func_key_id", id, "destination_type_id", key[0]}, key[2:]...)...)
				d.add("func_key_mapping", "template_id", "2", "func_key_id", id, "destination_type_id", key[0], "position", fmt.Sprint(200+i), "blf", "f", "label", "Clé")
			}
			d.add("func_key_dest_group", "func_key_id", "9200", "destination_type_id", "2", "group_id", "1") // the key has two destinations
		},
		nil,
		[]string{
			`SELECT 1 FROM (SELECT count(*) AS n FROM confd_func_key WHERE template_id = 2 AND place BETWEEN 200 AND 218 AND label = 'Clé' AND NOT blf) WHERE n = 19`,
			`SELECT 1 FROM (SELECT group_concat(type || ' ' || replace(replace(keys, '"', ''), ' ', ''), '; ' ORDER BY place) AS all_keys
				FROM confd_func_key WHERE template_id = 2 AND place BETWEEN 200 AND 218) WHERE all_keys = 'user {user_id:1}; group {group_id:1}; queue {queue_id:1}; ` +
				`conference {conference_id:1}; service {service:enablednd}; forward {forward:noanswer,exten:0612345678}; forward {forward:busy,exten:null}; ` +
				`forward {forward:unconditional,exten:null}; park_position {parking_lot_id:1,position:701}; transfer {transfer:attended}; transfer {transfer:blind}; onlinerec {}; ` +
				`paging {paging_id:1}; custom {exten:*98}; agent {agent_id:2,action:logout}; bsfilter {filter_member_id:2}; groupmember {group_id:2,action:leave}; ` +
				`parking {parking_lot_id:1}; agent {agent_id:1,action:toggle}'`,
		},
	},
	{
		"all fallbacks, of queues in circles and of what leads to itself",
		func(d *dumpText) {
			d.like("ivr", "id", "1", "id", "930", "name", "Kreis")
			for _, to := range [][5]string{
				{"noanswer", "queue", "2", "queue", "1"},
				{"busy", "queue", "2", "user", "1"},
				{"congestion", "queue", "2", "endcall:busy", ""},
				{"chanunavail", "queue", "2", "voicemail", "2"},
				{"qwaittime", "queue", "2", "queue", "2"},
				{"qwaitratio", "queue", "2", "ivr", "1"},
				{"noanswer", "callfilter", "1", "user", "2"},
				{"invalid", "ivr", "930", "ivr", "930"},
				{"abort", "ivr", "930", "none", ""},
			} {
				d.add("dialaction", "event", to[0], "category", to[1], "categoryval", to[2], "action", to[3], "actionarg1", to[4])
			}
		},
		nil,
		[]string{
			`SELECT 1 FROM (SELECT group_concat(slot || ' ' || type, ', ' ORDER BY slot) AS slots FROM confd_destination WHERE of_queue_id = 2)
				WHERE slots = 'busy user, congestion hangup, fail voicemail, noanswer queue, wait_ratio ivr, wait_time queue'`,
			`SELECT 1 FROM confd_destination WHERE of_callfilter_id = 1 AND slot = 'noanswer' AND user_id = 2`,
			`SELECT 1 FROM confd_destination WHERE of_ivr_id = 930 AND slot = 'invalid' AND ivr_id = 930`,
			`SELECT 1 FROM confd_destination WHERE of_ivr_id = 930 AND slot = 'abort' AND type = 'none'`,
		},
	},
	{
		"a group in a group, a schedule of each, permissions of each, and pickups of groups",
		func(d *dumpText) {
			d.add("queuemember", "queue_name", ventes, "interface", "Local/202@"+inside, "penalty", "0", "usertype", "user", "userid", "0", "channel", "Local", "category", "group", "position", "7")
			for _, owner := range [][2]string{{"user", "5"}, {"group", "2"}, {"queue", "2"}, {"incall", "3"}, {"outcall", "1"}, {"queue", "2"}} {
				d.add("schedule_path", "schedule_id", "1", "path", owner[0], "pathid", owner[1])
			}
			d.add("rightcall", "id", "920", "tenant_uuid", fournier, "name", "Étranger", "passwd", "", "authorization", "1", "commented", "1")
			for _, exten := range []string{"00.", "_00X.", "00."} {
				d.add("rightcallexten", "id", exten, "rightcallid", "920", "exten", exten)
			}
			for _, owner := range [][2]string{{"user", "5"}, {"group", "2"}, {"outcall", "1"}} {
				d.add("rightcallmember", "id", "92"+owner[1], "rightcallid", "920", "type", owner[0], "typeval", owner[1])
			}
			d.add("pickup", "id", "920", "tenant_uuid", fournier, "name", "Tous", "commented", "0")
			for _, m := range [][3]string{{"member", "group", "1"}, {"pickup", "group", "2"}, {"member", "user", "5"}, {"pickup", "user", "6"}} {
				d.add("pickupmember", "pickupid", "920", "category", m[0], "membertype", m[1], "memberid", m[2])
			}
		},
		nil,
		[]string{
			`SELECT 1 FROM confd_group_number WHERE group_uuid = '` + ofVentes + `' AND exten = '202' AND context = '` + inside + `'`,
			`SELECT 1 FROM confd_user_schedule WHERE user_id = 5 AND schedule_id = 1`, `SELECT 1 FROM confd_queue_schedule WHERE queue_id = 2 AND schedule_id = 1`,
			`SELECT 1 FROM confd_outcall_schedule WHERE outcall_id = 1 AND schedule_id = 1`, `SELECT 1 FROM confd_group_schedule WHERE group_uuid = '` + ofVentes + `'`,
			`SELECT 1 FROM confd_callpermission WHERE id = 920 AND mode = 'allow' AND NOT enabled AND password IS NULL AND json_array_length(extensions) = 2`,
			`SELECT 1 FROM confd_outcall_callpermission WHERE outcall_id = 1 AND callpermission_id = 920`,
			`SELECT 1 FROM confd_callpickup_target_group WHERE callpickup_id = 920 AND group_uuid = '` + ofVentes + `'`,
			`SELECT 1 FROM confd_callpickup_interceptor_user WHERE callpickup_id = 920 AND user_id = 5`,
		},
	},
	{
		"three levels of tenants, each with its own telephony, and a policy that all see",
		func(d *dumpText) {
			above := fournier
			for i, slug := range []string{"Zürich", "alpes"} {
				id := newUUID(500 + i)
				d.add("auth_tenant", "uuid", id, "name", `Büro \\N `+slug, "parent_uuid", above, "slug", []string{"zrh", "ALPES"}[i], "default_authentication_method", "native")
				d.add("tenant", "uuid", id, "slug", []string{"zrh", "ALPES"}[i], "sip_templates_generated", "f", "record_start_announcement", "", "record_stop_announcement", "stop",
					"country", "CH", "voicemail_transcription_enabled", "t")
				context := "ctx-" + slug[:1] + "-" + id
				d.add("context", "id", fmt.Sprint(950+i), "uuid", newUUID(510+i), "tenant_uuid", id, "name", context, "displayname", "名前", "contexttype", "internal", "commented", "0")
				d.add("auth_group", "uuid", newUUID(520+i), "name", "wazo-all-users-tenant-"+id, "slug", "wazo-all-users-tenant-"+id, "tenant_uuid", id, "system_managed", "t")
				d.add("auth_user", "uuid", newUUID(530+i), "username", "user@"+slug, "tenant_uuid", id, "enabled", "f", "purpose", "user", "authentication_method", "native", "firstname", "",
					"lastname", "Ωmega")
				d.add("auth_user_group", "group_uuid", newUUID(520+i), "user_uuid", newUUID(530+i))
				d.add("auth_user_policy", "user_uuid", newUUID(530+i), "policy_uuid", newUUID(540))
				above = id
			}
			d.add("auth_policy", "uuid", newUUID(540), "name", "Gemeinsam", "slug", "gemeinsam", "tenant_uuid", fournier, "config_managed", "f", "shared", "t")
			d.add("auth_access", "id", "9540", "access", "confd.users.read")
			d.add("auth_policy_access", "policy_uuid", newUUID(540), "access_id", "9540")
		},
		nil,
		[]string{
			`SELECT 1 FROM auth_tenant WHERE uuid = '` + newUUID(501) + `' AND slug = 'ALPES' AND parent_uuid = '` + newUUID(500) + `' AND name = 'Büro \N alpes'`,
			`SELECT 1 FROM (SELECT count(*) AS n FROM auth_user_policy WHERE policy_uuid = '` + newUUID(540) + `') WHERE n = 2`,
			`SELECT 1 FROM (SELECT count(*) AS n FROM auth_group_user WHERE user_uuid = '` + newUUID(531) + `' AND group_uuid = '` + newUUID(501) + `') WHERE n = 1`,
			`SELECT 1 FROM confd_recording_announcements WHERE tenant_uuid = '` + newUUID(501) + `' AND recording_start IS NULL AND recording_stop = 'stop'`,
			`SELECT 1 FROM confd_localization WHERE tenant_uuid = '` + newUUID(500) + `' AND country = 'CH'`,
			`SELECT 1 FROM confd_context WHERE id = 951 AND tenant_uuid = '` + newUUID(501) + `' AND label = '名前'`,
		},
	},
	{
		"a chain of templates, in the order of their priorities",
		func(d *dumpText) {
			for i := range 4 {
				d.add("endpoint_sip", "uuid", newUUID(600+i), "name", fmt.Sprint("chain", i), "label", fmt.Sprint("Chain ", i), "tenant_uuid", fournier,
					"template", map[bool]string{true: "f", false: "t"}[i == 3])
				d.add("endpoint_sip_section", "uuid", newUUID(610+i), "type", "endpoint", "endpoint_sip_uuid", newUUID(600+i))
				d.add("endpoint_sip_section_option", "uuid", newUUID(620+i), "key", "language", "value", fmt.Sprint("l", i), "endpoint_sip_section_uuid", newUUID(610+i))
			}
			d.add("endpoint_sip_section", "uuid", newUUID(619), "type", "endpoint", "endpoint_sip_uuid", newUUID(603)) // a second one of the kind
			for _, l := range [][3]int{{601, 600, 0}, {602, 601, 10}, {602, 600, 2}, {603, 602, 1}, {603, 600, 0}} {
				d.add("endpoint_sip_template", "child_uuid", newUUID(l[0]), "parent_uuid", newUUID(l[1]), "priority", fmt.Sprint(l[2]))
			}
		},
		[]string{"its endpoint has another section of the kind"},
		[]string{
			`SELECT 1 FROM confd_endpoint_sip_template_parent WHERE child_uuid = '` + newUUID(602) + `' AND template_uuid = '` + newUUID(600) + `' AND position = 0`,
			`SELECT 1 FROM confd_endpoint_sip_template_parent WHERE child_uuid = '` + newUUID(602) + `' AND template_uuid = '` + newUUID(601) + `' AND position = 1`,
			`SELECT 1 FROM confd_endpoint_sip_parent WHERE endpoint_uuid = '` + newUUID(603) + `' AND template_uuid = '` + newUUID(602) + `' AND position = 1`,
			`SELECT 1 FROM confd_endpoint_sip WHERE name = 'chain3' AND endpoint_section_options LIKE '%l3%'`,
		},
	},
	{
		"numbers and UUIDs that two have",
		func(d *dumpText) {
			d.like("userfeatures", "id", "2", "uuid", newUUID(700), "email", `\N`, "func_key_private_template_id", "9700")
			d.add("auth_policy", "uuid", newUUID(701), "name", "Twin", "slug", "twin", "tenant_uuid", fournier, "config_managed", "f", "shared", "f")
			d.add("auth_group", "uuid", newUUID(701), "name", "Twin", "slug", "twin", "tenant_uuid", fournier, "system_managed", "f")
		},
		[]string{"userfeatures: another row has its number"},
		[]string{
			`SELECT 1 FROM auth_policy WHERE uuid = '` + newUUID(701) + `' AND slug = 'twin'`, `SELECT 1 FROM auth_group WHERE uuid = '` + newUUID(701) + `' AND slug = 'twin'`,
			`SELECT 1 FROM confd_user WHERE id = 2 AND uuid <> '` + newUUID(700) + `'`,
		},
	},
}

// What other companies have is imported, or told; whatever is there then, our interfaces take again as they show it.
func TestVariants(t *testing.T) {
	d := &dumpText{t: t, text: sampleText(t)}
	for _, v := range variants {
		v.edit(d)
	}
	job, err := compile(t, []byte(d.text))
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	if err := job.Report.Print(&told); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenBeside(t.Context(), filepath.Join(job.Folder(), "ringfence.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			for _, line := range v.tells {
				if !strings.Contains(told.String(), line) {
					t.Errorf("nothing tells: %s", line)
				}
			}
			for _, query := range v.holds {
				if n, err := store.Select[int](t.Context(), db, query); err != nil || len(n) != 1 {
					t.Errorf("%s finds %d rows, %v", query, len(n), err)
				}
			}
		})
	}
	if strings.Contains(told.String(), "s3cret-of-ldap") {
		t.Error("the report has a secret")
	}
	if t.Failed() {
		t.Log(told.String())
	}
	for name, database := range engines {
		t.Run(name, func(t *testing.T) { writtenBack(t, restored(t, job, database)) })
	}
}

// writtenBack sends to each object of telephony what it shows.
func writtenBack(t *testing.T, in installation) {
	tenants, err := store.Select[string](t.Context(), in.db, `SELECT CAST(uuid AS text) FROM auth_tenant ORDER BY uuid`)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range []string{
		"/users", "/lines", "/extensions", "/contexts", "/groups", "/voicemails", "/incalls", "/moh", "/phone-numbers", "/endpoints/sip", "/endpoints/sip/templates",
		"/endpoints/custom", "/funckeys/templates", "/schedules", "/ivr", "/conferences", "/parkinglots", "/pagings", "/callpermissions", "/callpickups", "/trunks", "/outcalls",
		"/applications", "/queues/skillrules",
	} {
		for _, tenant := range tenants {
			var list struct{ Items []map[string]any }
			if err := local.Call(t.Context(), in.confd, in.me, tenant, http.MethodGet, path, nil, &list); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, item := range list.Items {
				key := item["id"]
				if key == nil {
					key = item["uuid"]
				}
				n++
				if err := local.Call(t.Context(), in.confd, in.me, tenant, http.MethodPut, fmt.Sprintf("%s/%v", path, key), item, nil); err != nil {
					t.Errorf("%v: %v", item["name"], err)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d objects were written back", n)
	}
}
