package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recordProfile records a CPU profile of the gateway under the load that the release build is tuned for: mostly requests that go
// on to another daemon, and some that are served here. The profiled program is built without a profile, so that each recording
// starts from the same code.
func (b *bench) recordProfile(file string) error {
	seconds := 60
	if b.quick {
		seconds = 10
	}
	s := new(stage)
	defer s.close()
	upstreamAddress, _, _, err := b.back(s)
	if err != nil {
		return err
	}
	b.pgo = ""
	plain, err := b.build("./internal/bench", true)
	if err != nil {
		return err
	}
	variants, err := b.serveGated(s, plain, gatedSites(upstreamAddress))
	if err != nil {
		return err
	}
	mix, err := byName(variants, gatedShort, gatedShort, gatedShort, gatedDirect, gatedProxy, gatedAnswer, gatedService)
	if err != nil {
		return err
	}

	recorded := make(chan error, 1)
	var profile []byte
	go func() {
		var err error
		profile, err = fetchProfile(s.admin, seconds)
		recorded <- err
	}()
	for i := 0; ; i++ {
		v := mix[i%len(mix)]
		if _, err := s.generator.run(job{Address: v.address, Paths: v.paths, Requests: crowdSize, Connections: 16, Seconds: 1}); err != nil {
			return err
		}
		select {
		case err := <-recorded:
			if err != nil {
				return fmt.Errorf("recording the profile: %w", err)
			}
			if profile, err = cleaned(profile); err != nil {
				return fmt.Errorf("cleaning the profile: %w", err)
			}
			return os.WriteFile(file, profile, 0o644)
		default:
		}
	}
}

// byName returns the variants of these names, in their order.
func byName(all []variant, names ...string) ([]variant, error) {
	var found []variant
	for _, name := range names {
		i := slices.IndexFunc(all, func(v variant) bool { return v.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no variant %q", name)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// unprofiled are packages that the compiler should inline as it does without a profile. With one it splits crypto/sha256 so that
// each hash and its sum are allocated, although they could stay on the stack.
var unprofiled = []string{"crypto/sha256.", "crypto/internal/fips140/sha256."}

// cleaned shortens the paths in a profile's string table to the names of the files, for the program and its libraries, since a
// program built with -trimpath has no paths; and it renames the unprofiled functions. The profile is committed.
func cleaned(compressed []byte) ([]byte, error) {
	const stringTable, lengthDelimited = 6, 2 // of the message Profile in pprof's profile.proto
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	in, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var out []byte
	for len(in) > 0 {
		tag, n := binary.Uvarint(in)
		size, m := binary.Uvarint(in[max(n, 0):])
		switch {
		case n <= 0 || m <= 0 || uint64(len(in)) < uint64(n+m):
			return nil, errors.New("it is cut short")
		case tag&7 == 0: // a number, which is the size that was read
			out, in = append(out, in[:n+m]...), in[n+m:]
			continue
		case tag&7 != lengthDelimited || size > uint64(len(in)-n-m):
			return nil, errors.New("it has a field of a form that profiles do not have")
		}
		content := in[n+m : n+m+int(size)]
		if tag>>3 == stringTable {
			name := string(content)
			if strings.HasPrefix(name, "/") {
				name = filepath.Base(name)
			}
			for _, p := range unprofiled {
				if strings.HasPrefix(name, p) {
					name += " (hidden from the compiler)"
				}
			}
			content = []byte(name)
		}
		out = binary.AppendUvarint(append(out, in[:n]...), uint64(len(content)))
		out, in = append(out, content...), in[n+m+int(size):]
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(out); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// fetchProfile asks Caddy's admin API.
func fetchProfile(socket string, seconds int) ([]byte, error) {
	client := &http.Client{
		Timeout: time.Duration(seconds)*time.Second + time.Minute,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	answer, err := client.Get("http://127.0.0.1/debug/pprof/profile?seconds=" + strconv.Itoa(seconds))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the admin API answered %s", answer.Status)
	}
	return io.ReadAll(answer.Body)
}
