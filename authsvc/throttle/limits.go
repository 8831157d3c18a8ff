package throttle

import (
	"errors"
	"time"
)

// Limits say how guessing and flooding are slowed down. A zero field means its default.
type Limits struct {
	// FreeGuesses is how many wrong passwords a login may have before it must wait. Default: 10.
	FreeGuesses int
	// Delay is the first wait. Each further wrong password doubles it, up to MaxDelay. Default: 1 second, 15 minutes.
	Delay, MaxDelay time.Duration
	// ForgetAfter is how long after its last attempt a login's wrong passwords are forgotten. Default: 2 hours.
	ForgetAfter time.Duration
	// TrustFor is how long a network from which a login has succeeded has its own count. Default: 30 days.
	TrustFor time.Duration
	// NetworkGuesses limits the wrong passwords from one network (an IPv4 address, an IPv6 /64). An office behind one address has
	// many. Default: 200, and one every 5 seconds.
	NetworkGuesses Rate
	// Mails limits the mails to one address. Default: 3, and one every 15 minutes.
	Mails Rate
	// MailRequests limits the requests from one network to reset a password. Default: 20, and one a minute.
	MailRequests Rate
	// Registrations limits the accounts created from one network. Default: 5, and one every 10 minutes.
	Registrations Rate
}

// Rate is an allowance: Burst at once, and one more per Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Beyond these the arithmetic of microseconds would overflow, here and in the databases.
const (
	maxBurst = 1_000_000
	maxEvery = 30 * 24 * time.Hour
	maxTrust = 10 * 365 * 24 * time.Hour
)

// WithDefaults replaces zero fields by their defaults, and refuses limits that contradict each other.
func (l Limits) WithDefaults() (Limits, error) {
	fill(&l.FreeGuesses, 10)
	fill(&l.Delay, time.Second)
	fill(&l.MaxDelay, 15*time.Minute)
	fill(&l.ForgetAfter, 2*time.Hour)
	fill(&l.TrustFor, 30*24*time.Hour)
	fill(&l.NetworkGuesses, Rate{200, 5 * time.Second})
	fill(&l.Mails, Rate{3, 15 * time.Minute})
	fill(&l.MailRequests, Rate{20, time.Minute})
	fill(&l.Registrations, Rate{5, 10 * time.Minute})
	if l.FreeGuesses < 1 || l.FreeGuesses > maxBurst || l.Delay < time.Millisecond ||
		l.MaxDelay < l.Delay || l.ForgetAfter < l.MaxDelay || l.TrustFor < l.ForgetAfter || l.TrustFor > maxTrust {
		return l, errors.New("limits of guesses: from one to a million are free, and the times, from a millisecond to ten years, " +
			"are in the order delay, max delay, forget after, trust for")
	}
	for _, r := range []Rate{l.NetworkGuesses, l.Mails, l.MailRequests, l.Registrations} {
		if r.Burst < 1 || r.Burst > maxBurst || r.Every < time.Millisecond || r.Every > maxEvery {
			return l, errors.New("a rate must be from one to a million at once, and one more per time from a millisecond to 30 days")
		}
	}
	return l, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// window is how far in the future the next free moment of a rate may be.
func (r Rate) window() int64 { return int64(r.Burst-1) * r.Every.Microseconds() }

// doublings returns how often the delay is doubled until it is the longest.
func (l *Limits) doublings() int {
	n := 0
	for d := l.Delay; d < l.MaxDelay; d *= 2 {
		n++
	}
	return n
}
