package callrecords

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/store"
)

// Settings are where records come from.
type Settings struct {
	// Asterisk is the nodes' name for it.
	Asterisk string
	// File is the file of records that it writes, or "" if there is none here.
	File string
}

// Hear takes an event with a record. It does not block. get returns the event's header of a name.
func (s *Service) Hear(get func(header string) string) {
	r, err := cdr.FromEvent(get)
	if err != nil {
		s.strange(err)
		return
	}
	select {
	case s.heard <- r:
	default:
		slog.Warn("too many records of calls wait to be stored; Asterisk's file has the others")
		s.CatchUp()
	}
}

// CatchUp makes Run read Asterisk's file, soon: there may be records that nobody heard of. It does not block.
func (s *Service) CatchUp() {
	select {
	case s.catchUp <- struct{}{}:
	default:
	}
}

// strange counts what is no record. It is not shown: it may be of a version of Asterisk, or of a configuration, that writes other fields.
func (s *Service) strange(err error) {
	s.unreadable()
	slog.Warn("a record of a call cannot be read: do cdr_manager.conf or cdr_custom.conf have mappings beside the generated ones?", "error", err)
}

const (
	// hourly is how often the file is read without a reason: what could not be stored is in it.
	hourly = time.Hour
	// again is how long a database that fails is left alone.
	again = 2 * time.Second
	// together is how many records are stored by one transaction. SQLite's writer is held for so long.
	together = 100
)

// Run stores records until ctx ends. A record that was heard and is not stored when the process ends is in Asterisk's file, which is read at
// the next start; without a file here it is lost.
func (s *Service) Run(ctx context.Context, from Settings) {
	s.CatchUp()
	s.sweepFiles(ctx)
	tick := time.NewTicker(hourly)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.heard:
			some := []cdr.Record{r}
			for len(some) < together && len(s.heard) > 0 {
				some = append(some, <-s.heard)
			}
			s.insist(ctx, func() error {
				return s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error { return s.keep(ctx, c, from.Asterisk, some) })
			})
		case <-s.catchUp:
			s.insist(ctx, func() error { return s.readFile(ctx, from) })
		case <-tick.C:
			s.CatchUp()
			s.sweepFiles(ctx)
		}
	}
}

// insist does something until it succeeds.
func (s *Service) insist(ctx context.Context, do func() error) {
	for said := false; ; said = true {
		err := do()
		if err == nil || ctx.Err() != nil {
			return
		}
		if !said {
			slog.Warn("records of calls wait to be stored; trying again", "error", err)
		}
		if !errors.Is(err, store.ErrUnavailable) && said { // what fails twice for another reason would fail for ever, and the file is read again
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// keep stores records, each once: one that is known by its name stays as it is. Those of tenants that are not there, or older than their tenant
// keeps them, are left out.
func (s *Service) keep(ctx context.Context, c store.Conn, asterisk string, records []cdr.Record) error {
	settings, err := settingsOf(ctx, c)
	if err != nil {
		return err
	}
	users, err := s.usersOf(ctx, c, records)
	if err != nil {
		return err
	}
	for _, r := range records {
		tenant := r.TenantUUID()
		its, is := settings[tenant]
		if !is || r.Start.Before(its.since(time.Now())) {
			continue
		}
		call := callOf(r, func(channel string) *User {
			if u, is := users[cdr.Endpoint(channel)]; is && u.TenantUUID == tenant {
				return &u
			}
			return nil
		})
		its.shorten(&call)
		if _, err := c.Exec(ctx, `
			INSERT INTO call_record (tenant_uuid, asterisk, unique_id, sequence, conversation_id, start_at, answer_at, end_at, duration, direction, status,
				source_name, source_extension, source_user_uuid, destination_name, destination_extension, destination_user_uuid, requested_extension)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT (asterisk, unique_id, sequence) DO NOTHING`,
			tenant, asterisk, r.UniqueID, r.Sequence, call.ConversationID, call.Start, call.Answer, call.End, call.Duration, call.Direction, call.Status,
			call.SourceName, call.Source, call.SourceUser, call.DestName, call.Destination, call.DestUser, call.Requested); err != nil {
			return err
		}
		if err := keepRecording(ctx, c, asterisk, tenant, r); err != nil {
			return err
		}
	}
	return nil
}

// usersOf returns the users of the telephones in some records, by the names of their endpoints.
func (s *Service) usersOf(ctx context.Context, c store.Conn, records []cdr.Record) (map[string]User, error) {
	var names []string
	seen := map[string]bool{"": true}
	for _, r := range records {
		for _, name := range []string{cdr.Endpoint(r.Channel), cdr.Endpoint(r.Destination)} {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	found, err := s.users(ctx, c, names)
	users := make(map[string]User, len(found))
	for _, u := range found {
		users[u.Endpoint] = u
	}
	return users, err
}

// callOf returns a record as clients read it. on returns the user whose telephone a channel is. The telephones know best who called and who was
// called; where there was none, as on the way to a mailbox, the dialplan does.
func callOf(r cdr.Record, on func(channel string) *User) Call {
	call := Call{
		ConversationID: cmp.Or(r.LinkedID, r.UniqueID), Start: r.Start, End: r.End, Duration: r.Billed, Direction: r.Direction,
		Status: cmp.Or(dispositions[r.Disposition], "failed"), SourceName: r.Name, Source: r.Source, Destination: r.Dialled, Requested: r.Dialled,
	}
	if call.Direction != "inbound" && call.Direction != "outbound" {
		call.Direction = "internal"
	}
	if !r.Answer.IsZero() && call.Status == "answered" {
		call.Answer = &r.Answer
	}
	source, destination := r.Callers()
	if u := on(r.Channel); u != nil {
		source, call.SourceName = u.UUID, u.Name
	}
	if u := on(r.Destination); u != nil {
		destination, call.DestName, call.Destination = u.UUID, u.Name, cmp.Or(u.Number, r.Dialled)
	}
	if source != "" {
		call.SourceUser = &source
	}
	if destination != "" {
		call.DestUser = &destination
	}
	return call
}

// shorten hides the last digits of numbers outside, where the tenant wants it.
func (s setting) shorten(c *Call) {
	outside := []*string{}
	switch c.Direction {
	case "inbound":
		outside = append(outside, &c.Source)
	case "outbound":
		outside = append(outside, &c.Destination, &c.Requested)
	}
	for _, number := range outside {
		whole := *number
		left := max(0, len(whole)-int(s.Hidden))
		if s.Hidden == 0 || whole == "" {
			continue
		}
		*number = whole[:left] + strings.Repeat("X", len(whole)-left)
		for _, name := range []*string{&c.SourceName, &c.DestName} { // carriers send the number as the name
			if strings.Contains(*name, whole) {
				*name = strings.ReplaceAll(*name, whole, *number)
			}
		}
	}
}
