package logs

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// OwnMemoryLimit is true if the program sets the memory limit itself. Caddy's entry about the limit then says so.
var OwnMemoryLimit atomic.Bool

// editEntry makes Caddy's log entries say first what an operator wants to know. The entries are Caddy's own, so there is no other
// place for it.
func editEntry(entry *zapcore.Entry, ahead, fields []zapcore.Field) []zapcore.Field {
	switch {
	case strings.HasPrefix(entry.Message, "GOMEMLIMIT is updated") && OwnMemoryLimit.Load():
		entry.Message = "this machine's memory limit is known; the gateway keeps below it, and collects garbage by a limit of its own: 200 MiB, or twice what is live"
	case entry.LoggerName == "admin" && entry.Level == zapcore.WarnLevel && strings.HasPrefix(text(fields, "address"), "unix/"):
		// Caddy warns that it checks no host names, but a socket has none.
		entry.Level, entry.Message = zapcore.InfoLevel, "admin endpoint is a socket: who can open it can change the configuration"
	case entry.Level >= zapcore.ErrorLevel:
		fields = plainEntry(entry, fields)
	}
	if entry.Level < zapcore.WarnLevel || strings.HasPrefix(entry.LoggerName, "http.log.access") {
		return fields
	}
	return withRequestID(ahead, fields)
}

func text(fields []zapcore.Field, key string) string {
	for _, f := range fields {
		if f.Key == key {
			return f.String
		}
	}
	return ""
}

// refused is the first part of the line about a configuration that was refused while another one runs.
const refused = "the new configuration is refused, and the old one goes on serving: "

// plainEntry puts the cause first in an entry about a configuration that could not be used.
func plainEntry(entry *zapcore.Entry, fields []zapcore.Field) []zapcore.Field {
	if cause, where, ok := plain(entry.Message); ok {
		entry.Message = cause
		return append(slices.Clip(fields), zap.String("where", where))
	}
	for i, f := range fields {
		err, ok := f.Interface.(error)
		if f.Type != zapcore.ErrorType || !ok {
			continue
		}
		if cause, where, ok := plain(err.Error()); ok {
			entry.Message = refused + cause
			edited := append([]zapcore.Field{zap.String("where", where)}, fields[:i]...)
			return append(edited, fields[i+1:]...)
		}
	}
	return fields
}

// chain matches one link of the chain that Caddy puts in front of the cause of an error in a configuration.
var chain = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`loading (?:initial |new )?config`, `adapting config using \S+`, `parsing caddyfile tokens for '[^']*'`, `Error during parsing`,
	`sending configuration to instance`, `starting caddy administration endpoint`, `provisioning admin router module \S+`,
	`loading \S+ app(?: module)?`, `getting \S+ app`, `provision \S+`, `\S+ app module: start`, `\S+: invalid configuration`,
	`server \S+`, `setting up (?:route handlers|subroutes|error handling routes|TLS connection policies|named route '[^']*' handlers)`,
	`route \d+`, `loading (?:handler|matcher|(?:external )?certificate manager|log encoder|log writer) modules?`, `position \d+`, `loading module '[^']*'`,
	`(?:provisioning|setting up) (?:default )?automation policy \d*`, `setting up (?:custom|default) log(?: '[^']*')?`,
}, "|") + `): `)

var (
	answered = regexp.MustCompile(`^caddy responded with error: HTTP \d+: `)
	atLine   = regexp.MustCompile(`(?s)^(.*), at ([^\s,]+:\d+)((?: import chain.*)?)$`)
)

// plain splits a configuration error into the cause, which begins with the line of the Caddyfile if it is known, and the way to
// it through Caddy's modules. ok is false for any other text.
func plain(message string) (cause, where string, ok bool) {
	var way []string
	for cause = message; ; {
		link := chain.FindString(cause)
		if link == "" {
			break
		}
		way = append(way, strings.TrimSuffix(link, ": "))
		cause = cause[len(link):]
	}
	if len(way) == 0 {
		return message, "", false
	}
	if link := answered.FindString(cause); link != "" {
		var answer struct {
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(cause[len(link):]), &answer) == nil && answer.Error != "" {
			inner, further, _ := plain(answer.Error)
			return inner + " (the gateway goes on with the configuration that it has)", further, true
		}
	}
	if m := atLine.FindStringSubmatch(cause); m != nil {
		cause = m[2] + ": " + m[1] + m[3]
	}
	return cause, strings.Join(way, ": "), true
}

// RequestIDKey is the placeholder that holds a request's ID where Caddy logs the request.
const RequestIDKey = "ringfence.request_id"

// withRequestID adds the ID of the request in an entry, unless the entry has it.
func withRequestID(ahead, fields []zapcore.Field) []zapcore.Field {
	id := ""
	for _, list := range [2][]zapcore.Field{ahead, fields} {
		for _, f := range list {
			if f.Key == "request_id" {
				return fields
			}
			if r, ok := f.Interface.(caddyhttp.LoggableHTTPRequest); ok && r.Request != nil {
				if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
					id, _ = repl.GetString(RequestIDKey)
				}
			}
		}
	}
	if id == "" {
		return fields
	}
	return append(slices.Clip(fields), zap.String("request_id", id))
}
