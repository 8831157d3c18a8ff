package throttle_test

import (
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/throttle"
)

func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	if _, err := (throttle.Limits{}).WithDefaults(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for name, l := range map[string]throttle.Limits{
		"no free guesses": {FreeGuesses: -1},
		"no delay":        {Delay: -1},
		"shorter limit":   {Delay: time.Hour},
		"forgets early":   {ForgetAfter: time.Minute},
		"trusts briefly":  {TrustFor: time.Minute},
		"no burst":        {NetworkGuesses: throttle.Rate{Every: time.Second}},
		"no every":        {Mails: throttle.Rate{Burst: 1}},
	} {
		if _, err := l.WithDefaults(); err == nil {
			t.Errorf("%s: %+v was taken", name, l)
		}
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":          "192.0.2.1",
		"::ffff:192.0.2.1":   "192.0.2.1",
		"2001:db8:1:2:3::4":  "2001:db8:1:2::/64",
		"2001:db8:1:2::5%e0": "2001:db8:1:2::/64",
		"@":                  "@",
	} {
		if got := throttle.Network(address); got != want {
			t.Errorf("%s is of %s, want %s", address, got, want)
		}
	}
}
