package callrecords

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringfence/ringfence/internal/audio"
)

// FaxEvent is the UserEvent by which the dialplan says that a fax has come whole. Its header File is the name of the file.
const FaxEvent = "RingfenceFax"

// faxForm is the name that the dialplan gives to the file of a fax: with the tenant's UUID, the key of the address, and the call's id. Nothing else in
// the folder is sent.
var faxForm = regexp.MustCompile(`^fax-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([0-9a-f]{32})-([A-Za-z0-9._]{1,100})\.tif$`)

const (
	// faxKept is for how long the gateway tries to send a fax, before it removes it.
	faxKept = 7 * 24 * time.Hour
	// faxQuiet is after how long without a new page a fax is over of whose end nobody heard.
	faxQuiet = 15 * time.Minute
	// maxFax is how many bytes a fax has at most that is sent, and maxFaxes how many of a tenant wait at most.
	maxFax, maxFaxes = 20 << 20, 200
	// faxEvery is how often the folder is looked at, and the first pause after a failure. Pauses double, to longestFaxPause.
	faxEvery, longestFaxPause = time.Minute, 4 * time.Hour
)

// waitingFax is what is known of a fax beside its file. It is forgotten with the process: then the file is sent as one of which nobody has heard.
type waitingFax struct {
	seen  bool // its file was looked at
	whole bool // its end was heard
	sent  bool // the mail server has it, and its file could not be removed
	told  bool // the log says why it waits
	pause time.Duration
	next  time.Time // before which it is left alone
}

// HearFax takes the name of the file of a fax that has come whole. It does not block: one that is not heard waits for faxQuiet.
func (s *Service) HearFax(name string) {
	select {
	case s.faxHeard <- name:
	default:
	}
}

// RunFaxes sends faxes until ctx ends.
func (s *Service) RunFaxes(ctx context.Context) {
	tick := time.NewTicker(faxEvery)
	defer tick.Stop()
	for said := ""; ; {
		if err := s.SendFaxes(ctx, time.Now()); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			slog.Warn("the folder in which Asterisk leaves faxes cannot be used; trying again each minute", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case name := <-s.faxHeard:
			s.faxes[name] = &waitingFax{whole: true}
		case <-tick.C:
		}
	}
}

// SendFaxes sends the faxes whose time has come. Of several nodes that have the folder, one does it at a time.
func (s *Service) SendFaxes(ctx context.Context, now time.Time) error {
	folder := s.recordings()
	lock, err := os.Open(string(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	names, err := lock.Readdirnames(-1)
	var faxes [][]string
	known := map[string]*waitingFax{}
	for _, name := range names {
		if form := faxForm.FindStringSubmatch(name); form != nil {
			faxes, known[name] = append(faxes, form), cmp.Or(s.faxes[name], &waitingFax{})
		}
	}
	s.faxes = known
	slices.SortFunc(faxes, func(a, b []string) int { return strings.Compare(a[3], b[3]) }) // by when the calls began
	waiting := map[string]int{}
	for _, form := range faxes {
		if waiting[form[1]]++; ctx.Err() == nil {
			err = errors.Join(err, s.oneFax(ctx, folder, now, form, waiting[form[1]] > maxFaxes))
		}
	}
	return err
}

// oneFax sends one fax if its time has come, and removes its file once the mail server has it. If the process ends between the two, the mail comes
// twice. form is what faxForm finds in its name; if there are too many, it is removed.
func (s *Service) oneFax(ctx context.Context, folder audio.Folder, now time.Time, form []string, tooMany bool) error {
	file, size, err := folder.Open(form[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is gone, or a link
	} else if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fax, age, head := s.faxes[form[0]], now.Sub(info.ModTime()), make([]byte, 8)
	_, err = file.ReadAt(head, 0) // a TIFF's head names its first page, once that has come
	hasPage := err == nil && (string(head[:2]) == "II" || string(head[:2]) == "MM") && string(head[4:]) != "\x00\x00\x00\x00"
	switch {
	case fax.sent, !hasPage && age > unknown:
		return folder.Remove(form[0])
	case tooMany, age > faxKept:
		slog.Error("a fax is removed that nobody has got, since it waits for a week, or too many of its tenant wait", "file", form[0])
		return folder.Remove(form[0])
	case !fax.seen && age >= faxQuiet:
		// It has waited before this process began: a gateway that is started again and again must not send it each time.
		fax.pause, fax.next = age/2, now.Add(faxEvery)
	}
	fax.seen = true
	if !hasPage || !fax.whole && age < faxQuiet || now.Before(fax.next) {
		return nil
	}
	address, err := s.faxAddress(ctx, form[1], form[2])
	switch {
	case err != nil:
	case address == "":
		err = errors.New("no destination of its tenant has its address any more")
	case size > maxFax:
		err = fmt.Errorf("it has more than %d bytes", maxFax)
	default:
		at := info.ModTime().UTC()
		text := "A fax was received on " + at.Format("2006-01-02 at 15:04") + " UTC. It is attached.\r\n"
		if !fax.whole {
			text += "\r\nIts end was not heard: it may lack pages.\r\n"
		}
		err = s.sendFax(ctx, address, text, "fax-"+at.Format("20060102-150405")+".tif", io.LimitReader(file, maxFax))
	}
	if err != nil {
		if ctx.Err() == nil && !fax.told {
			fax.told = true
			slog.Warn("a fax cannot be sent; it is kept for a week, and tried again", "file", form[0], "error", err)
		}
		fax.pause = min(max(2*fax.pause, faxEvery), longestFaxPause)
		fax.next = now.Add(fax.pause)
		return nil
	}
	fax.sent = true
	return folder.Remove(form[0])
}
