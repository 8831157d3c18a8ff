package apply

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/internal/store"
)

// Options are what the service stands on.
type Options struct {
	DB store.DB
	// Generate returns what is to be applied for what is stored now, without what was refused.
	Generate func(ctx context.Context, refused Refused) (Output, error)
	// Heard returns what an event tells that a telephone has changed, and a function that stores it, or nil if it tells nothing.
	Heard func(event ami.Message) (News, func(ctx context.Context) error)
	// Keep stores a state that a telephone has changed while nobody heard of it. Nil: the stored state stands.
	Keep func(ctx context.Context, state userstate.State) error
	// States returns the users' states as they are stored now.
	States func(ctx context.Context) ([]userstate.State, error)
	// ForgetPIN removes the PIN that a telephone has given a mailbox, whose configured one is about to change.
	ForgetPIN func(m Mailbox) error
	// ReadPIN returns the PIN that a telephone has given a mailbox, or "". KeepPIN stores it, unless another one than last was configured
	// meanwhile, and reports whether it is stored now. Their errors never have a PIN in them.
	ReadPIN func(m Mailbox) (string, error)
	KeepPIN func(ctx context.Context, m Mailbox, pin, last string) (stored bool, err error)
	// LiveReload reports whether changes are to reach the telephone system at once.
	LiveReload func(ctx context.Context) (bool, error)
}

// Output is what is made from the stored configuration.
type Output struct {
	Files generation.Files
	// Source says in a few words what it was made from.
	Source string
	// LeftOut is what the files lack of what is stored.
	LeftOut []leftout.Omission
}

// Settings are what is known when a configuration is used.
type Settings struct {
	// Folder is where the generations are.
	Folder string
	// Keep is how many generations stay. Default: 10.
	Keep int
	// Name tells one Asterisk from another, among the nodes on one database.
	Name string
	// Manager is how to reach Asterisk. Without an address the files are made, and nobody is told.
	Manager ami.Options
	// Log is the path of Asterisk's log: what it complains about while it reloads is in the log of the job. "": that is not read.
	Log string
	// Lease is how long a node that has died keeps the others waiting. Default: 15 s.
	Lease time.Duration
	// Idle is how often the node with the lease renews it while there is nothing to do. Default: 1 minute.
	Idle time.Duration
	// Poll is how often a node looks for jobs, and for the lease, when nobody tells it. Default: 250 ms.
	Poll time.Duration
	// Reach is how long a job waits for an Asterisk that cannot be reached, or for a node that can write in its folder. Default: 10 s.
	Reach time.Duration
	// Pause is the least time between two jobs that changes ask for; a fourth of it where they compare states alone. Default: 1 s.
	Pause time.Duration
	// Late is how long after it was heard a change of a telephone is stored without looking what else has changed. Default: 250 ms.
	Late time.Duration
}

// Service applies. It is safe for concurrent use.
type Service struct {
	options  Options
	settings Settings
	queue    queue
	lease    lease
	holder   atomic.Pointer[string] // its name, as soon as Run has it
	client   *ami.Client            // nil: there is no Asterisk

	// reloading is held while Asterisk reloads, so that nothing is reloaded while the files are swapped.
	reloading sync.Mutex
	// wake tells Run that there may be a job; changed that a change was committed.
	wake, changed chan struct{}

	heard chan heard

	mu       sync.Mutex
	store    *generation.Store
	id       string // the name of its folder
	held     bool
	useless  error // why this node could not begin, although it had the lease
	refusals map[[2]string]refusal
	agreed   agreed
	// Only the goroutine of Run has the rest.
	owners     map[string]bool // of the states when they were made to agree last
	unread     complaint       // of Asterisk's log
	unreadPINs complaint
	elsewhere  elsewhere
	clean      int64 // the generation that was checked last; 0: none
	// compare says that Asterisk's states may have changed unheard.
	compare atomic.Bool
	// unsure says that Asterisk may not have what is live: nobody has looked since it was reached, or since it refused something.
	unsure   atomic.Bool
	look     look
	contacts contacts
	news     chan struct{} // closed, and replaced, when a job has changed
}

// New returns a service, which works while Run runs.
func New(o Options, s Settings) *Service {
	s.Keep = cmp.Or(s.Keep, 10)
	s.Lease = cmp.Or(s.Lease, 15*time.Second)
	s.Idle = cmp.Or(s.Idle, time.Minute)
	s.Poll = cmp.Or(s.Poll, 250*time.Millisecond)
	s.Reach = cmp.Or(s.Reach, 10*time.Second)
	s.Pause = cmp.Or(s.Pause, time.Second)
	s.Late = cmp.Or(s.Late, 250*time.Millisecond)
	service := &Service{
		options: o, settings: s,
		queue: queue{o.DB, s.Name},
		lease: lease{o.DB, s.Name, "", s.Lease},
		wake:  make(chan struct{}, 1), changed: make(chan struct{}, 1), news: make(chan struct{}), heard: make(chan heard, maxHeard),
		look:   look{turn: make(chan struct{}, 1)},
		agreed: agreed{o.DB, s.Name}, refusals: map[[2]string]refusal{},
	}
	service.unsure.Store(true)
	s.Manager.Events = service.hear
	if s.Manager.Address != "" {
		service.client = ami.NewClient(s.Manager, ami.Watch{Connected: service.connected, Booted: service.booted, Report: reportConnection})
	}
	return service
}

func reportConnection(err error) {
	if err != nil {
		slog.Warn("Asterisk's manager interface cannot be used; trying again", "error", err)
		return
	}
	slog.Info("Asterisk's manager interface can be used again")
}

// connected runs when Asterisk can be reached: its states may have changed unheard.
func (s *Service) connected(context.Context, *ami.Conn) error {
	s.compare.Store(true)
	s.unsure.Store(true)
	return nil
}

// booted runs when Asterisk takes reloads again: it may have missed something, and jobs may have failed since.
func (s *Service) booted() {
	poke(s.changed)
	poke(s.wake)
}

// Holder returns the name under which this node holds the lease, or "" before it has one.
func (s *Service) Holder() string {
	if name := s.holder.Load(); name != nil {
		return *name
	}
	return ""
}

// Changed says that something which the files are made from has changed. It does not block.
func (s *Service) Changed() { poke(s.changed) }

// poke leaves a note in a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (s *Service) Run(ctx context.Context) {
	if s.client == nil {
		slog.Info("no Asterisk is configured: its configuration is only written to a folder", "folder", s.settings.Folder)
	}
	holder, release, err := identify(s.settings.Folder)
	if err != nil {
		slog.Warn("after a crash this node will have to wait for its own right to configure Asterisk", "error", err)
	}
	defer release()
	s.holder.Store(&holder)
	s.lease.holder = holder // before anything uses the lease; others read it once they have seen held
	var work sync.WaitGroup
	defer work.Wait()
	if s.client != nil { // it is needed until the last change is finished, or taken back
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		work.Go(func() { s.client.Run(ctx) })
	}
	work.Go(func() { s.follow(ctx) })
	work.Go(func() { s.listen(ctx) })
	work.Go(func() { s.keepHeard(ctx) })
	s.Changed() // what was committed before this start, and never heard of
	s.lead(ctx)
	s.close()
}

// listen wakes this node when another one has added a job.
func (s *Service) listen(ctx context.Context) {
	wake := func() {
		poke(s.wake)
		s.tell()
	}
	for ctx.Err() == nil {
		err := s.options.DB.Listen(ctx, channel, store.Listener{
			Ready: wake, Lost: func(error) {},
			Deliver: func(string) { wake() },
		})
		if err != nil && ctx.Err() == nil {
			slog.Warn("not hearing of other nodes' jobs; asking for them now and then", "error", err)
		}
		pause(ctx, s.settings.Lease)
	}
}

// complaint is a part of the log that says the same thing once, and not every time.
type complaint struct{ last string }

func (c *complaint) about(err error, message string) {
	switch {
	case err == nil:
		c.last = ""
	case err.Error() != c.last:
		c.last = err.Error()
		slog.Warn(message, "error", err)
	}
}

// follow asks for a job when something has changed: for one that applies at most once in a pause, and meanwhile for some that compare states.
func (s *Service) follow(ctx context.Context) {
	var failing complaint
	var applied time.Time
	var due <-chan time.Time // when what has changed since is applied
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-due:
			due = nil
		}
		on, err := s.options.LiveReload(ctx)
		switch {
		case err != nil:
		case on && time.Since(applied) >= s.settings.Pause:
			if _, err = s.ask(ctx, kindApply, nil); err == nil {
				applied, due = time.Now(), nil
			}
		default:
			if s.client != nil {
				_, err = s.ask(ctx, kindStates, nil)
			}
			if on && due == nil {
				due = time.After(time.Until(applied.Add(s.settings.Pause)))
			}
		}
		if ctx.Err() != nil {
			return
		}
		if failing.about(err, "changes do not reach Asterisk now; trying again"); err != nil {
			s.Changed()
		}
		pause(ctx, s.settings.Pause/4)
	}
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
