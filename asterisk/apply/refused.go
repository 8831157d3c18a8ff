package apply

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/check"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
)

// Refused are sections that Asterisk, or the check before, refuses: by file and name, why. A mailbox, or a number, is named number@context.
type Refused map[[2]string]string

func (r Refused) add(file, name, why string) {
	if r[[2]string{file, name}] == "" {
		r[[2]string{file, name}] = why
	}
}

// refusedError says which sections are refused, and err, if it is not nil, what else is wrong.
type refusedError struct {
	sections Refused
	err      error
}

func (e *refusedError) Error() string {
	var all []string
	for _, at := range slices.SortedFunc(maps.Keys(e.sections), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		if len(all) == 10 {
			all = append(all, fmt.Sprintf("and %d more", len(e.sections)-len(all)))
			break
		}
		all = append(all, fmt.Sprintf("%q of %s: %s", at[1], at[0], e.sections[at]))
	}
	text := strings.Join(all, "; ")
	if e.err != nil {
		text += ". " + e.err.Error()
	}
	return text
}

// blameForm is how a complaint about an object of pjsip.conf names it, while Asterisk loads that file.
var (
	blameForm  = regexp.MustCompile(`^ERROR (?:res_pjsip/)?(?:res_sorcery_config|config_(?:options|auth|transport)|sorcery|pjsip_configuration|location)\.c:`)
	objectForm = regexp.MustCompile(`(?i)(?:\bid|object:|category|endpoint|transport|aor|auth) '([^']+)'`)
)

// named returns the objects of pjsip.conf that complaints of Asterisk's log name, each with the complaint, and with those before it that name none.
func named(files generation.Files, complaints []string) Refused {
	refused := Refused{}
	var why []string
	for _, said := range complaints {
		if !blameForm.MatchString(said) {
			continue
		}
		why = append(why, said)
		names := objectForm.FindAllStringSubmatch(said, -1)
		for _, found := range names {
			if len(sectionIn(files, [2]string{"pjsip.conf", found[1]})) > 0 && !isStamp(found[1]) {
				refused.add("pjsip.conf", found[1], "Asterisk refuses it: "+strings.Join(why, "; "))
			}
		}
		if len(names) > 0 {
			why = nil
		}
	}
	return refused
}

// blamed returns the sections with the faults that the check has found, if all of them are in sections of objects, or in numbers of contexts.
func blamed(files generation.Files, found []check.Finding) Refused {
	refused := Refused{}
	for _, f := range found {
		name := sectionAt(files, f)
		general := f.File == "features.conf" || f.File == "rtp.conf" || f.File == "extensions.conf" && !strings.Contains(name, "@")
		if general || isStamp(name) || len(sectionIn(files, [2]string{f.File, name})) == 0 {
			return nil
		}
		refused.add(f.File, name, "Asterisk would refuse it: "+f.String())
	}
	return refused
}

// sectionAt returns the section, mailbox or number in which a fault is, or nothing.
func sectionAt(files generation.Files, f check.Finding) (name string) {
	parsed, _ := conf.Parse(files[f.File]) // it holds what could be read
	for _, s := range parsed.Sections {
		if s.Line > f.Line {
			break
		}
		name = s.Name
		for _, v := range s.Values {
			switch {
			case f.File == "voicemail.conf" && v.Line == f.Line:
				name = v.Name + "@" + s.Name
			case f.File != "extensions.conf" || v.Line > f.Line || v.Name == "same":
			case v.Name == "exten":
				number, _, _ := strings.Cut(v.Text, ",")
				name = number + "@" + s.Name
			default:
				name = s.Name
			}
		}
	}
	return name
}

var numberForm = regexp.MustCompile(`^exten =>? ([^,]*),`)

// sectionIn returns the lines of all sections of a name, or of a mailbox or a number, or nothing.
func sectionIn(files generation.Files, at [2]string) (text []byte) {
	number, in := "", at[1]
	if at[0] == "voicemail.conf" || at[0] == "extensions.conf" {
		number, in, _ = strings.Cut(in, "@")
	}
	inside, its := false, number == ""
	for line := range bytes.Lines(files[at[0]]) {
		if line[0] == '[' {
			name, _, _ := strings.Cut(string(line[1:]), "]")
			inside = name == in
		}
		switch {
		case number == "":
		case at[0] == "voicemail.conf":
			its = bytes.HasPrefix(line, []byte(number+" "))
		case !bytes.HasPrefix(line, []byte("same")):
			found := numberForm.FindSubmatch(line)
			its = found != nil && string(found[1]) == number
		}
		if line = bytes.TrimSpace(line); inside && its && len(line) > 0 {
			text = append(append(text, line...), '\n')
		}
	}
	return text
}

// refusal is what is left out until its section changes.
type refusal struct {
	why string
	sum [sha256.Size]byte // of the section
}

// refuse leaves out what was refused in these files from now on, and reports whether any of it is news.
func (s *Service) refuse(refused Refused, files generation.Files) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, why := range refused {
		r := refusal{why, sha256.Sum256(sectionIn(files, at))}
		if s.refusals[at].sum != r.sum {
			news, s.refusals[at] = true, r
		}
	}
	return news
}

// stillRefused returns what was refused and has not changed since in what is to be generated.
func (s *Service) stillRefused(files generation.Files) Refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	still := Refused{}
	for at, r := range s.refusals {
		if sha256.Sum256(sectionIn(files, at)) == r.sum {
			still[at] = r.why
		} else {
			delete(s.refusals, at)
		}
	}
	return still
}
