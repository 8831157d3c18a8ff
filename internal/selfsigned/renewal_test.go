package selfsigned_test

import (
	"crypto/ecdsa"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

func TestRenewalAtStart(t *testing.T) {
	due := start.Add(-time.Hour).Add(lifetime / 3 * 2)
	tests := map[string]struct {
		now   time.Time
		renew bool
	}{
		"a second early": {due.Add(-time.Second), false},
		"due":            {due, true},
		"expired":        {start.Add(2 * lifetime), true},
		"clock in 1970":  {time.Unix(0, 0), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, c := t.TempDir(), newClock(start)
			before := open(t, dir, at(c))
			old := before.Fingerprint()
			c.set(test.now)
			after := open(t, dir, at(c))
			if renewed := after.Fingerprint() != old; renewed != test.renew {
				t.Errorf("renewed %v, want %v", renewed, test.renew)
			}
			if !sameKey(before, after) {
				t.Error("the key changed")
			}
			if test.renew && !after.NotAfter().Equal(test.now.Add(lifetime-time.Hour)) {
				t.Errorf("NotAfter %v", after.NotAfter())
			}
		})
	}
}

func TestRenewalInUse(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 100)
	s := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	old := leafOf(s)

	c.set(start.Add(lifetime / 4 * 3))
	var handshakes sync.WaitGroup
	for range 20 {
		handshakes.Go(func() {
			if s.Certificate().Leaf == nil {
				t.Error("no certificate during the renewal")
			}
		})
	}
	handshakes.Wait()
	if err := <-tried; err != nil {
		t.Fatalf("renewing: %v", err)
	}
	renewed := leafOf(s)
	if renewed.Equal(old) || !renewed.PublicKey.(*ecdsa.PublicKey).Equal(old.PublicKey) {
		t.Error("want another certificate of the same key")
	}
	if again := open(t, dir, at(c)); !leafOf(again).Equal(renewed) {
		t.Error("the renewed certificate is not the one that is stored")
	}
	s.Close()
	if extra := len(tried); extra != 0 {
		t.Errorf("%d more renewals of a fresh certificate", extra)
	}
}

func TestRenewalTakesWhatAnotherProcessRenewed(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 1)
	serving := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	c.set(start.Add(lifetime / 4 * 3))
	other := open(t, dir, at(c))
	serving.Certificate()
	if err := <-tried; err != nil {
		t.Fatal(err)
	}
	if serving.Fingerprint() != other.Fingerprint() {
		t.Error("two processes on one folder ended with two certificates")
	}
}

func TestFailedRenewalKeepsServingAndTriesAgain(t *testing.T) {
	// A folder in the certificate's place makes the renewal fail, for root too.
	dir, c := t.TempDir(), newClock(start)
	tried := make(chan error, 10)
	s := open(t, dir, selfsigned.Options{Now: c.now, OnRenew: func(err error) { tried <- err }})
	old := s.Fingerprint()
	if err := errors.Join(os.Remove(s.Path()), os.Mkdir(s.Path(), 0o700)); err != nil {
		t.Fatal(err)
	}

	due := start.Add(lifetime / 4 * 3)
	c.set(due)
	s.Certificate()
	if err := <-tried; err == nil {
		t.Fatal("renewing succeeded without a file to write")
	}
	if s.Certificate(); s.Fingerprint() != old {
		t.Error("a certificate that is not stored is served")
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	c.set(due.Add(59 * time.Minute))
	s.Certificate()
	if len(tried) != 0 {
		t.Error("tried again within the hour")
	}
	c.set(due.Add(61 * time.Minute))
	s.Certificate()
	if err := <-tried; err != nil {
		t.Fatalf("second try: %v", err)
	}
	if s.Fingerprint() == old {
		t.Error("not renewed at the second try")
	}
}
