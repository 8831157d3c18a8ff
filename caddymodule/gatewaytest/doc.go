// Package gatewaytest runs whole gateways for tests, as processes of their own, and
// talks to them over HTTPS.
//
// A process is the test binary again: a package that starts one calls [Main] in its
// TestMain, so nothing has to be built and the race detector is in the gateway too.
package gatewaytest
