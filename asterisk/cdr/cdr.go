// Package cdr knows which fields of a call's record Asterisk is asked for, and reads them: from the manager interface's events and from the file
// that Asterisk writes. Both configurations and both readers follow one list, so a record is the same whichever way it comes.
package cdr

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Event is the event of the manager interface that has a record. The manager account needs `read = cdr` for it.
const Event = "Cdr"

// File is the file of records, in the folder cdr-custom of Asterisk's folder of logs.
const File = "ringfence.csv"

// Record is what Asterisk says of one call from one channel to one other. Each telephone of a group that is rung, and each trunk that is tried,
// has a record of its own.
type Record struct {
	// UniqueID names the channel that called, and Sequence is the record's number since Asterisk started: both together are the record's name.
	UniqueID string
	Sequence int64
	// LinkedID is what the records of one call have in common.
	LinkedID string
	// Channel called, and Destination was called; "" if nothing was.
	Channel, Destination string
	// Tenant, User, Called, Direction and Dialled are as docs/asterisk.md says (Records of calls).
	Tenant, User, Called, Direction, Dialled string
	// Source is the number of who called, and Name what they are called.
	Source, Name string
	// Start, Answer and End are in UTC; Answer is zero if nobody answered.
	Start, Answer, End time.Time
	// Billed is how long they talked, in whole seconds.
	Billed int64
	// Disposition is ANSWERED, NO ANSWER, BUSY, FAILED or CONGESTION.
	Disposition string
	// Recording is the name of the file with what was said, or "" if nothing was recorded.
	Recording string
}

// field is a field of a record: what the dialplan function CDR calls it, and how it is read.
type field struct {
	name string
	read func(r *Record, value string) error
}

var fields = []field{
	{"uniqueid", text(func(r *Record) *string { return &r.UniqueID })},
	{"sequence", number(func(r *Record) *int64 { return &r.Sequence })},
	{"linkedid", text(func(r *Record) *string { return &r.LinkedID })},
	{"channel", text(func(r *Record) *string { return &r.Channel })},
	{"dstchannel", text(func(r *Record) *string { return &r.Destination })},
	{"tenant", text(func(r *Record) *string { return &r.Tenant })},
	{"user", text(func(r *Record) *string { return &r.User })},
	{"called", text(func(r *Record) *string { return &r.Called })},
	{"direction", text(func(r *Record) *string { return &r.Direction })},
	{"dialled", text(func(r *Record) *string { return &r.Dialled })},
	{"src", text(func(r *Record) *string { return &r.Source })},
	{"clid", func(r *Record, value string) error {
		if name, _, named := strings.Cut(strings.TrimPrefix(value, `"`), `" <`); named {
			r.Name = name
		}
		return nil
	}},
	{"start,u", moment(func(r *Record) *time.Time { return &r.Start })},
	{"answer,u", moment(func(r *Record) *time.Time { return &r.Answer })},
	{"end,u", moment(func(r *Record) *time.Time { return &r.End })},
	{"billsec", number(func(r *Record) *int64 { return &r.Billed })},
	{"disposition", text(func(r *Record) *string { return &r.Disposition })},
	{"recording", text(func(r *Record) *string { return &r.Recording })},
}

// longest is how many bytes of a text are kept: numbers and names come from anybody.
const longest = 256

func text(of func(*Record) *string) func(*Record, string) error {
	return func(r *Record, value string) error {
		value = strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), "\uFFFD")
		for len(value) > longest {
			_, size := utf8.DecodeLastRuneInString(value)
			value = value[:len(value)-size]
		}
		*of(r) = value
		return nil
	}
}

func number(of func(*Record) *int64) func(*Record, string) error {
	return func(r *Record, value string) (err error) {
		*of(r), err = strconv.ParseInt(value, 10, 64)
		return err
	}
}

// moment reads seconds since 1970 with a fraction. None, and 0, are no moment.
func moment(of func(*Record) *time.Time) func(*Record, string) error {
	return func(r *Record, value string) error {
		if value == "" {
			return nil
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err == nil && (seconds < 0 || seconds > math.MaxInt32*2) {
			err = strconv.ErrRange
		}
		if err == nil && seconds > 0 {
			*of(r) = time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
		}
		return err
	}
}

// ErrUnreadable says that something is no record.
var ErrUnreadable = errors.New("not a record of a call")

// read reads the fields, in their order.
func read(value func(i int) string) (r Record, err error) {
	for i, f := range fields {
		if err := f.read(&r, value(i)); err != nil {
			return r, fmt.Errorf("%w: %s: %w", ErrUnreadable, f.name, err)
		}
	}
	if r.UniqueID == "" || r.Start.IsZero() || r.End.Before(r.Start) || r.Billed < 0 {
		return r, fmt.Errorf("%w: it has no name or no time", ErrUnreadable)
	}
	return r, nil
}

// Parse reads one line of the file, without its end.
func Parse(line string) (Record, error) {
	all, err := csv.NewReader(strings.NewReader(line)).Read()
	if err == nil && len(all) == len(fields)-1 {
		all = append(all, "") // a line from before there were recordings
	}
	if err != nil || len(all) != len(fields) {
		return Record{}, fmt.Errorf("%w: a line has not %d fields", ErrUnreadable, len(fields))
	}
	return read(func(i int) string { return all[i] })
}

// FromEvent reads an event, whose header of a name is what get returns.
func FromEvent(get func(header string) string) (Record, error) {
	return read(func(i int) string { return get(fields[i].header()) })
}

// header is what the event calls a field: no name of a header that the event has by itself.
func (f field) header() string {
	name, _, _ := strings.Cut(f.name, ",")
	return "Ringfence-" + name
}

// Headers returns what cdr_manager.conf maps: to each field, the header that has it.
func Headers() [][2]string {
	var all [][2]string
	for _, f := range fields {
		all = append(all, [2]string{f.name, f.header()})
	}
	return all
}

// Line returns what cdr_custom.conf has for the file: the fields of a line.
func Line() string {
	var all []string
	for _, f := range fields {
		all = append(all, "${CSV_QUOTE(${CDR("+f.name+")})}")
	}
	return strings.Join(all, ",")
}

// TenantUUID returns the tenant whose call it is, or "" if the dialplan did not say: the call was refused before.
func (r Record) TenantUUID() string { return canonical(r.Tenant) }

// canonical returns a UUID as it is stored, or "" for anything else.
func canonical(text string) string {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return ""
	}
	return id.String()
}

// Callers returns the UUIDs of the users who called, and who were called, as far as the dialplan knows; the telephones may know better.
func (r Record) Callers() (source, destination string) {
	switch r.Direction {
	case "inbound":
		return "", canonical(r.Called)
	case "outbound":
		return canonical(r.User), ""
	default:
		return canonical(r.User), canonical(r.Called)
	}
}

// Endpoint returns the name of the SIP endpoint of a channel, or "".
func Endpoint(channel string) string {
	name, sip := strings.CutPrefix(channel, "PJSIP/")
	if at := strings.LastIndexByte(name, '-'); sip && at > 0 {
		return name[:at]
	}
	return ""
}
