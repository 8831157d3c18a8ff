package ldap_test

import (
	"fmt"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
)

// Each address is looked up, so an entry with more than a local user may have gives none.
func TestAnEntryWithTooManyAddresses(t *testing.T) {
	values := make([]string, 101)
	for i := range values {
		values[i] = fmt.Sprintf("a%d@example.com", i)
	}
	if got := ldap.Emails(values); got != nil {
		t.Errorf("%d addresses were taken", len(got))
	}
	if got := ldap.Emails(values[:100]); len(got) != 100 {
		t.Errorf("%d addresses were taken of 100", len(got))
	}
}
