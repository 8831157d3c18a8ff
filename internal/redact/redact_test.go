package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/internal/redact"
)

const (
	own    = "rft_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO-_" + "123456"
	remote = "4f1c6a6e-2a55-4f4b-8d7e-3c1c9b1c2d3e"
)

func TestString(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":                  {"GET /api/confd/1.1/users?limit=10", "GET /api/confd/1.1/users?limit=10"},
		"own token":                {"saw " + own + " here", "saw rft_REDACTED here"},
		"own token, cut":           {own[:30], "rft_REDACTED"},
		"own token, longer":        {own + "xyz", "rft_REDACTED"},
		"path":                     {"/api/auth/0.1/token/" + remote, "/api/auth/0.1/token/REDACTED"},
		"path with scopes":         {"/api/auth/0.1/token/" + remote + "/scopes/check", "/api/auth/0.1/token/REDACTED/scopes/check"},
		"path with query":          {"/token/" + remote + "?scope=a.b", "/token/REDACTED?scope=a.b"},
		"path in capitals":         {"/TOKEN/" + remote, "/TOKEN/REDACTED"},
		"path with two slashes":    {"/token//" + remote, "/token//REDACTED"},
		"path with semicolon":      {"/token/;" + remote, "/token/REDACTED"},
		"path, encoded word":       {"/%74oken/" + remote, "/token/REDACTED"},
		"path, encoded slash":      {"/token%2F" + remote, "/token/REDACTED"},
		"path, encoded twice":      {"/%2574oken/" + remote, "/token/REDACTED"},
		"path, encoded own":        {"/users/rf%74_" + own[4:], "/users/rft_REDACTED"},
		"path of tokens":           {"/users/" + remote + "/tokens/x", "/users/" + remote + "/tokens/x"},
		"query":                    {"/a?token=" + remote + "&b=c", "/a?token=REDACTED&b=c"},
		"query, later":             {"/a?b=c&token=" + remote, "/a?b=c&token=REDACTED"},
		"query, longer name":       {"/a?refresh_token=" + remote, "/a?refresh_token=REDACTED"},
		"query alone":              {"token=" + remote, "token=REDACTED"},
		"query, encoded name":      {"/a?t%6Fken=" + remote, "/a?token=REDACTED"},
		"query, password":          {"/a?admin_password=hunter2", "/a?admin_password=REDACTED"},
		"query, OAuth code":        {"/callback?state=1&code=abc", "/callback?state=REDACTED&code=REDACTED"},
		"query, OAuth state":       {"/callback?state=abc&error=access_denied", "/callback?state=REDACTED&error=access_denied"},
		"state of a thing":         {"estate=5", "estate=5"},
		"code of an error":         {"exit code=5", "exit code=5"},
		"referer":                  {"https://pbx.example/console/?token=" + remote + "#top", "https://pbx.example/console/?token=REDACTED#top"},
		"header in a dump":         {"map[X-Auth-Token:[" + remote + "] Accept:[*/*]]", "map[X-Auth-Token:[REDACTED] Accept:[*/*]]"},
		"header in a message":      {"X-Auth-Token: " + remote + " refused", "X-Auth-Token: REDACTED refused"},
		"header in JSON":           {`{"X-Auth-Token":["` + remote + `"]}`, `{"X-Auth-Token":["REDACTED"]}`},
		"header's name":            {"two X-Auth-Token headers", "two X-Auth-Token headers"},
		"authorization":            {"Authorization: Basic YWRtaW46c2VjcmV0", "Authorization: Basic REDACTED"},
		"URL with a password":      {"dialing postgres://ring:fence@db/ring", "dialing postgres://ring:REDACTED@db/ring"},
		"URL with a user":          {"postgres://ring@db/ring", "postgres://ring@db/ring"},
		"e-mail address":           {"to alice@example.org", "to alice@example.org"},
		"percent sign":             {"100% of a%20b", "100% of a%20b"},
		"encoded line break":       {"/a?token=%0A" + remote + "%0Ainjected", "/a?token=REDACTED"},
		"line break after a token": {"/%74oken/" + remote + "/%0Ainjected", "/token/REDACTED/ injected"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := redact.String(test.text)
			if got != test.want {
				t.Errorf("String(%q) = %q, want %q", test.text, got, test.want)
			}
			if again := redact.String(got); again != got {
				t.Errorf("String(%q) = %q: not the same again", got, again)
			}
		})
	}
}

func FuzzString(f *testing.F) {
	f.Add("/api/auth/0.1/", "/scopes/check?a=%20b")
	f.Add("%", "%2")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(redact.String(before+own+after), own[4:]) {
			t.Errorf("the token stays in %q", redact.String(before+own+after))
		}
	})
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	text := "http: panic serving: token " + own + "\n"
	n, err := redact.Writer(&out).Write([]byte(text))
	if n != len(text) || err != nil {
		t.Errorf("Write: %d, %v; want all of %d", n, err, len(text))
	}
	if got := out.String(); got != "http: panic serving: token rft_REDACTED\n" {
		t.Errorf("wrote %q", got)
	}
}

// header logs itself as Caddy's headers do.
type header http.Header

func (h header) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for name, values := range h {
		if err := enc.AddArray(name, stringsOf(values)); err != nil {
			return err
		}
	}
	return nil
}

type stringsOf []string

func (s stringsOf) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	for _, v := range s {
		enc.AppendString(v)
	}
	return nil
}

type stringer struct{}

func (stringer) String() string { return "/token/" + remote }

// request nests a header, as Caddy's request does.
type request struct{ header header }

func (r request) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("uri", "/api/auth/0.1/token/"+remote)
	return enc.AddObject("headers", r.header)
}

// nested holds lists in lists.
type nested struct{}

func (nested) MarshalLogArray(enc zapcore.ArrayEncoder) error {
	enc.AppendByteString([]byte(own))
	return errors.Join(
		enc.AppendArray(stringsOf{own}),
		enc.AppendObject(request{header{"X-Auth-Token": {remote}}}),
		enc.AppendReflected(map[string]string{"token": remote}),
	)
}

var secretFields = map[string]zap.Field{
	"string":           zap.String("uri", "/token/"+remote),
	"named string":     zap.String("token", remote),
	"byte string":      zap.ByteString("uri", []byte("/token/"+remote)),
	"binary":           zap.Binary("payload", []byte(own)),
	"named binary":     zap.Binary("token", []byte(remote)),
	"error":            zap.Error(errors.New("asking http://daemon/?token=" + remote + ": refused")),
	"joined errors":    zap.Error(errors.Join(errors.New(own), errors.New("/token/"+remote))),
	"stringer":         zap.Stringer("url", stringer{}),
	"strings":          zap.Strings("args", []string{own, "/token/" + remote}),
	"named strings":    zap.Strings("X_Auth_Token", []string{remote}),
	"object":           zap.Object("request", request{header{"X-Auth-Token": {remote}, "X-Request-Id": {remote}, "Referer": {"/?token=" + remote}}}),
	"lower case":       zap.Object("headers", header{"x-auth-token": {remote}, "authorization": {"Basic " + remote}}),
	"cookies":          zap.Object("headers", header{"Cookie": {remote}, "Set-Cookie": {remote}, "Proxy-Authorization": {remote}}),
	"named object":     zap.Object("token", request{header{"Other": {remote}}}),
	"inline":           zap.Inline(header{"X-Auth-Token": {remote}}),
	"array":            zap.Array("nested", nested{}),
	"reflected header": zap.Any("headers", http.Header{"X-Auth-Token": {remote}}),
	"reflected tree":   zap.Any("tree", map[string]any{"a": []any{map[string]any{"password": remote}, "/token/" + remote}}),
	"reflected name":   zap.Reflect("token", []string{remote}),
	"named unlike it":  zap.String("note", own),
}

// encoders are the formats of Caddy's logs.
var encoders = map[string]func(zapcore.EncoderConfig) zapcore.Encoder{
	"json": zapcore.NewJSONEncoder, "console": zapcore.NewConsoleEncoder,
}

func logger(enc zapcore.Encoder) (*zap.Logger, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return zap.New(zapcore.NewCore(enc, zapcore.AddSync(out), zapcore.DebugLevel)), out
}

func TestEncoderRedactsEveryKindOfField(t *testing.T) {
	for format, make := range encoders {
		for name, field := range secretFields {
			t.Run(format+"/"+name, func(t *testing.T) {
				ways := map[string]func(*zap.Logger){
					"at the entry": func(l *zap.Logger) { l.Info("entry", field) },
					"ahead":        func(l *zap.Logger) { l.With(field).Info("entry") },
					"lazily ahead": func(l *zap.Logger) { l.WithLazy(field).With(zap.Int("n", 1)).Info("entry") },
				}
				for way, log := range ways {
					l, out := logger(redact.Encoder(make(zap.NewProductionEncoderConfig()), redact.Options{}))
					log(l)
					for _, secret := range []string{own[4:], remote} {
						if strings.Contains(out.String(), secret) {
							t.Errorf("%s: logged %s", way, out)
						}
					}
					if !strings.Contains(out.String(), "entry") {
						t.Errorf("%s: logged %q, want the entry", way, out)
					}
				}

				// Without the encoder the secret is there: the checks above can fail.
				l, out := logger(make(zap.NewProductionEncoderConfig()))
				l.Info("entry", field)
				if !strings.Contains(out.String(), own[4:]) && !strings.Contains(out.String(), remote) && field.Type != zapcore.BinaryType {
					t.Errorf("the field holds no secret: %s", out)
				}
			})
		}
	}
}

func TestEncoderKeepsTheRest(t *testing.T) {
	fields := []zap.Field{
		zap.Int("status", 200), zap.Duration("duration", time.Second), zap.Bool("has_token", true), zap.Skip(),
		zap.String("Wazo-Tenant", remote), zap.Strings("names", []string{"a", "b"}), zap.Time("at", time.Unix(1, 0)),
		zap.Any("tree", map[string]any{"n": 1 << 60, "list": []int{1, 2}, "has_token": true}), zap.Error(errors.New("refused")),
		zap.Object("headers", header{"Accept": {"*/*"}}), zap.Binary("raw", []byte{0, 255}), zap.Any("nothing", nil),
		zap.Namespace("inner"), zap.String("note", "x"),
	}
	plain, want := logger(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}))
	plain.With(fields...).Info("entry", fields...)
	redacting, got := logger(redact.Encoder(redact.Encoder(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}), redact.Options{}), redact.Options{}))
	redacting.With(fields...).Info("entry", fields...)
	if got.String() != want.String() {
		t.Errorf("logged\n%s want\n%s", got, want)
	}
}

// What is deferred is encoded when an entry is written, redacted, where it belongs, and once for each logger that has it.
func TestDeferring(t *testing.T) {
	encoded := 0
	asked := counted{request{header{"X-Auth-Token": {own}}}, &encoded}
	enc := redact.Encoder(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}), redact.Options{Later: func(m zapcore.ObjectMarshaler) bool {
		_, ok := m.(counted)
		return ok
	}})
	if redact.Encoder(enc, redact.Options{}) != enc {
		t.Error("an Encoder is not given back as it is")
	}
	l, out := logger(enc)
	l = l.With(zap.String("note", own), zap.Object("request", asked), zap.Duration("took", time.Second))
	l.WithOptions(zap.IncreaseLevel(zap.WarnLevel)).Info("not written")
	if encoded != 0 {
		t.Errorf("encoded %d times before anything was written", encoded)
	}
	l.With(zap.Namespace("inner"), zap.Int("n", 2), zap.Object("request", asked)).Info("inner")
	l.With(zap.Int("last", 3)).Info("outer", zap.Object("second", asked))
	l.Info("itself")
	const (
		hidden = `{"uri":"/api/auth/0.1/token/REDACTED","headers":{"X-Auth-Token":["REDACTED"]}}`
		ahead  = `"note":"rft_REDACTED","request":` + hidden + `,"took":1000000000`
		want   = `{"msg":"inner",` + ahead + `,"inner":{"n":2,"request":` + hidden + `}}` + "\n" +
			`{"msg":"outer",` + ahead + `,"last":3,"second":` + hidden + `}` + "\n" +
			`{"msg":"itself",` + ahead + `}` + "\n"
	)
	if got := out.String(); got != want {
		t.Errorf("logged\n%s want\n%s", got, want)
	}
}

// Loggers that are made of one another share what they have in common and nothing else, used by many at once.
func TestLoggersOfOneLogger(t *testing.T) {
	for name, common := range map[string]zap.Field{"encoded": zap.Int("common", 1), "deferred": zap.String("common", "1")} {
		t.Run(name, func(t *testing.T) {
			out := new(bytes.Buffer)
			enc := redact.Encoder(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}), redact.Options{})
			l := zap.New(zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(out)), zapcore.DebugLevel)).With(common)
			var work sync.WaitGroup
			for i := range 20 {
				work.Go(func() {
					l.With(zap.Int("a", i)).With(zap.String("b", strconv.Itoa(i))).With(zap.Int("c", i)).Info("entry")
					l.Info("entry")
				})
			}
			work.Wait()
			alone, whole := 0, 0
			for line := range strings.Lines(out.String()) {
				var entry struct {
					Common any
					A, C   *int
					B      *string
				}
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatal(err)
				}
				switch {
				case entry.Common == nil:
					t.Errorf("logged %s", line)
				case entry.A == nil && entry.B == nil && entry.C == nil:
					alone++
				case entry.A != nil && entry.B != nil && entry.C != nil && *entry.A == *entry.C && strconv.Itoa(*entry.A) == *entry.B:
					whole++
				default:
					t.Errorf("logged %s", line)
				}
			}
			if alone != 20 || whole != 20 {
				t.Errorf("%d entries of the logger itself and %d of those made of it, want 20 of each", alone, whole)
			}
		})
	}
}

// counted counts how often it is encoded.
type counted struct {
	request
	times *int
}

func (c counted) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	*c.times++
	return c.request.MarshalLogObject(enc)
}

func TestEncoderRedactsTheMessage(t *testing.T) {
	l, out := logger(redact.Encoder(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), redact.Options{}))
	l.Named("http").Error("GET /token/" + remote)
	var entry map[string]any
	if err := json.Unmarshal(out.Bytes(), &entry); err != nil {
		t.Fatal(err)
	}
	if entry["msg"] != "GET /token/REDACTED" || entry["logger"] != "http" {
		t.Errorf("logged %v", entry)
	}
}

// A value that zap cannot encode is an error in the entry, not a lost entry.
func TestEncoderUnencodableValue(t *testing.T) {
	l, out := logger(redact.Encoder(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), redact.Options{}))
	l.Info("entry", zap.Any("function", func() {}))
	if !strings.Contains(out.String(), "functionError") || !json.Valid(out.Bytes()) {
		t.Errorf("logged %s", out)
	}
}

func BenchmarkString(b *testing.B) {
	for name, text := range map[string]string{
		"header": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"uri":    "/api/confd/1.1/users?limit=10&offset=20&order=lastname",
		"secret": "/api/auth/0.1/token/" + remote,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				redact.String(text)
			}
		})
	}
}

// The entry is as long as one of Caddy's access log. Run with and without the redaction, it says what that costs.
func BenchmarkEntry(b *testing.B) {
	fields := []zap.Field{
		zap.Object("request", request{header{
			"User-Agent": {"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}, "Accept": {"*/*"},
			"Accept-Encoding": {"gzip, deflate, br"}, "Accept-Language": {"en-GB,en;q=0.5"}, "X-Auth-Token": {own},
			"Referer": {"https://pbx.example.org:8443/console/"}, "Wazo-Tenant": {remote},
		}}),
		zap.String("user_id", remote), zap.Duration("duration", time.Millisecond), zap.Int("size", 1000), zap.Int("status", 200),
		zap.Object("resp_headers", header{"Content-Type": {"application/json"}, "Etag": {`"1"`}, "X-Request-Id": {remote}}),
	}
	for name, enc := range map[string]zapcore.Encoder{
		"plain":    zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
		"redacted": redact.Encoder(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), redact.Options{}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encoded, err := enc.EncodeEntry(zapcore.Entry{Message: "handled request"}, fields)
				if err != nil {
					b.Fatal(err)
				}
				encoded.Free()
			}
		})
	}
}
