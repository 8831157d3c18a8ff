package apply

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
)

// fresh is for how long an answer of Asterisk serves all who ask: each question costs it time that calls need.
const fresh = time.Second

// lookTime bounds the questions of one answer.
const lookTime = 10 * time.Second

// look is what was seen last.
type look struct {
	turn chan struct{} // who has its element may look
	at   time.Time
	seen jobs.Live
	// endpoints are the SIP endpoints of a generation.
	generation int64
	endpoints  map[string]bool
}

// Live returns the state of the running Asterisk, with all rows. Nobody may change what it returns.
func (s *Service) Live(ctx context.Context) (jobs.Live, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	files, _, err := s.own(ctx)
	if err != nil {
		return jobs.Live{}, err
	}
	if s.client == nil || !s.client.Ready() {
		return jobs.Live{}, apierr.New(apierr.Unavailable, "Asterisk cannot be asked now, or this gateway has none")
	}
	select {
	case s.look.turn <- struct{}{}:
		defer func() { <-s.look.turn }()
	case <-ctx.Done():
		return jobs.Live{}, apierr.New(apierr.Unavailable, "Asterisk takes too long to answer")
	}
	if time.Since(s.look.at) < fresh {
		return s.look.seen, nil
	}
	if err = s.learn(files); err == nil {
		var seen jobs.Live
		if seen, err = s.seeAll(ctx); err == nil {
			s.look.seen, s.look.at = seen, time.Now()
			return seen, nil
		}
	}
	slog.Warn("Asterisk cannot be asked how it is", "error", err)
	return jobs.Live{}, apierr.New(apierr.Unavailable, "Asterisk does not answer how it is")
}

// learn reads which SIP endpoints are in the files that are live.
func (s *Service) learn(files *generation.Store) error {
	live, err := files.Live()
	if err != nil || s.look.endpoints != nil && s.look.generation == live {
		return err
	}
	_, all, err := files.Read(live)
	if err != nil {
		return err
	}
	parsed, err := conf.Parse(all["pjsip.conf"])
	if err != nil {
		return err
	}
	s.look.generation, s.look.endpoints = live, map[string]bool{}
	for _, name := range sectionsOf(parsed, "endpoint") {
		s.look.endpoints[name] = true
	}
	return nil
}

func (s *Service) seeAll(ctx context.Context) (l jobs.Live, err error) {
	settings, err := s.client.Do(ctx, ami.Action{Name: "CoreSettings"})
	if err != nil {
		return l, err
	}
	status, err := s.client.Do(ctx, ami.Action{Name: "CoreStatus"})
	if err != nil {
		return l, err
	}
	l.Version = settings.Get("AsteriskVersion")
	l.StartedAt = moment(status.Get("CoreStartupDate"), status.Get("CoreStartupTime"))
	l.ReloadedAt = moment(status.Get("CoreReloadDate"), status.Get("CoreReloadTime"))
	channels, err := ami.Listed(ctx, s.client, ami.Action{Name: "CoreShowChannels"}, "CoreShowChannel")
	if err != nil {
		return l, err
	}
	for _, m := range channels {
		l.Channels.Items = append(l.Channels.Items, s.channel(m))
	}
	contacts, err := ami.Listed(ctx, s.client, ami.Action{Name: "PJSIPShowContacts"}, "ContactList")
	if err != nil {
		return l, err
	}
	trunks := map[string]*jobs.LiveTrunk{}
	for _, m := range contacts {
		s.contact(m, &l, trunks)
	}
	outbound, err := ami.Listed(ctx, s.client, ami.Action{Name: "PJSIPShowRegistrationsOutbound"}, "OutboundRegistrationDetail")
	if err != nil {
		return l, err
	}
	for _, m := range outbound {
		name := m.Get("ObjectName")
		if trunks[name] == nil {
			trunks[name] = &jobs.LiveTrunk{Of: s.of(name), State: reachability("")}
		}
		trunks[name].At, trunks[name].Registration = host(m.Get("ServerUri")), m.Get("Status")
	}
	for _, t := range trunks {
		l.Trunks.Items = append(l.Trunks.Items, *t)
	}
	slices.SortFunc(l.Trunks.Items, func(a, b jobs.LiveTrunk) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	waiting, err := s.client.List(ctx, ami.Action{Name: "QueueStatus"})
	if refused, is := errors.AsType[*ami.ResponseError](err); err != nil && (!is || !strings.HasPrefix(refused.Message, "Invalid/unknown command")) {
		return l, err // an Asterisk without app_queue has no queues
	}
	l.Queues.Items = queuesOf(waiting)
	kept, err := ami.Tree(ctx, s.client, waitingFamily)
	if _, refused := errors.AsType[*ami.ResponseError](err); err != nil && !refused {
		return l, err // an Asterisk before 20.2 cannot list it
	}
	l.Switchboards.Items = switchboardsOf(kept, channels)
	slices.SortStableFunc(l.Registrations.Items, func(a, b jobs.Registration) int { return cmp.Compare(a.Endpoint, b.Endpoint) })
	slices.SortStableFunc(l.Channels.Items, func(a, b jobs.Channel) int { return cmp.Compare(a.Call, b.Call) })
	return l, nil
}

func (s *Service) of(endpoint string) jobs.Of {
	return jobs.Of{Endpoint: endpoint, Generated: s.look.endpoints[endpoint]}
}

func (s *Service) channel(m ami.Message) jobs.Channel {
	c := jobs.Channel{
		Call: m.Get("Linkedid"), State: m.Get("ChannelStateDesc"), Number: known(m.Get("CallerIDNum")), Name: known(m.Get("CallerIDName")),
		With: known(m.Get("ConnectedLineNum")), WithWho: known(m.Get("ConnectedLineName")), Dialled: m.Get("Exten"), Seconds: seconds(m.Get("Duration")),
	}
	c.Kind, _, _ = strings.Cut(m.Get("Channel"), "/")
	c.Of = s.of(cdr.Endpoint(m.Get("Channel")))
	return c
}

// instant returns the time that is so many seconds after 1970; nil, if it is none.
func instant(seconds string) *time.Time {
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || at <= 0 {
		return nil
	}
	return new(time.Unix(at, 0).UTC())
}

// contact adds what Asterisk has of an address: where a telephone has registered or, if it is in the files, another system.
func (s *Service) contact(m ami.Message, l *jobs.Live, trunks map[string]*jobs.LiveTrunk) {
	name, _, registered := strings.Cut(m.Get("ObjectName"), ";@")
	state, latency := reachability(m.Get("Status")), milliseconds(m.Get("RoundtripUsec"))
	if state != "reachable" {
		latency = nil
	}
	if registered {
		r := jobs.Registration{Of: s.of(name), From: host(m.Get("Uri")), Agent: m.Get("UserAgent"), State: state, LatencyMS: latency}
		r.ExpiresAt = instant(m.Get("ExpirationTime"))
		s.contacts.tell(&r, name, m.Get("Uri"))
		l.Registrations.Items = append(l.Registrations.Items, r)
		return
	}
	name, _, _ = strings.Cut(m.Get("ObjectName"), "@@")
	trunks[name] = &jobs.LiveTrunk{Of: s.of(name), At: host(m.Get("Uri")), State: state, LatencyMS: latency}
}

// known returns a number or name, unless Asterisk says that it is not known.
func known(text string) string {
	if text == "<unknown>" {
		return ""
	}
	return text
}

func reachability(status string) string {
	if status == "Reachable" || status == "Unreachable" {
		return strings.ToLower(status)
	}
	return "unknown"
}

func milliseconds(microseconds string) *float64 {
	n, err := strconv.Atoi(microseconds)
	if err != nil || n <= 0 {
		return nil
	}
	return new(float64(n) / 1000)
}

// seconds reads a duration such as 01:02:03.
func seconds(text string) (all int64) {
	for part := range strings.SplitSeq(text, ":") {
		n, _ := strconv.ParseInt(part, 10, 64)
		all = all*60 + n
	}
	return all
}

// host returns the host and the port of a SIP address, and nothing else that is in it.
func host(uri string) string {
	_, rest, _ := strings.Cut(uri, ":")
	if _, after, is := strings.Cut(rest, "@"); is {
		rest = after
	}
	if end := strings.IndexAny(rest, ";>?"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// moment reads a day and a time of that day, which Asterisk tells without their zone.
func moment(day, at string) *time.Time {
	t, err := time.ParseInLocation(time.DateTime, day+" "+at, time.Local)
	if err != nil {
		return nil
	}
	return new(t.UTC())
}
