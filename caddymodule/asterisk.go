package caddymodule

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/doctor"
)

// Asterisk is the telephone system that is configured.
type Asterisk struct {
	// Name tells one Asterisk from another if the nodes on one database configure several: nodes with one name take turns.
	// Default: RINGFENCE_ASTERISK_NAME from the environment, else main.
	Name string `json:"name,omitempty"`
	// Folder is where the generated files are; Asterisk reads those in its subfolder live. Default: RINGFENCE_ASTERISK_FOLDER from
	// the environment, else a folder below the data folder.
	Folder string `json:"folder,omitempty"`
	// Manager is the address of Asterisk's manager interface: host:port on this machine, or tls://host:port. Default:
	// RINGFENCE_ASTERISK_MANAGER from the environment, else none: the files are written, and nobody is told.
	Manager string `json:"manager,omitempty"`
	// Username and Secret are the account there. Default: RINGFENCE_ASTERISK_USERNAME and RINGFENCE_ASTERISK_SECRET from the
	// environment, else ringfence and none.
	Username string `json:"username,omitempty"`
	Secret   string `json:"secret,omitempty"`
	// Log is Asterisk's log: what it complains about while it reloads is shown with the job. Default: RINGFENCE_ASTERISK_LOG from the
	// environment, else /var/log/asterisk/messages.log if Asterisk is on this machine.
	Log string `json:"log,omitempty"`
	// Interfaces are the channels of the machine that custom endpoints may name, with blanks between them: "SCCP/* DAHDI/1". Default:
	// RINGFENCE_ASTERISK_INTERFACES from the environment, else none.
	Interfaces string `json:"interfaces,omitempty"`

	// Etc is the folder of Asterisk's own files: no generated section gets a name that one there has. Default: RINGFENCE_ASTERISK_ETC from
	// the environment, else /etc/asterisk if Asterisk is on this machine.
	Etc string `json:"etc,omitempty"`
	// Records is the file in which Asterisk keeps its records of calls. Default: RINGFENCE_ASTERISK_RECORDS from the environment, else
	// /var/log/asterisk/cdr-custom/ringfence.csv if Asterisk is on this machine.
	Records string `json:"records,omitempty"`
	// Recordings is the folder in which Asterisk keeps what is said in calls, with a folder for each tenant. Default: RINGFENCE_ASTERISK_RECORDINGS from
	// the environment, else /var/spool/asterisk/monitor/ringfence if Asterisk is on this machine.
	Recordings string `json:"recordings,omitempty"`
	// LongestCall is after how long a call ends: "4h", at least 1m. Default: RINGFENCE_ASTERISK_LONGEST_CALL from the environment, else never.
	LongestCall string `json:"longest_call,omitempty"`

	longest time.Duration // LongestCall, once it is validated
	live    bool          // changes reach it at once, if confd's configuration says so
}

func (a *App) resolveAsterisk(setting func(field *string, env, fallback string)) {
	if a.Asterisk == nil {
		a.Asterisk = new(Asterisk)
	}
	s := a.Asterisk
	setting(&s.Name, "RINGFENCE_ASTERISK_NAME", "main")
	setting(&s.Folder, "RINGFENCE_ASTERISK_FOLDER", "")
	setting(&s.Manager, "RINGFENCE_ASTERISK_MANAGER", "")
	setting(&s.Username, "RINGFENCE_ASTERISK_USERNAME", "ringfence")
	setting(&s.Secret, "RINGFENCE_ASTERISK_SECRET", "")
	log, etc, records := "", "", ""
	if s.Manager != "" && !strings.HasPrefix(s.Manager, "tls://") {
		log, etc, records = "/var/log/asterisk/messages.log", "/etc/asterisk", "/var/log/asterisk/cdr-custom/"+cdr.File
	}
	setting(&s.Log, "RINGFENCE_ASTERISK_LOG", log)
	setting(&s.Interfaces, "RINGFENCE_ASTERISK_INTERFACES", "")
	setting(&s.Etc, "RINGFENCE_ASTERISK_ETC", etc)
	setting(&s.Records, "RINGFENCE_ASTERISK_RECORDS", records)
	setting(&s.Recordings, "RINGFENCE_ASTERISK_RECORDINGS", asterisk.Recordings(s.Manager))
	setting(&s.LongestCall, "RINGFENCE_ASTERISK_LONGEST_CALL", "")
	// Where there is neither an Asterisk nor a folder for one, files are made only when somebody asks for them.
	s.live = s.Manager != "" || s.Folder != ""
	if s.Folder == "" {
		s.Folder = filepath.Join(a.Data, "asterisk")
	}
}

const maxAsteriskName = 64

func (s *Asterisk) validate() error {
	if len(s.Name) > maxAsteriskName || strings.ContainsFunc(s.Name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fmt.Errorf("the name of the Asterisk (RINGFENCE_ASTERISK_NAME) has more than %d bytes, a blank, or a character that is not ASCII", maxAsteriskName)
	}
	if err := asterisk.CheckInterfaces(strings.Fields(s.Interfaces)); err != nil {
		return fmt.Errorf("the interfaces of the Asterisk (RINGFENCE_ASTERISK_INTERFACES): %w", err)
	}
	if s.LongestCall != "" {
		longest, err := caddy.ParseDuration(s.LongestCall)
		if err != nil || longest < time.Minute {
			return fmt.Errorf("the longest call (RINGFENCE_ASTERISK_LONGEST_CALL) is %q; it must be a duration, such as 4h, of 1m at least", s.LongestCall)
		}
		s.longest = longest
	}
	if s.Manager == "" {
		return nil
	}
	address, encrypted := strings.CutPrefix(s.Manager, "tls://")
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the manager interface (RINGFENCE_ASTERISK_MANAGER) is %q; it must be host:port or tls://host:port", s.Manager)
	}
	if ip, err := netip.ParseAddr(host); !encrypted && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return fmt.Errorf("RINGFENCE_ASTERISK_MANAGER is on another machine, %s: the secret would cross the network unencrypted. Use tls://%s", host, address)
	}
	if s.Secret == "" {
		return fmt.Errorf("the manager interface (RINGFENCE_ASTERISK_MANAGER) needs a secret (RINGFENCE_ASTERISK_SECRET)")
	}
	for name, text := range map[string]string{"username (RINGFENCE_ASTERISK_USERNAME)": s.Username, "secret (RINGFENCE_ASTERISK_SECRET)": s.Secret} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("the %s of the manager interface has a control character", name)
		}
	}
	return nil
}

// useAsterisk makes the engine configure this configuration's Asterisk.
func (a *App) useAsterisk() {
	sender, _ := a.settings.Mailer.(*mail.Sender)
	a.engine.telephone.use(phoneSettings{Asterisk: *a.Asterisk, music: a.Helpers.MOH, sounds: a.Helpers.Sounds, voicemail: a.Helpers.Voicemail}, sender)
}

func (s phoneSettings) apply() apply.Settings {
	return apply.Settings{
		Folder: s.Folder, Name: s.Name, Log: s.Log,
		Manager: ami.Options{Address: s.Manager, Username: s.Username, Secret: s.Secret},
	}
}

// HelperFiles says which files of Asterisk the helper endpoints change, and whether the plain port serves them.
type HelperFiles struct {
	// Plain is "off" if the helper endpoints are served behind the gate alone, even where a site has ringfence_helpers open.
	// Default: RINGFENCE_HELPERS_PLAIN from the environment, else on.
	Plain string `json:"plain,omitempty"`
	// Voicemail is the folder of the voicemails; on a machine with Asterisk it is /var/spool/asterisk/voicemail. Default:
	// RINGFENCE_VOICEMAIL_FOLDER from the environment, else a folder below the data folder.
	Voicemail string `json:"voicemail,omitempty"`
	// MOH is the folder of music on hold; on a machine with Asterisk it is /var/lib/asterisk/moh. Default: RINGFENCE_MOH_FOLDER
	// from the environment, else a folder below the data folder.
	MOH string `json:"moh,omitempty"`
	// Sounds is the folder of tenants' own sounds, which Asterisk reads; on a machine with Asterisk it is /var/lib/asterisk/ringfence-sounds.
	// Default: RINGFENCE_SOUNDS_FOLDER from the environment, else a folder below the data folder.
	Sounds string `json:"sounds,omitempty"`
	// Autoprov is the autoprovisioning file; on a machine with Asterisk it is /etc/asterisk/pjsip.d/05-autoprov-wizard.conf.
	// Default: RINGFENCE_AUTOPROV_FILE from the environment, else a file below the data folder.
	Autoprov string `json:"autoprov,omitempty"`
}

const (
	plainOn  = "on"
	plainOff = "off"
)

func (a *App) resolveHelpers(setting func(field *string, env, fallback string)) {
	if a.Helpers == nil {
		a.Helpers = new(HelperFiles)
	}
	h, below := a.Helpers, filepath.Join(a.Data, "asterisk")
	setting(&h.Plain, "RINGFENCE_HELPERS_PLAIN", plainOn)
	setting(&h.Voicemail, "RINGFENCE_VOICEMAIL_FOLDER", filepath.Join(below, "voicemail"))
	setting(&h.MOH, "RINGFENCE_MOH_FOLDER", filepath.Join(below, "moh"))
	setting(&h.Sounds, "RINGFENCE_SOUNDS_FOLDER", filepath.Join(below, "sounds"))
	setting(&h.Autoprov, "RINGFENCE_AUTOPROV_FILE", filepath.Join(below, "autoprov", "05-autoprov-wizard.conf"))
}

func (h *HelperFiles) validate() error {
	if h.Plain != plainOn && h.Plain != plainOff {
		return fmt.Errorf("plain of helpers (RINGFENCE_HELPERS_PLAIN) is %q; it must be on or off", h.Plain)
	}
	folders := []string{filepath.Clean(h.Voicemail), filepath.Clean(h.MOH), filepath.Clean(h.Sounds)}
	slices.Sort(folders)
	if folders[0] == "/" || len(slices.Compact(folders)) < 3 {
		return errors.New("the folders of voicemails (RINGFENCE_VOICEMAIL_FOLDER), of music on hold (RINGFENCE_MOH_FOLDER) and of sounds (RINGFENCE_SOUNDS_FOLDER) " +
			"must be three, and none may be /")
	}
	return nil
}

// useHelpers makes the helper endpoints use this configuration's files. It makes the folders that are our
// own; Asterisk's are made by its package.
func (a *App) useHelpers() {
	own := 0
	folders := []string{a.Helpers.Voicemail, a.Helpers.MOH, a.Helpers.Sounds, filepath.Dir(a.Helpers.Autoprov)}
	for i, folder := range folders {
		if !strings.HasPrefix(folder, filepath.Join(a.Data, "asterisk")+"/") {
			if i < len(folders)-1 {
				if err := doctor.Writable(folder); err != nil {
					a.log.Warn("the gateway cannot change a folder of Asterisk: PINs, and the files of voicemails and music, "+
						"do not follow what is stored; see \"Setting it up\" in docs/apply.md", "folder", folder, "error", err)
				}
			}
			continue
		}
		own++
		if err := os.MkdirAll(folder, 0o700); err != nil {
			a.log.Warn("a folder for the helper endpoints cannot be made", "error", err)
		}
	}
	a.engine.helpers.Use(helpers.Settings{
		Voicemail: a.Helpers.Voicemail, MOH: a.Helpers.MOH, Sounds: a.Helpers.Sounds, Autoprov: a.Helpers.Autoprov, Own: own == len(folders),
		PlainOff: a.Helpers.Plain == plainOff,
	})
}
