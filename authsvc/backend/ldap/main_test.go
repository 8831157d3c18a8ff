package ldap_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds that no connection, whatever became of it, leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
