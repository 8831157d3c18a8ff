package ami

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The status of a module's reload, as the event Reload numbers it.
var reloadStatus = map[string]string{
	"0": "reloaded",
	"1": "queued until Asterisk has booted",
	"2": "no such module",
	"3": "failed: Asterisk's log says why",
	"4": "another reload is in progress",
	"5": "not initialised: the module refused to load",
	"6": "the module cannot reload",
}

// ReloadError says that Asterisk did not reload a module.
type ReloadError struct {
	Module string
	// Reason is in our words, with Asterisk's in quotes.
	Reason string
	// Again says that the reload was refused or put off only for now: another one is in progress, or Asterisk is still booting.
	Again bool
	// Missing says that Asterisk has no such module, or has not loaded it.
	Missing bool
	// refused says that the module has refused to load.
	refused bool
}

func (e *ReloadError) Error() string { return fmt.Sprintf("reloading %s: %s", e.Module, e.Reason) }

// errNoVerdict says that a reload was accepted, and nothing was heard of how it ended.
var errNoVerdict = errors.New("no event says how the reload ended: does the manager account have read = system?")

// Reload reloads one module, or all if module is "", and returns nil if Asterisk says that it worked. The response alone is no verdict: Success may hide an
// error, which only the event Reload tells. It comes by another way than the response, before or after it.
//
// A module that has refused to load when Asterisk started, since it could not read its file, is loaded then.
//
// While another reload is in progress, which Asterisk refuses to queue, Reload tries again, and before all it waits until
// Asterisk has booted. After [ErrDisconnected] the outcome is unknown, and trying again would not tell it: a file that did not
// change since it was read is skipped with success, also if it is broken. It waits as long as Asterisk answers on another connection.
func (c *Conn) Reload(ctx context.Context, module string) error {
	ctx, cancel := context.WithTimeout(ctx, maxReload)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go c.attend(ctx, giveUp)
	err := c.reloadUntil(ctx, module)
	if stalled := context.Cause(ctx); err != nil && errors.Is(stalled, errStalled) {
		return fmt.Errorf("reloading %s: %w", module, stalled)
	}
	return err
}

// maxReload bounds a reload during which Asterisk answers: one that never ends must not keep all others waiting.
const maxReload = 30 * time.Minute

// errStalled says that Asterisk has stopped to answer.
var errStalled = errors.New("no answer: Asterisk has said nothing for too long, on another connection either")

// attend gives up once Asterisk has answered nothing for too long. A connection that reloads says nothing until the reload has ended, which
// takes minutes where there is much to load, so it asks on another one.
func (c *Conn) attend(ctx context.Context, giveUp context.CancelCauseFunc) {
	o := c.options
	o.Events, o.Timeout = nil, min(o.Timeout, o.Stalled)
	var other *Conn
	defer func() {
		if other != nil {
			_ = other.Close()
		}
	}()
	answered := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(o.Stalled/10, 5*time.Second)):
		}
		if other == nil {
			other, _ = Dial(ctx, o) // without one, nothing answers
		}
		if other != nil {
			if _, err := other.Do(ctx, Action{Name: "Ping"}); err == nil {
				answered = time.Now()
			} else {
				_ = other.Close()
				other = nil
			}
		}
		if time.Since(answered) >= o.Stalled {
			giveUp(errStalled)
			return
		}
	}
}

// reloadUntil reloads until ctx ends.
func (c *Conn) reloadUntil(ctx context.Context, module string) error {
	boots, cancel := context.WithTimeout(ctx, c.options.Stalled)
	defer cancel()
	if err := c.Booted(boots); err != nil {
		return fmt.Errorf("reloading %s: %w", module, err)
	}
	wait := c.options.RetryMin
	for {
		err := c.reload(ctx, module)
		refused, ok := errors.AsType[*ReloadError](err)
		if ok && refused.refused {
			return c.load(ctx, module)
		}
		if !ok || !refused.Again {
			return err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		case <-ctx.Done():
			return err
		}
	}
}

// load loads a module that has refused to load before.
func (c *Conn) load(ctx context.Context, module string) error {
	_, err := c.Do(ctx, Action{"ModuleLoad", []Header{{"Module", moduleName(module) + ".so"}, {"LoadType", "load"}}})
	if refused, ok := errors.AsType[*ResponseError](err); ok {
		return &ReloadError{Module: module, Reason: "it has refused to load, and does so still: Asterisk says " + shown(refused.Message), Missing: true}
	}
	return err
}

// Booted waits until Asterisk says that it has booted: before that it puts reloads off.
func (c *Conn) Booted(ctx context.Context) error {
	select {
	case <-c.booted: // it counts also if ctx has just ended
		return nil
	default:
	}
	select {
	case <-c.booted:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return fmt.Errorf("waiting for Asterisk to say that it has booted (does the manager account have read = system?): %w", ctx.Err())
	}
}

func (c *Conn) reload(ctx context.Context, module string) error {
	verdict, stop := c.watch(func(m Message) bool {
		return m.Event() == "Reload" && moduleName(m.Get("Module")) == moduleName(module)
	})
	defer stop()
	action := Action{Name: "Reload"}
	if module != "" {
		action.Headers = []Header{{"Module", module}}
	}
	_, _, err := c.do(ctx, action, false)
	if refused, ok := errors.AsType[*ResponseError](err); ok {
		again := strings.Contains(strings.ToLower(refused.Message), "in progress")
		missing := strings.Contains(strings.ToLower(refused.Message), "no such module")
		return &ReloadError{module, "Asterisk says " + shown(refused.Message), again, missing, strings.Contains(strings.ToLower(refused.Message), "not initialized")}
	}
	if err != nil {
		return fmt.Errorf("reloading %s: %w", module, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	switch err := c.await(ctx, verdict.found); {
	case errors.Is(err, ErrDisconnected):
		return fmt.Errorf("reloading %s: %w", module, err)
	case err != nil:
		return fmt.Errorf("reloading %s: %w", module, errNoVerdict)
	}
	status := verdict.event.Get("Status")
	if status == "0" {
		return nil
	}
	reason, known := reloadStatus[status]
	if !known {
		reason = "unknown status " + shown(status)
	}
	return &ReloadError{module, reason, status == "1" || status == "4", status == "2", status == "5"}
}

// moduleName returns a module's name as it is compared: "res_pjsip.so" and "res_pjsip" are one.
func moduleName(name string) string {
	if name == "" {
		return "all" // as the event calls a reload of all modules
	}
	return strings.TrimSuffix(strings.ToLower(name), ".so")
}
