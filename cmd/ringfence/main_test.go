package main_test

import (
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// patience is for what takes well under a second on an idle machine.
const patience = 3 * time.Minute
