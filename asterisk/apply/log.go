package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"syscall"
	"time"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// Limits of what is read of Asterisk's log.
const (
	maxLogBytes    = 64 << 20 // it has a notice for each mailbox
	maxLogLine     = 64 << 10 // a longer one is no complaint
	maxComplaints  = 10_000
	maxTold        = 20                    // in the log of a job
	logQuiet       = 50 * time.Millisecond // Asterisk writes its log a moment after it has answered
	maxLogRestless = 20                    // how often it is looked at again while it grows
	maxLogCalm     = 16 << 10              // by how much it grows in a moment with what calls do, and not with what waits to be written
)

// logMark is a place in Asterisk's log.
type logMark struct {
	path string
	info os.FileInfo
}

// openLog opens a log, which must be a file.
func openLog(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator has named it
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(path + " is not a file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// markLog returns where a log ends now.
func markLog(path string) (logMark, error) {
	f, info, err := openLog(path)
	if err != nil {
		return logMark{}, err
	}
	return logMark{path, info}, f.Close()
}

// complaints returns the warnings and the errors that the log has got since, once it rests. Those of calls are none.
func (m logMark) complaints(ctx context.Context) ([]string, error) {
	m.settle(ctx)
	f, info, err := openLog(m.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	from := m.info.Size()
	if !os.SameFile(m.info, info) || info.Size() < from { // it was rotated
		from = 0
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	return complaintsIn(io.LimitReader(f, maxLogBytes))
}

// settle waits until the log rests.
func (m logMark) settle(ctx context.Context) {
	var g growth
	for i := 0; i < maxLogRestless && ctx.Err() == nil; i++ {
		info, err := os.Stat(m.path)
		if err != nil || g.rests(info.Size()) {
			return
		}
		pause(ctx, logQuiet)
	}
}

// growth is how a log grows from moment to moment.
type growth struct {
	size        int64
	looks, calm int // how often it was looked at, and for how many moments it has hardly grown
}

// rests reports whether a log of this size now has not grown for a moment, or hardly for two.
func (g *growth) rests(size int64) bool {
	grown, first := size-g.size, g.looks == 0
	g.size, g.looks = size, g.looks+1
	if first || grown < 0 || grown > maxLogCalm {
		g.calm = 0
		return false
	}
	g.calm++
	return grown == 0 || g.calm == 2
}

var (
	// complaintForm is a warning or an error: one that concerns a call has the call's id behind that of the thread.
	complaintForm = regexp.MustCompile(`^(?:\[[^\]]*\] ?)?(WARNING|ERROR)\[\d+\]:? (.*)$`)
	// secretForm is a setting whose value nobody may read.
	secretForm = regexp.MustCompile(`(?i)((?:password|passwd|secret|digest|cred|pin)[a-z0-9_-]*['"]?\s*[=:]>?\s*)\S.*`)
)

// complaintsIn returns the complaints of a log, each once.
func complaintsIn(log io.Reader) ([]string, error) {
	var all []string
	seen := map[string]bool{}
	lines := bufio.NewReaderSize(log, maxLogLine)
	for long := false; len(all) < maxComplaints; {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return all, err
		}
		within := long
		if long = more; within || more {
			continue
		}
		found := complaintForm.FindStringSubmatch(string(line))
		if found == nil {
			continue
		}
		said := secretForm.ReplaceAllString(found[1]+" "+conf.Plain(found[2]), "${1}(hidden)")
		if !seen[said] {
			seen[said] = true
			all = append(all, said)
		}
	}
	return all, nil
}

// overhear returns a function that returns what Asterisk has complained about since now, or since it was called last, and adds it to the log of
// the job. That Asterisk's log cannot be read is said once, and is no failure.
func (s *Service) overhear(r *run) func(ctx context.Context) []string {
	if s.client == nil || s.settings.Log == "" {
		return func(context.Context) []string { return nil }
	}
	mark, unread := markLog(s.settings.Log)
	known := map[string]bool{}
	return func(ctx context.Context) (news []string) {
		var all []string
		if unread == nil {
			all, unread = mark.complaints(ctx)
		}
		for _, said := range all {
			if known[said] {
				continue
			}
			known[said] = true
			news = append(news, said)
			switch {
			case len(known) <= maxTold:
				slog.Warn("Asterisk complains while it reloads", "job", r.job.UUID, "says", said)
				r.logf("Asterisk's log: %s", said)
			case len(known) == maxTold+1:
				r.logf("Asterisk's log: and more")
			}
		}
		err := unread
		if err != nil {
			err = fmt.Errorf("reading Asterisk's log: %w", err)
		}
		s.unread.about(err, "jobs do not show what Asterisk complains about: let the gateway's user read its log, or name the file in RINGFENCE_ASTERISK_LOG")
		return news
	}
}
