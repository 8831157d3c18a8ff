package jobs

import (
	"errors"
	"regexp"
	"slices"
)

// The errors that say that a command was not executed.
var (
	// ErrReloading says that a reload is in progress: the command is tried again.
	ErrReloading = errors.New("a reload is in progress")
	// ErrNoAsterisk says that there is no Asterisk to execute it: the command is skipped.
	ErrNoAsterisk = errors.New("no Asterisk is configured on this machine")
)

// allowed are the commands that a request may name. A command is compared as a whole.
var allowed = []string{
	"core reload",
	"core restart now",
	"dialplan reload",
	"iax2 reload",
	"module reload app_confbridge.so",
	"module reload app_queue.so",
	"module reload chan_sccp.so",
	"module reload features",
	"module reload res_hep.so",
	"module reload res_parking.so",
	"module reload res_pjsip.so",
	"module reload res_rtp_asterisk.so",
	"moh reload",
	"voicemail reload",
}

// sccpReset is the one allowed command with an argument: the name of a telephone.
var sccpReset = regexp.MustCompile(`\Asccp reset [A-Z]{3}[0-9A-F]{12}\z`)

// Allowed reports whether a request may have the command executed.
func Allowed(command string) bool {
	return slices.Contains(allowed, command) || sccpReset.MatchString(command)
}
