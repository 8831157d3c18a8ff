package apply

import (
	"context"
	"errors"
	"strings"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/jobs"
)

// reloads are the commands that reload a module, and its name. "core reload" reloads all.
var reloads = map[string]string{
	"core reload":      "",
	"dialplan reload":  "pbx_config",
	"iax2 reload":      "chan_iax2",
	"moh reload":       "res_musiconhold",
	"voicemail reload": "app_voicemail",
}

// Execute executes a command of Asterisk's console, if it is allowed, and returns when it has ended. It may return [jobs.ErrReloading] or
// [jobs.ErrNoAsterisk].
func (s *Service) Execute(ctx context.Context, command string) error {
	if s.client == nil {
		return jobs.ErrNoAsterisk
	}
	if !jobs.Allowed(command) {
		return errors.New("this command is not allowed")
	}
	module, reload := reloads[command]
	if name, ok := strings.CutPrefix(command, "module reload "); ok {
		module, reload = name, true
	}
	s.reloading.Lock() // nothing reads the files while they are swapped
	defer s.reloading.Unlock()
	if !reload {
		_, err := ami.Command(ctx, s.client, command)
		return err
	}
	err := s.client.Reload(ctx, module)
	if refused, ok := errors.AsType[*ami.ReloadError](err); ok && refused.Again {
		return errors.Join(jobs.ErrReloading, err)
	}
	return err
}
