package webaddress_test

import (
	"net/url"
	"testing"

	"github.com/ringfence/ringfence/internal/webaddress"
)

func TestPrivate(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://pbx.example.com": true, "https://203.0.113.1:8443/x": true, "HTTPS://pbx.example.com": true,
		"http://localhost:8080": true, "http://127.0.0.1": true, "http://127.9.9.9": true, "http://[::1]:80": true, "http://[::ffff:127.0.0.1]": true,
		"http://pbx.example.com": false, "http://203.0.113.1": false, "http://localhost.example.com": false, "http://127.0.0.1.example.com": false,
		"http://0.0.0.0": false, "http://[::]": false, "http://[::1%25lo]": false, "http://": false, "": false,
		"ws://localhost": false, "ftp://127.0.0.1": false, "//localhost": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := webaddress.Private(u); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
