package logs

import (
	"io"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/logging"
)

func init() { caddy.RegisterModule(new(File)) }

// File writes a log to a file as Caddy's `output file` does, with the same options, but creates the file and its folder when the
// first line is written. Caddy also opens the logs of a configuration that is only validated; this way it leaves nothing behind.
type File struct{ logging.FileWriter }

// CaddyModule returns the Caddy module information.
func (*File) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "caddy.logging.writers.ringfence_file", New: func() caddy.Module { return new(File) }}
}

// WriterKey identifies the file.
func (f *File) WriterKey() string { return "ringfence_" + f.FileWriter.WriterKey() }

// OpenWriter returns a writer that creates the file later.
func (f *File) OpenWriter() (io.WriteCloser, error) {
	return &lateFile{open: f.FileWriter.OpenWriter}, nil
}

// lateFile opens its file for the first line.
type lateFile struct {
	open func() (io.WriteCloser, error)

	mu     sync.Mutex
	opened io.WriteCloser
}

func (f *lateFile) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == nil {
		file, err := f.open()
		if err != nil {
			return 0, err // the next line tries again
		}
		f.opened = file
	}
	return f.opened.Write(line)
}

func (f *lateFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened == nil {
		return nil
	}
	return f.opened.Close()
}

var (
	_ caddy.WriterOpener    = (*File)(nil)
	_ caddy.Provisioner     = (*File)(nil)
	_ caddyfile.Unmarshaler = (*File)(nil)
)
