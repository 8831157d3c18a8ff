package caddymodule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/doctor"
)

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
	// Autoprov is the autoprovisioning file; on a machine with Asterisk it is /etc/asterisk/pjsip.d/05-autoprov-wizard.conf.
	// Default: RINGFENCE_AUTOPROV_FILE from the environment, else a file below the data folder.
	Autoprov string `json:"autoprov,omitempty"`
}

const (
	plainOn  = "on"
	plainOff = "off"
)

// resolveHelpers fills in placeholders and defaults.
func (a *App) resolveHelpers(setting func(field *string, env, fallback string)) {
	if a.Helpers == nil {
		a.Helpers = new(HelperFiles)
	}
	h, below := a.Helpers, filepath.Join(a.Data, "asterisk")
	setting(&h.Plain, "RINGFENCE_HELPERS_PLAIN", plainOn)
	setting(&h.Voicemail, "RINGFENCE_VOICEMAIL_FOLDER", filepath.Join(below, "voicemail"))
	setting(&h.MOH, "RINGFENCE_MOH_FOLDER", filepath.Join(below, "moh"))
	setting(&h.Autoprov, "RINGFENCE_AUTOPROV_FILE", filepath.Join(below, "autoprov", "05-autoprov-wizard.conf"))
}

func (h *HelperFiles) validate() error {
	if h.Plain != plainOn && h.Plain != plainOff {
		return fmt.Errorf("plain of helpers (RINGFENCE_HELPERS_PLAIN) is %q; it must be on or off", h.Plain)
	}
	if voicemail, moh := filepath.Clean(h.Voicemail), filepath.Clean(h.MOH); voicemail == "/" || moh == "/" || voicemail == moh {
		return errors.New("the folders of voicemails (RINGFENCE_VOICEMAIL_FOLDER) and of music on hold (RINGFENCE_MOH_FOLDER) must be two, and neither may be /")
	}
	return nil
}

// useHelpers makes the helper endpoints use this configuration's files, at the same time as useBackends. It makes the folders that are our
// own; Asterisk's are made by its package.
func (a *App) useHelpers() {
	own := 0
	folders := []string{a.Helpers.Voicemail, a.Helpers.MOH, filepath.Dir(a.Helpers.Autoprov)}
	for i, folder := range folders {
		if !strings.HasPrefix(folder, filepath.Join(a.Data, "asterisk")+"/") {
			if i < 2 {
				if err := doctor.Writable(folder); err != nil {
					a.log.Warn("the gateway cannot change a folder of Asterisk: PINs, and the files of voicemails and music, do not follow what is stored; see \"Setting it up\" in docs/apply.md", "folder", folder, "error", err)
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
		Voicemail: a.Helpers.Voicemail, MOH: a.Helpers.MOH, Autoprov: a.Helpers.Autoprov, Own: own == len(folders),
		PlainOff: a.Helpers.Plain == plainOff,
	})
}

// parseHelperFiles reads
//
//	helpers {
//	    plain     on|off
//	    voicemail <folder>
//	    moh       <folder>
//	    autoprov  <file>
//	}
func (a *App) parseHelperFiles(d *caddyfile.Dispenser) error {
	h, err := once(d, "helpers", &a.Helpers)
	if err != nil {
		return err
	}
	return block(d, "helpers", map[string]value{
		"plain": text(&h.Plain), "voicemail": text(&h.Voicemail), "moh": text(&h.MOH), "autoprov": text(&h.Autoprov),
	})
}
