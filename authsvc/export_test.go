package authsvc

import (
	"context"
	"time"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Hash does the work of one password check, like argon2.IDKey.
type Hash = func(password, salt []byte, time, memory uint32, threads uint8, keyLen uint32) []byte

// UseHash replaces argon2id.
func (s *Service) UseHash(h Hash) { s.hasher.Argon2 = h }

// UsePBKDF2 replaces PBKDF2.
func (s *Service) UsePBKDF2(h func(password string, salt []byte, rounds, keyLen int) ([]byte, error)) {
	s.hasher.PBKDF2 = h
}

// UseClock replaces the database's clock for the limits on guesses and mails.
func (s *Service) UseClock(now func() time.Time) { s.throttle.Now = now }

// StepOf returns the step of a code of a secret at a time, or 0.
func (s *Service) StepOf(secret []byte, now time.Time, code string) (int64, error) {
	blob, err := s.sealer.Seal(secret, factorContext("somebody"))
	if err != nil {
		return 0, err
	}
	return s.stepOf(factor{UserUUID: "somebody", Sealed: blob, Now: now}, code)
}

// UseDirectoryTimeout changes the timeout of questions to a directory. No question may be in progress.
func (s *Service) UseDirectoryTimeout(d time.Duration) { s.directoryTimeout = d }

// UseSecretsClock replaces the clock of the limit on look-ups of secrets.
func (s *Service) UseSecretsClock(now func() time.Time) { s.secrets.Now = now }

// Asking returns how many questions to a backend are in progress, for one tenant.
func (s *Service) Asking(backend, tenantUUID string) int {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	return s.places.taken[backend+" "+tenantUUID]
}

// Places returns how many hashes may run at once, and how many may wait.
func (s *Service) Places() (running, waiting int) { return s.hasher.Places() }

// Hashing returns how many hashes run now, and how many wait.
func (s *Service) Hashing() (running, waiting int) { return s.hasher.Load() }

// NewHash returns the PHC string of a password.
func (s *Service) NewHash(ctx context.Context, password string) (string, error) {
	return s.hasher.Hash(ctx, password)
}

// CheckName returns a name as it is stored, and its canonical form.
func CheckName(name string) (tidy, key string, err error) { return checkName("name", name) }

// External returns the host of the plugins that New was given.
func (s *Service) External() *external.Host { return s.external }

// Minutes are counts by the minute.
type Minutes struct{ minutes }

// NewMinutes returns empty counts.
func NewMinutes() *Minutes { return new(Minutes) }

// Add counts one event.
func (m *Minutes) Add(now time.Time) { m.add(now) }

// Last returns the counts of the last hour.
func (m *Minutes) Last(now time.Time) []int { return m.last(now) }

// Described returns the declarations of the service's resources.
func (s *Service) Described() crud.Described { return s.engine.Described() }

// Rows returns the structs that hold the rows of tables.
func Rows() []storetest.Row {
	s := new(Service)
	s.declare()
	rows := []storetest.Row{
		{Table: "auth_email", Fields: Email{}, Kept: []string{"login"}},
	}
	beside := map[string]storetest.Row{
		"auth_user":   {Kept: []string{"password_hash"}},
		"auth_tenant": {Kept: []string{"remote"}, Filled: []string{"slug"}},
		"auth_policy": {Filled: []string{"slug"}},
		"auth_group":  {Filled: []string{"slug"}},
		"audit":       {Kept: []string{"names", "said", "about"}},

		"auth_external_config": {Filled: []string{"sealed"}},
	}
	for table, fields := range crudtest.Rows(s.Described()) {
		row := beside[table]
		row.Table, row.Fields = table, fields
		rows = append(rows, row)
	}
	return rows
}
