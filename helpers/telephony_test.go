package helpers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

const jobUUID = "22222222-2222-4222-8222-222222222222"

// system is a telephone system that does as the test says.
type system struct {
	db     store.DB
	err    error
	job    jobs.Job
	waited bool
	live   jobs.Live
}

func (s *system) made() jobs.Job {
	job := s.job
	job.UUID, job.CreatedAt, job.Generation = jobUUID, time.Unix(0, 0).UTC(), 7
	job.Files, job.Modules = []jobs.JobFile{}, []jobs.JobModule{{Module: "res_pjsip", State: "failed", Message: job.Message}}
	job.Log = []jobs.JobEntry{{Message: job.Message}}
	if job.LeftOut.Total == 0 {
		job.LeftOut = leftout.Of(nil)
	}
	if job.State == "" {
		job.State = jobs.Done
	}
	return job
}

func (s *system) Generate(ctx context.Context, asked jobs.Recorder) error {
	return errors.Join(s.err, s.record(ctx, asked))
}

// record does as a system that has stored a job.
func (s *system) record(ctx context.Context, asked jobs.Recorder) error {
	if s.err != nil {
		return nil
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return asked(ctx, tx, jobUUID) })
}

func (s *system) Apply(ctx context.Context, o jobs.Options) (jobs.Job, error) {
	s.waited = o.Wait
	return s.made(), errors.Join(s.err, s.record(ctx, o.Asked))
}

func (s *system) Job(_ context.Context, uuid string) (jobs.Job, error) {
	if uuid != jobUUID {
		return jobs.Job{}, apierr.New(apierr.NotFound, "Not found")
	}
	return s.made(), s.err
}

func (s *system) Preview(context.Context) (jobs.Preview, error) {
	return jobs.Preview{Files: []jobs.PreviewFile{}, LeftOut: leftout.Of(nil)}, s.err
}

func (s *system) Generations(context.Context) (jobs.Generations, error) {
	return jobs.Generations{Total: 1, Items: []jobs.Generation{{Number: 7, Live: true, Failed: s.job.Message}}}, s.err
}

func (s *system) GoBack(ctx context.Context, n int64, asked jobs.Recorder) (jobs.Job, error) {
	if n != 7 {
		return jobs.Job{}, apierr.New(apierr.NotFound, "Not found")
	}
	return s.made(), errors.Join(s.err, s.record(ctx, asked))
}

func (s *system) Live(context.Context) (jobs.Live, error) { return s.live, s.err }

// What runs is told to whom it belongs: the master tenant reads all, and another one what is of its own endpoints, if Asterisk has these from the
// generated files. No answer has more rows than were asked for.
func TestLive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := &system{db: db}
		w := newWorld(t, db, helpers.Options{Telephony: s})
		w.names.endpoints = map[string][]string{w.tenants["a"]: {"ada", "carrier"}, w.tenants["b"]: {"bob"}}
		of := func(name string, generated bool) jobs.Of { return jobs.Of{Endpoint: name, Generated: generated} }
		s.live.Version = "20.6.0"
		s.live.Channels.Items = []jobs.Channel{
			{Of: of("ada", true), Call: "1", Number: "1042", With: "1043"}, {Of: of("bob", true), Call: "1"}, {Kind: "Local", Call: "2"},
		}
		s.live.Registrations.Items = []jobs.Registration{{Of: of("ada", true), From: "192.0.2.7:5060"}, {Of: of("ada", true)}, {Of: of("bob", true)}}
		s.live.Trunks.Items = []jobs.LiveTrunk{{Of: of("carrier", false), At: "the operator's own"}}
		s.live.Queues.Items = []jobs.LiveQueue{{ID: 5, Waits: jobs.Waits{Waiting: 2}}, {ID: 6, Agents: []jobs.LiveAgent{{Number: "9001", State: "free"}}}, {ID: 7}} // one that confd has no more is nobody's
		s.live.Switchboards.Items = []jobs.LiveSwitchboard{{UUID: jobUUID, Waits: jobs.Waits{Waiting: 1}}, {UUID: "gone"}}
		w.names.waiting = map[string]map[string]string{"": {"5": "Support", "6": "Theirs", jobUUID: "Reception"}, w.tenants["a"]: {"5": "Support"}}
		w.names.denied = map[string][]string{"": {"bob", "5", jobUUID, "9001"}, w.tenants["a"]: {"carrier"}, w.tenants["b"]: {"bob"}}
		for _, tt := range []struct {
			client *resttest.Client
			query  string
			want   string // how many there are, and how many are told
		}{
			{w.as("master", "sysconfd.asterisk.read"), "", "3/3 3/3 1/1 2/2 1/1"},
			{w.plain, "", "3/3 3/3 1/1 2/2 1/1"},
			{w.as("a", "sysconfd.asterisk.read"), "", "1/1 2/2 0/0 1/1 0/0"},
			{w.as("b", "#"), "", "1/1 1/1 0/0 0/0 0/0"},
			// Who is denied bob knows nothing of whom bob speaks with, nor of the queue 5, the switchboard and the agent.
			{w.as("master", "#", "!confd.users.bob.#"), "", "1/1 2/2 1/1 1/1 0/0"},
			{w.as("master", "#", "!confd.users.bob.#"), "?agent=9001", "0/0 0/0 0/0 0/0 0/0"},
			{w.as("a", "#", "!confd.trunks.#"), "", "1/1 2/2 0/0 1/1 0/0"},
			{w.as("b", "#", "!confd.users.bob.#"), "", "0/0 0/0 0/0 0/0 0/0"},
			{w.as("b", "#"), "?endpoint=ada", "0/0 0/0 0/0 0/0 0/0"},
			{w.as("a", "#"), "?limit=1&offset=1", "1/0 2/1 0/0 1/0 0/0"},
			{w.as("master", "#"), "?endpoint=ada&limit=5000", "1/1 2/2 0/0 0/0 0/0"},
			{w.as("master", "#"), "?search=192.0.2.7", "0/0 1/1 0/0 0/0 0/0"},
			{w.as("master", "#"), "?search=1043", "1/1 0/0 0/0 0/0 0/0"},
			{w.as("master", "#"), "?queue=6", "0/0 0/0 0/0 1/1 0/0"},
			{w.as("master", "#"), "?agent=9001", "0/0 0/0 0/0 1/1 0/0"},
			{w.as("a", "#"), "?agent=9001", "0/0 0/0 0/0 0/0 0/0"},
			{w.as("master", "#"), "?switchboard=" + jobUUID, "0/0 0/0 0/0 0/0 1/1"},
			{w.as("master", "#"), "?search=recep", "0/0 0/0 0/0 0/0 1/1"},
			{w.as("a", "#"), "?switchboard=" + jobUUID, "0/0 0/0 0/0 0/0 0/0"},
		} {
			var got []string
			a := tt.client.Get("/asterisk" + tt.query).Want(200)
			for _, list := range []string{"channels", "registrations", "trunks", "queues", "switchboards"} {
				l := a.JSON(list).(map[string]any)
				got = append(got, fmt.Sprintf("%v/%d", l["total"], len(l["items"].([]any))))
			}
			if all := strings.Join(got, " "); all != tt.want || a.Text("version") != "20.6.0" {
				t.Errorf("%s: %s, want %s", tt.query, all, tt.want)
			}
		}
		w.as("a", "sysconfd.apply.#").Get("/asterisk").Want(403)
		w.as("a", "#").Get("/asterisk?limit=0").Want(400)
		w.as("a", "#").Get("/asterisk?offset=x").Want(400)
		s.err = apierr.New(apierr.Unavailable, "Asterisk cannot be asked now")
		w.as("a", "#").Get("/asterisk").Want(503)
	})
}

// Who is denied to read anything of confd sees neither the files, which have all of it, nor what they lack, nor what Asterisk says of them.
func TestDeniedInTheFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		lacks := leftout.Of([]leftout.Omission{{Kind: "line", Key: "12", Name: "secret", Reason: "its endpoint has no login"}})
		s := &system{db: db, job: jobs.Job{LeftOut: lacks, State: jobs.Failed, Message: "secret has no login"}}
		w := newWorld(t, db, helpers.Options{Telephony: s})
		w.service.UseInstallation(helpers.Installation{Examine: func(context.Context) (helpers.System, error) {
			return helpers.System{Findings: []doctor.Finding{{Subject: doctor.Telephony, State: doctor.Warning, Text: "secret"}}}, nil
		}})
		for denial, sees := range map[string]bool{
			"confd.users.5.#": false, "confd.users.*.read": false, "confd.users.5.update": true, "auth.users.5.#": true,
		} {
			c := w.as("master", "#", "!"+denial)
			if status := c.Get("/apply/preview").Status; (status == 200) != sees {
				t.Errorf("without %s, the preview is answered %d", denial, status)
			}
			for _, a := range []resttest.Answer{
				c.Do("POST", "/apply", nil), c.Get("/apply/" + jobUUID), c.Get("/apply/generations"), c.Do("POST", "/apply/generations/7", nil),
				c.Get("/commonconf_apply"), c.Get("/system"),
			} {
				if strings.Contains(a.Body, "secret") != sees {
					t.Errorf("without %s: %s", denial, a.Body)
				}
			}
		}
	})
}

func TestTelephony(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := &system{db: db}
		w := newWorld(t, db, helpers.Options{Telephony: s})
		for _, c := range []*resttest.Client{w.plain, w.as("master", "#")} {
			*s = system{db: db}
			for _, method := range []string{"GET", "POST"} {
				s.waited = false
				if a := c.Do(method, "/commonconf_apply", nil).Want(200); a.Body != "null" || !s.waited {
					t.Errorf("%s: %q, waited: %t", method, a.Body, s.waited)
				}
			}
			if a := c.Do("POST", "/commonconf_generate", nil).Want(200); a.Body != "null" {
				t.Errorf("%s", a.Body)
			}
			if id := c.Do("POST", "/apply", nil).Want(200).Text("uuid"); id != jobUUID || s.waited {
				t.Errorf("job %s, waited: %t", id, s.waited)
			}
			c.Get("/apply/" + jobUUID).Want(200)
			c.Get("/apply/preview").Want(200)
			c.Get("/apply/generations").Want(200)
			if id := c.Do("POST", "/apply/generations/7", nil).Want(200).Text("uuid"); id != jobUUID {
				t.Errorf("job %s", id)
			}
			c.Do("POST", "/apply/generations/8", nil).Want(404)
			c.Do("POST", "/apply/generations/x", nil).Want(404)
			c.Get("/apply/11111111-1111-4111-8111-111111111111").Want(404)
			c.Get("/apply/x").Want(404)
			for _, state := range []string{jobs.Failed, jobs.RolledBack} {
				*s = system{db: db, job: jobs.Job{State: state, Message: "a context is missing"}}
				c.Get("/commonconf_apply").Want(500).Says("can't apply commonconf changes: a context is missing")
			}
			*s = system{db: db, err: apierr.New(apierr.Conflict, "it is being restored")}
			c.Get("/commonconf_apply").Want(409).Says("it is being restored")
			*s = system{db: db, err: fmt.Errorf("asking for a job: %w", store.ErrUnavailable)}
			for _, path := range []string{
				"GET /commonconf_apply", "POST /commonconf_generate", "POST /apply", "GET /apply/preview", "GET /apply/generations", "POST /apply/generations/7",
			} {
				method, path, _ := strings.Cut(path, " ")
				c.Do(method, path, nil).Want(503).Says("The database cannot answer now")
			}
			*s = system{db: db, err: errors.New("password of the manager: hunter2")}
			for path, says := range map[string]string{
				"GET /commonconf_apply": "can't apply commonconf changes", "POST /commonconf_generate": "can't generate commonconf file",
				"POST /apply": "Internal server error", "GET /apply/preview": "Internal server error",
			} {
				method, path, _ := strings.Cut(path, " ")
				if a := c.Do(method, path, nil).Want(500).Says(says); strings.Contains(a.Body, "hunter2") {
					t.Errorf("%s shows the cause: %s", path, a.Body)
				}
			}
		}
	})
}
