package apply

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

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

// Trunk is how Asterisk has the SIP endpoint of a trunk.
type Trunk struct {
	Loaded bool
	// Registered is nil unless it registers, Reachable unless it is asked whether it answers, and Latency unless it has answered.
	Registered, Reachable *bool
	Latency               *time.Duration
}

// Trunk asks Asterisk for the SIP endpoint of a trunk, by its name. It may return [jobs.ErrNoAsterisk], also if Asterisk is away.
func (s *Service) Trunk(ctx context.Context, name string) (t Trunk, err error) {
	if s.client == nil || !s.client.Ready() {
		return t, jobs.ErrNoAsterisk
	}
	has, err := ami.Endpoint(ctx, s.client, name)
	if t.Loaded = len(has) > 0; err != nil || !t.Loaded {
		return t, err
	}
	for _, m := range has {
		status := m.Get("Status")
		if m.Event() != "ContactStatusDetail" || status != "Reachable" && status != "Unreachable" {
			continue
		}
		if t.Reachable == nil || !*t.Reachable {
			t.Reachable = new(status == "Reachable")
		}
		if took, err := strconv.Atoi(m.Get("RoundtripUsec")); err == nil && *t.Reachable && t.Latency == nil {
			t.Latency = new(time.Duration(took) * time.Microsecond)
		}
	}
	all, err := ami.Registrations(ctx, s.client)
	if status, registers := all[name]; registers {
		t.Registered = new(status == "Registered")
	}
	return t, err
}
