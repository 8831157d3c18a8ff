package wazo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/tokens"
)

// queueFlags are the options of queues that the platform keeps as 0 or 1.
var queueFlags = map[string]bool{
	"ringinuse": true, "reportholdtime": true, "timeoutrestart": true, "autofill": true, "setinterfacevar": true, "setqueueentryvar": true,
	"setqueuevar": true, "random-periodic-announce": true,
}

// derived add columns to the rows of tables, before they are kept: what SQL cannot say.
var derived = map[string]func(s *spool, row map[string]*string) error{
	"auth_user": canonical("username", "login"),
	"auth_email": func(s *spool, row map[string]*string) error {
		if len(emailSchema.Validate("", text(row["address"]))) > 0 {
			return leaveError("it is no e-mail address")
		}
		return canonical("address", "login")(s, row)
	},
	"auth_group":  named("auth_group"),
	"auth_policy": named("auth_policy"),
	"auth_access": func(s *spool, row map[string]*string) error {
		patterns, reason := Translate(text(row["access"]), s.job.Accesses)
		row["patterns"] = jsonText(patterns)
		if reason != "" {
			row["reason"] = &reason
		}
		return nil
	},
	"auth_refresh_token": refreshToken,
	"userfeatures": func(s *spool, row map[string]*string) error {
		if err := utc("created_at", "at")(s, row); err != nil || len(callerIDSchema.Validate("", text(row["callerid"]))) == 0 {
			return err
		}
		id := conf.ParseCallerID(text(row["callerid"]))
		name := strings.NewReplacer(`"`, "", `\`, "").Replace(id.Name)
		mended := conf.CallerID{Name: name, Number: conf.Digits(id.Number)}.String()
		if len(callerIDSchema.Validate("", mended)) > 0 {
			mended = ""
		}
		row["callerid"] = &mended
		return s.tell("w_mended", tables["userfeatures"], row, "callerid: is no name between quotes, with a number: without what it cannot have now")
	},
	"context": func(_ *spool, row map[string]*string) error {
		if row["uuid"] == nil { // made before contexts had one
			id := derivedUUID("the context " + text(row["name"]))
			row["uuid"] = &id
		}
		return nil
	},
	"tenant": func(_ *spool, row map[string]*string) error {
		id := derivedUUID("the sounds of the tenant " + text(row["uuid"]))
		row["sound"] = &id
		return nil
	},
	"external_app": func(_ *spool, row map[string]*string) error {
		id := derivedUUID("the external app " + text(row["name"]) + " of " + text(row["tenant_uuid"]))
		row["uuid"] = &id
		return nil
	},
	"user_external_app": func(_ *spool, row map[string]*string) error {
		id := derivedUUID("the external app " + text(row["name"]) + " of " + text(row["user_uuid"]))
		row["uuid"] = &id
		return nil
	},
	"endpoint_sip_section_option": func(_ *spool, row map[string]*string) error {
		if text(row["key"]) == "callerid" {
			id := conf.ParseCallerID(text(row["value"]))
			row["cid_name"], row["cid_num"] = orNull(id.Name), orNull(id.Number)
		}
		return nil
	},
	"voicemail": func(s *spool, row map[string]*string) error {
		pairs, err := array(cmp.Or(text(row["options"]), "{}"))
		if err != nil || slices.ContainsFunc(pairs, func(pair []string) bool { return len(pair) != 2 }) {
			pairs, err = nil, s.tell("w_mended", tables["voicemail"], row, "options: are not pairs: none now")
		}
		row["pairs"] = jsonText(append([][]string{}, pairs...))
		return err
	},
	"ivr_choice": func(_ *spool, row map[string]*string) error {
		return accepted(choiceSchema, map[string]any{"exten": text(row["exten"]), "destination": map[string]any{"type": "none"}})
	},
	"queue": func(s *spool, row map[string]*string) error {
		options := [][]string{}
		for _, name := range tables["queue"].columns {
			value := text(row[name])
			if value == "" || slices.Contains([]string{"name", "category", "musicclass", "commented"}, name) {
				continue
			}
			if queueFlags[name] {
				value = map[bool]string{true: "yes", false: "no"}[value == "1"]
			}
			if fault := confdsvc.QueueOptionFault(name, value); fault == "" {
				options = append(options, []string{name, value})
			} else if text(row["category"]) == "queue" {
				if err := s.tell("w_mended", tables["queue"], row, "options: "+name+" "+fault+": left out now"); err != nil {
					return err
				}
			}
		}
		row["options"] = jsonText(options)
		return nil
	},
	"queuemember": func(_ *spool, row map[string]*string) error {
		if number, ok := strings.CutPrefix(text(row["interface"]), "Local/"); ok {
			number = strings.TrimSuffix(number, "/n")
			if at := strings.LastIndexByte(number, '@'); at > 0 {
				exten, context := number[:at], number[at+1:]
				row["exten"], row["context"] = &exten, &context
			}
		}
		return nil
	},
	"queueskillrule": func(_ *spool, row map[string]*string) error {
		type definition struct {
			Definition string `json:"definition"`
		}
		rules := []definition{}
		for rule := range strings.SplitSeq(text(row["rule"]), ";") {
			if rule != "" {
				rules = append(rules, definition{rule})
			}
		}
		row["rules"] = jsonText(rules)
		return nil
	},
	"dialaction": destination("action", "actionarg1", "actionarg2"),
	"schedule":   destination("fallback_action", "fallback_actionid", "fallback_actionargs"),
	"schedule_time": func(s *spool, row map[string]*string) error {
		start, end, _ := strings.Cut(text(row["hours"]), "-")
		row["start"], row["end"] = &start, &end
		lists := map[string]*string{}
		for _, l := range []struct {
			from, to string
			last     int
		}{{"weekdays", "days", 7}, {"monthdays", "dates", 31}, {"months", "of_months", 12}} {
			if lists[l.to] = numbers(row[l.from], l.last); lists[l.to] == nil {
				return leaveError("its " + l.from + " are no numbers")
			}
			row[l.to] = lists[l.to]
		}
		var period confdsvc.SchedulePeriod
		if err := accepted(periodSchema, map[string]any{
			"hours_start": start, "hours_end": end, "week_days": json.RawMessage(*row["days"]), "month_days": json.RawMessage(*row["dates"]),
			"months": json.RawMessage(*row["of_months"]),
		}, &period); err != nil {
			return err
		}
		if fault := period.Fault(); fault != nil {
			return leaveError(fault.Message)
		}
		return destination("action", "actionid", "actionargs")(s, row)
	},
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// numbers returns a JSON list of numbers and ranges of numbers, up to the last; all of them for null, and nil if it is no such list.
func numbers(list *string, last int) *string {
	var out []int
	for part := range strings.SplitSeq(cmp.Or(strings.TrimSpace(text(list)), "1-"+strconv.Itoa(last)), ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errors.Join(errA, errB) != nil || a < 1 || b > last || a > b {
			return nil
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return jsonText(slices.Compact(out))
}

// refreshToken adds what is kept of a refresh token. There it is the UUID of its row, in clear; here the row is found by its digest, and gets another
// UUID, which is shown and is no secret.
func refreshToken(s *spool, row map[string]*string) error {
	value := text(row["uuid"])
	digest := tokens.DigestOf(value)
	hexadecimal, id := hex.EncodeToString(digest[:]), derivedUUID("the row of the refresh token "+value)
	row["digest"], row["id"] = &hexadecimal, &id
	return utc("created_at", "at")(s, row)
}

// derivedUUID returns the same UUID for the same text, from which nobody finds the text.
func derivedUUID(of string) string {
	sum := sha256.Sum256([]byte(of))
	return uuid.NewHash(sha256.New(), uuid.UUID(sum[:16]), sum[16:], 8).String()
}

func text(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

func jsonText(v any) *string {
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	s := string(out)
	return &s
}

// named adds what groups and policies are told apart by, and makes their slugs such as ours may be.
func named(of string) func(*spool, map[string]*string) error {
	return func(s *spool, row map[string]*string) error {
		slug := strings.Map(func(r rune) rune {
			if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				return r
			}
			return '_'
		}, text(row["slug"]))
		if slug != text(row["slug"]) || slug == "" {
			slug = cmp.Or(slug, text(row["uuid"]))
			if err := s.tell("w_mended", tables[of], row, "slug: has other signs than letters, digits, - and _: "+slug+" now"); err != nil {
				return err
			}
			row["slug"] = &slug
		} else {
			row["own"] = new("t") // before those that have it by this change
		}
		return canonical("name", "name_key")(s, row)
	}
}

// canonical adds the form of a name in which names are compared; none, if it cannot be a name.
func canonical(of, as string) func(*spool, map[string]*string) error {
	return func(_ *spool, row map[string]*string) error {
		if key, ok := authsvc.Canonical(text(row[of])); ok {
			row[as] = &key
		}
		return nil
	}
}

// utc adds a time as our database has it. One without a zone is in UTC.
func utc(of, as string) func(*spool, map[string]*string) error {
	return func(_ *spool, row map[string]*string) error {
		for _, form := range []string{"2006-01-02 15:04:05.999999-07", "2006-01-02 15:04:05.999999-07:00", "2006-01-02 15:04:05.999999"} {
			if at, err := time.Parse(form, text(row[of])); err == nil {
				v := at.UTC().Truncate(time.Microsecond).Format("2006-01-02 15:04:05.999999999-07:00")
				row[as] = &v
				return nil
			}
		}
		return nil
	}
}
