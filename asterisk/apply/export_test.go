package apply

import (
	"context"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
)

// ApplyUnasked applies as a change does: nobody has asked for it.
func (s *Service) ApplyUnasked(ctx context.Context) (jobs.Job, error) {
	job, err := s.ask(ctx, kindApply, nil)
	if err != nil {
		return job, err
	}
	return s.await(ctx, job.UUID)
}

// Identify returns the name of a node; see identify.
var Identify = identify

// DialplanActions returns in a few words what makes one dialplan of another; see dialplanActions.
func DialplanActions(from, to []byte) (all []string, ok bool) {
	actions, ok := dialplanActions(from, to)
	for _, a := range actions {
		m := ami.Message(a.Headers)
		said := m.Get("Context") + " " + m.Get("Extension")
		switch {
		case a.Name == "DialplanExtensionAdd":
			said = "+" + said + " " + m.Get("Priority") + " " + m.Get("Application") + "(" + m.Get("ApplicationData") + ")"
		case m.Get("Priority") != "":
			said = "-" + said + " " + m.Get("Priority")
		default:
			said = "-" + said
		}
		if a.mayFail {
			said += "?"
		}
		all = append(all, said)
	}
	return all, ok
}

// Unstamped gives files their stamps, and takes them away; see unstamped.
func Unstamped(files generation.Files) generation.Files { return unstamped(stamped(files, "id")) }

// LogRests returns what reports, of the sizes of a log from moment to moment, whether it rests; see growth.
func LogRests() func(size int64) bool { return new(growth).rests }
