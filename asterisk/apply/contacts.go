package apply

import (
	"sync"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/jobs"
)

// contacts remembers since when telephones are registered. Asterisk tells that by events alone, so what they told of another connection is forgotten.
type contacts struct {
	mu    sync.Mutex
	began time.Time // when the events of this connection began
	since map[[2]string]time.Time
}

// hear takes an event. Of a telephone that registers once more in time, Asterisk tells nothing.
func (c *contacts) hear(m ami.Message) {
	at := [2]string{m.Get("AOR"), m.Get("URI")}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Event() == "FullyBooted":
		c.began, c.since = time.Now(), map[[2]string]time.Time{}
	case m.Event() != "ContactStatus" || c.since == nil:
	case m.Get("ContactStatus") == "Removed":
		delete(c.since, at)
	case m.Get("ContactStatus") == "NonQualified": // it is new: nobody has asked it yet
		c.since[at] = time.Now()
	}
}

// tell fills in since when a telephone is registered, or before when it was.
func (c *contacts) tell(r *jobs.Registration, aor, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since, known := c.since[[2]string{aor, uri}]; known {
		r.Since = new(since.UTC())
	} else if !c.began.IsZero() {
		r.Before = new(c.began.UTC())
	}
}
