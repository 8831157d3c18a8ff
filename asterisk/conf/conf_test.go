package conf_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// hostile are texts by which somebody would write configuration of their own.
var hostile = []string{
	"", "plain", "Bob\"\n[evil]", "a;b", `a\;b`, `a\\;b`, ";;", `\`, `ends\`, `ends\\`, ";-- open", "close --;", "#exec /bin/id", `#include "/etc/passwd"`,
	"${SHELL(id)}", "$[1+1]", "[x](!)", "[x]", "=> x", "= x", ">x", "+= x", "a,b|c=d", "a\rb", "a\x00b", "\u2028x", "é ü 漢字", "\xff\xfe", " lead and trail ",
	`"quoted"`, "same => n,System(id)", "a\tb", "\x7f", "a(b)c", "%41", "a&b", "--;", "\\;--\\", ";--a--;b",
}

func FuzzWriterRoundTrip(f *testing.F) {
	for _, text := range hostile {
		f.Add("section", "name", text)
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, section, name, text string) {
		var w conf.Writer
		w.Comment(text)
		if conf.IsSectionName(section) {
			w.Section(section)
		} else {
			refused(t, func(w *conf.Writer) { w.Section(section) })
			w.Section("s")
			section = "s"
		}
		if !conf.IsName(name) {
			refused(t, func(w *conf.Writer) { w.Set(name, "x") })
			name = "n"
		}
		plain := conf.Plain(text)
		if plain != text {
			refused(t, func(w *conf.Writer) { w.Set("n", text) })
		}
		w.Set(name, plain)
		w.Comment(text)
		w.Object(name, plain)
		w.Section("callerid")
		id := conf.CallerID{Name: strings.TrimSpace(plain), Number: conf.Digits(text)}
		w.Set("callerid", cmp.Or(id.String(), `""`))
		if read := conf.ParseCallerID(id.String()); read != id {
			t.Fatalf("%q is read back as %+v, not as %+v", id, read, id)
		}
		w.Section("voicemail")
		w.Object("100", "1,"+conf.Field(text)+",2,3,"+conf.Field(text)+"=4|5=6")
		w.Section("dialplan")
		w.Object("exten", "s,1,Set(X="+conf.Argument(text)+")")
		got, err := w.Bytes()
		if err != nil {
			// Encoded, a character takes three, and Asterisk reads 8,190 of a line.
			if long := len(section)+len(name)+3*len(text)+50 > 8190; !long || !strings.Contains(err.Error(), "is too long") {
				t.Fatal(err)
			}
			return
		}
		file, err := conf.Parse(got)
		if err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		if len(file.Sections) != 4 || len(file.Includes) != 0 {
			t.Fatalf("%d sections and %d includes in %q", len(file.Sections), len(file.Includes), got)
		}
		value := strings.Trim(plain, " ")
		want := []conf.Value{{Name: name, Text: value}, {Name: name, Text: value, Object: true}}
		for i := range want {
			want[i].Line = file.Sections[0].Values[i].Line
		}
		if s := file.Sections[0]; s.Name != section || !reflect.DeepEqual(s.Values, want) {
			t.Fatalf("[%s] %+v, want [%s] %+v", s.Name, s.Values, section, want)
		}
		checkCallerID(t, file.Sections[1], text)
		checkMailbox(t, file.Sections[2])
		checkArgument(t, file, text)
	})
}

func refused(t *testing.T, write func(w *conf.Writer)) {
	t.Helper()
	var w conf.Writer
	write(&w)
	if got, err := w.Bytes(); err == nil {
		t.Fatalf("%q was not refused", got)
	}
}

// An error goes into logs and to clients: it does not hold the PIN that a line begins with.
func TestErrorsHoldNoValue(t *testing.T) {
	for _, value := range []string{"4711," + strings.Repeat("a", 8190), "4711\n"} {
		var w conf.Writer
		w.Section("default")
		w.Object("101", value)
		if _, err := w.Bytes(); err == nil || strings.Contains(err.Error(), "4711") {
			t.Errorf("the error is %v", err)
		}
	}
}

// checkCallerID reads the name back as Asterisk does: up to the first quote without a backslash.
func checkCallerID(t *testing.T, s *conf.Section, text string) {
	t.Helper()
	value, _ := s.Get("callerid")
	if len(s.Values) != 1 || !strings.HasPrefix(value, `"`) {
		t.Fatalf("caller ID %+v", s.Values)
	}
	var name []byte
	i := 1
	for ; i < len(value) && value[i] != '"'; i++ {
		if value[i] == '\\' {
			i++
		}
		name = append(name, value[i])
	}
	if want := strings.TrimSpace(conf.Plain(text)); string(name) != want {
		t.Fatalf("name %q, want %q", name, want)
	}
	if rest := value[i+1:]; rest != "" && rest != " <"+conf.Digits(text)+">" {
		t.Fatalf("behind the name: %q", rest)
	}
}

func checkMailbox(t *testing.T, s *conf.Section) {
	t.Helper()
	fields := strings.Split(s.Values[0].Text, ",")
	if len(s.Values) != 1 || len(fields) != 5 || strings.Count(fields[4], "|") != 1 || strings.Count(fields[4], "=") != 2 {
		t.Fatalf("mailbox %+v", s.Values)
	}
}

// checkArgument reads the variable's value back as Asterisk does.
func checkArgument(t *testing.T, file *conf.File, text string) {
	t.Helper()
	plan, err := conf.ParseDialplan(&conf.File{Sections: file.Sections[3:]})
	if err != nil {
		t.Fatal(err)
	}
	step := plan.Contexts[0].Steps[0]
	value := strings.TrimPrefix(step.Args, "X=")
	if inner, encoded := strings.CutPrefix(value, "${URIDECODE("); encoded {
		value = inner[:len(inner)-len(")}")]
		if strings.ContainsAny(value, "${}()[],;\"\\ &|") {
			t.Fatalf("live characters in %q", value)
		}
		var out bytes.Buffer
		for i := 0; i < len(value); i++ {
			if value[i] != '%' {
				out.WriteByte(value[i])
				continue
			}
			var c byte
			if _, err := fmt.Sscanf(value[i+1:i+3], "%02X", &c); err != nil {
				t.Fatal(err)
			}
			out.WriteByte(c)
			i += 2
		}
		value = out.String()
	}
	if step.App != "Set" || value != conf.Plain(text) {
		t.Fatalf("%s of %q, want %q", step.App, value, conf.Plain(text))
	}
}

// TestRandomFilesReadBack writes files of many sections with hostile values, and compares all that is read back.
func TestRandomFilesReadBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w conf.Writer
		var want []*conf.Section
		for i := range 20 {
			s := &conf.Section{Name: fmt.Sprintf("s%d", i)}
			w.Section(s.Name)
			for range random.IntN(6) {
				v := conf.Value{Name: "name", Object: random.IntN(2) == 0}
				for range 1 + random.IntN(3) {
					v.Text += conf.Plain(hostile[random.IntN(len(hostile))])
				}
				v.Text = strings.Trim(v.Text, " ")
				if v.Object {
					w.Object(v.Name, v.Text)
				} else {
					w.Set(v.Name, v.Text)
				}
				s.Values = append(s.Values, v)
			}
			want = append(want, s)
		}
		text, err := w.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		got, err := conf.Parse(text)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		for _, s := range got.Sections {
			s.Line = 0
			for i := range s.Values {
				s.Values[i].Line = 0
			}
		}
		if !reflect.DeepEqual(got.Sections, want) || len(got.Includes) > 0 {
			t.Fatalf("%q was not read back", text)
		}
	}
}

func TestParseReadsAsteriskFormat(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"values":              {"[a]\nx = 1\ny=2\nz => 3\n", "[a] x=1 y=2 z=>3"},
		"comments":            {"; all\n[a] ; here\nx = 1 ; 2\ny = \"b; c\"\nz = 1\\;2\n", `[a] x=1 y="b z=1;2`},
		"backslashes":         {"[a]\nx = a\\\\;b\ny = a\\b\n", `[a] x=a\;b y=a\b`},
		"long comment":        {"[a]\n;-- x\n[b]\ny = 1\n--;\nz = 2\n", "[a] z=2"},
		"long comment inside": {"[a]\nx = 1 ;-- y --; 2\n", "[a] x=1  2"},
		"nested comment":      {"[a]\n;-- x ;-- y --; z = 1\n--;\nz = 2\n", "[a] z=2"},
		"rule of hyphens":     {"[a]\n;--- x\nz = 2\n", "[a] z=2"},
		"template":            {"[t](!)\nx = 1\n[a](t)\ny = 2\n", "[t]! x=1 [a] x=1^ y=2"},
		"two templates":       {"[t](!)\nx = 1\n[u](!,t)\ny = 2\n[a](t,u)\n", "[t]! x=1 [u]! x=1^ y=2 [a] x=1^ x=1^ y=2^"},
		"addition":            {"[a]\nx = 1\n[b]\n[a](+)\ny = 2\n", "[a] x=1 y=2 [b]"},
		"same name":           {"[a]\ntype=endpoint\n[a]\ntype=aor\n", "[a] type=endpoint [a] type=aor"},
		"append":              {"[a]\nx = 1\nx += 2\ny += 3\n", "[a] x=1 2 y=3"},
		"escaped name":        {"[a]\n\\[x = 1\n\\#y = 2\n", "[a] [x=1 #y=2"},
		"value with a sign":   {"[a]\nx = a=b\ny = >c\nz==d\n", "[a] x=a=b y=>c z==d"},
		"includes":            {"#include \"a.conf\"\n#tryinclude b.conf\n#include <c.conf>\n", "#a.conf #b.conf? #c.conf"},
		"carriage return":     {"[a]\r\nx = 1\r\n", "[a] x=1"},
		"no last line end":    {"[a]\nx = 1", "[a] x=1"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := conf.Parse([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(file); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func show(f *conf.File) string {
	var words []string
	for _, i := range f.Includes {
		words = append(words, "#"+i.Path+map[bool]string{true: "?"}[i.Optional])
	}
	for _, s := range f.Sections {
		words = append(words, "["+s.Name+"]"+map[bool]string{true: "!"}[s.Template])
		for _, v := range s.Values {
			words = append(words, v.Name+"="+map[bool]string{true: ">"}[v.Object]+v.Text+map[bool]string{true: "^"}[v.Inherited])
		}
	}
	return strings.Join(words, " ")
}

func TestParseReportsWhatAsteriskWarnsAbout(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1\n":                        "line 1: is in no section",
		"[a\n":                           "line 1: a section has no closing bracket",
		"[a](b\n":                        "line 1: the templates of [a] have no closing parenthesis",
		"[a](b)\n":                       "line 1: there is no template [b]",
		"[a](+)\n":                       "line 1: there is no section [a] to add to",
		"[a] b\n":                        "line 1: there is text behind the section [a]",
		"[a]\nx\n":                       "line 2: has no =",
		"[a]\n= 1\n":                     "line 2: a value has no name",
		"[a]\n\\\n":                      "line 2: a backslash escapes nothing",
		"#exec id\n":                     "line 1: the directive #exec is not accepted",
		"#include\n":                     "line 1: #include names no file",
		";-- open\n[a]\n":                "line 2: a comment has no end",
		"[a]\nx = 1 --; 2\n":             "line 2: --; ends no comment",
		"[a]\nx = 1\x002\n":              "line 2: holds a NUL character",
		"[a]\nx = " + over + "\ny = 1\n": "line 2: is too long",
	} {
		_, err := conf.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

var over = strings.Repeat("x", 8191)

func TestWriterRefuses(t *testing.T) {
	for name, write := range map[string]func(w *conf.Writer){
		"section":        func(w *conf.Writer) { w.Section("a]b") },
		"long section":   func(w *conf.Writer) { w.Section(strings.Repeat("a", 80)) },
		"name":           func(w *conf.Writer) { w.Set("a=b", "c") },
		"directive":      func(w *conf.Writer) { w.Set("#exec", "id") },
		"line end":       func(w *conf.Writer) { w.Set("a", "b\nc") },
		"long line":      func(w *conf.Writer) { w.Set("a", over) },
		"include of two": func(w *conf.Writer) { w.Include("a b") },
		"include glob":   func(w *conf.Writer) { w.Include("*.conf") },
	} {
		t.Run(name, func(t *testing.T) { refused(t, write) })
	}
}

func TestParseDialplan(t *testing.T) {
	file, err := conf.Parse([]byte(`[general]
static = yes
[globals]
X = 1
[a]
include => b
exten => 100,hint,PJSIP/alice&PJSIP/bob
exten => 100,1(start),NoOp(a,(b),c)
 same => n,Goto(start)
 same => n(end),Hangup
exten => _1X./200,1,Answer()
[b]
exten => s,1,Set(X=$[1+1])
[a]
exten => 101,1,Dial(PJSIP/x,,U(y^z))
`))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := conf.ParseDialplan(file)
	if err != nil {
		t.Fatal(err)
	}
	a := plan.Context("a")
	if len(plan.Contexts) != 2 || !reflect.DeepEqual(a.Includes, []string{"b"}) {
		t.Fatalf("%+v", plan)
	}
	want := []conf.Step{
		{Exten: "100", Priority: conf.HintPriority, App: "PJSIP/alice&PJSIP/bob"},
		{Exten: "100", Priority: 1, Label: "start", App: "NoOp", Args: "a,(b),c"},
		{Exten: "100", Priority: 2, App: "Goto", Args: "start"},
		{Exten: "100", Priority: 3, Label: "end", App: "Hangup"},
		{Exten: "_1X.", CallerID: "200", Priority: 1, App: "Answer"},
		{Exten: "101", Priority: 1, App: "Dial", Args: "PJSIP/x,,U(y^z)"},
	}
	for i := range a.Steps {
		a.Steps[i].Line = 0
	}
	if !reflect.DeepEqual(a.Steps, want) {
		t.Errorf("got  %+v\nwant %+v", a.Steps, want)
	}
	for text, want := range map[string]string{
		"[a]\nsame => n,NoOp()\n":                          "same has no extension before it",
		"[a]\nexten => 100\n":                              "an extension has no priority",
		"[a]\nexten => 100,n,NoOp()\n":                     "100 has no priority before n",
		"[a]\nexten => 100,x,NoOp()\n":                     `"x" is no priority`,
		"[a]\nexten => 100,1,NoOp(\n":                      "the arguments of NoOp are not closed",
		"[a]\nexten => 100,1,\n":                           "100 has no application",
		"[a]\nexten => 100,1,A()\nexten => 100,1,B()\n":    "100 has priority 1 twice",
		"[a]\nextem => 100,1,A()\n":                        "extem is no word of a context",
		"[a]\nexten => 100,1(b,A()\n":                      "the label of",
		"[a]\nexten => 1,1,A()\n[a]\nexten => 1,1,A()\n":   "1 has priority 1 twice",
		"[a]\nexten => 100,1,A()\nsame => n,NoOp(a) trail": "the arguments of NoOp are not closed",
	} {
		file, err := conf.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = conf.ParseDialplan(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
