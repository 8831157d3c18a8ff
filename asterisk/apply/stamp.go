package apply

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
)

// Asterisk says that it has reloaded a file also if it has taken nothing of it. So each file that it can be asked about ends with a stamp:
// something that nobody can use, with a sum of the rest of the file in it. What Asterisk has of that tells which content it has loaded.
// Of pjsip.conf it loads the objects of each type, or none: so there is one of each type that telephones have.

// stamped returns the files with their stamps, and the dialplan with the folder's name, if there is one.
func stamped(files generation.Files, id string) generation.Files {
	all := maps.Clone(files)
	context := ""
	if files["extensions.conf"] != nil {
		context = "context = " + folderContext + "\n"
	}
	for name, text := range files {
		hash := sha256.Sum256(text)
		sum, number := fmt.Sprintf("%x", hash[:20]), binary.BigEndian.Uint64(hash[:])
		var stamp string
		switch name {
		case "extensions.conf":
			stamp = "[" + folderContext + "]\nexten = " + sum + ",1,NoOp()\n"
			if id != "" {
				stamp += "exten = " + id + ",1,NoOp()\n"
			}
		case "pjsip.conf":
			// Nobody can register with it, and who knew all the secrets in the file, and so the password, could dial nothing.
			stamp = fmt.Sprintf("[%[1]s]\ntype = endpoint\n%[4]saors = %[1]s\nauth = %[1]s\nallow = !all,ulaw\nallow_subscribe = no\naccountcode = %[2]s\n"+
				"[%[1]s]\ntype = aor\nvoicemail_extension = %[2]s\n[%[1]s]\ntype = auth\nauth_type = userpass\nusername = %[2]s\npassword = %[3]x\n",
				folderContext, sum, sha256.Sum256(append([]byte("password"), text...)), context)
		case "queues.conf":
			stamp = fmt.Sprintf("[ringfence-%d]\nstrategy = ringall\n", number)
		case "voicemail.conf":
			stamp = fmt.Sprintf("[%s]\n%d = none,Ringfence\n", folderContext, number)
		default:
			continue
		}
		all[name] = slices.Concat(bytes.TrimRight(text, "\n"), []byte("\n\n"+stamp))
	}
	return all
}

// unstamped returns the files without their stamps.
func unstamped(files generation.Files) generation.Files {
	all := maps.Clone(files)
	for name, text := range files {
		if at := bytes.LastIndex(text, []byte("\n\n[ringfence-")); at >= 0 {
			all[name] = text[:at+1]
		}
	}
	return all
}

// stampOf returns the stamp at the end of a file, if Asterisk can be asked for that alone.
func stampOf(name string, text []byte) []byte {
	_, stamp, found := bytes.Cut(text, []byte("\n["+folderContext+"]\n"))
	if !found || name != "pjsip.conf" && name != "extensions.conf" {
		return nil
	}
	return slices.Concat([]byte("["+folderContext+"]\n"), stamp)
}

// stampForm is what [stamped] calls a stamp: a section or, in one, a mailbox. Queues of confd, such as ringfence-queue-3, are none.
var stampForm = regexp.MustCompile(`^ringfence-[0-9]+$|^(?:.*@)?` + folderContext + `$`)

func isStamp(name string) bool { return stampForm.MatchString(name) }

// unreadError says that Asterisk has not loaded a file as it is.
type unreadError struct{ file, what string }

func (e *unreadError) Error() string {
	return fmt.Sprintf("Asterisk has not loaded %s: it has not its %s. A fault in a section there, or in Asterisk's own file, keeps out the rest", e.file, e.what)
}

// verifyTelephones reads back the stamp of pjsip.conf.
func (a *running) verifyTelephones(ctx context.Context, f *conf.File) error {
	stamp := f.Section(folderContext)
	if stamp == nil {
		return nil // of a version without stamps
	}
	sum, _ := stamp.Get("accountcode")
	has, err := ami.Endpoint(ctx, a.client, folderContext)
	if err != nil {
		return err
	}
	for _, one := range []struct{ event, header, what string }{
		{"EndpointDetail", "Accountcode", "endpoints"}, {"AorDetail", "VoicemailExtension", "aors"}, {"AuthDetail", "Username", "auths"},
	} {
		if !slices.ContainsFunc(has, func(m ami.Message) bool { return m.Event() == one.event && m.Get(one.header) == sum }) {
			return &unreadError{"pjsip.conf", one.what}
		}
	}
	return nil
}

// verifyDialplan reads back the stamp of the dialplan.
func (a *running) verifyDialplan(ctx context.Context, f *conf.File) ([]string, error) {
	a.checkApplications(ctx, f)
	stamp := f.Section(folderContext)
	if stamp == nil {
		return nil, nil
	}
	has, err := ami.Extensions(ctx, a.client, folderContext)
	if err != nil {
		return nil, err
	}
	for _, v := range stamp.Values {
		if exten, _, _ := strings.Cut(v.Text, ","); v.Name == "exten" && !slices.Contains(has, exten) {
			return nil, &unreadError{"extensions.conf", "contexts"}
		}
	}
	return nil, nil
}

// checkApplications warns of applications of the dialplan that this Asterisk has not, since no module brings them: a call ends there. An account that
// may not ask is no fault.
func (a *running) checkApplications(ctx context.Context, f *conf.File) {
	has, err := ami.Command(ctx, a.client, "core show applications")
	d, wrong := conf.ParseDialplan(f)
	if err != nil || wrong != nil {
		return
	}
	if lacks := d.Lacks(has); len(lacks) > 0 {
		a.warn("this Asterisk has no " + strings.Join(lacks, ", no ") +
			": the modules that bring these applications are not loaded, and calls that need them end")
	}
}
