package throttle_test

import (
	"testing"

	"github.com/ringfence/ringfence/authsvc/throttle"
)

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
