package confdsvc

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Section is a section of one of Asterisk's own files. There is one of each for the whole installation.
type Section struct {
	TenantUUID string `db:"tenant_uuid" json:"-"`
	// Options are nil while nothing is stored: then those count that a new installation has.
	Options SectionOptions `db:"options" json:"options" required:"true"`
}

func (s *Section) section() *Section { return s }

// asteriskSection says which options a section may have. Asterisk runs programs, or leads calls, by some: so there is no other way to write one.
type asteriskSection struct {
	// path is where it is, below asterisk/: the file and the section. access is its path in accesses, if that is another.
	path, access string
	optionSet

	// first are the options of a new installation, and needs those that must be sent.
	first map[string]string
	needs []string
	// check, if set, says what is wrong with options of which each alone is right.
	check func(options map[string]string) string
}

// optionSet are the options that a section may have.
type optionSet struct {
	kinds map[string]optionKind
	// others, if set, says which other names there may be, which cannot be listed: all of these options are of the kind other.
	others func(name string) bool
	other  optionKind
}

// optionKind is what an option may be.
type optionKind struct {
	// fault says why it cannot have a value, or nothing.
	fault func(value string) string
	// never says that it cannot have any: such an option is not told as one that may be written.
	never bool
}

// optionSets are those of all sections, by their paths below asterisk/, or by the attributes of SIP endpoints that have them.
var optionSets = map[string]*optionSet{}

// sections are all sections, by their paths.
var sections = map[string]*asteriskSection{}

// declareSection adds a section, which has a type of its own and a table confd_asterisk_file_section.
func declareSection[T any, P interface {
	*T
	section() *Section
}](s asteriskSection) {
	sections[s.path], optionSets[s.path] = &s, &s.optionSet
	name := strings.ReplaceAll("asterisk_"+s.path, "/", "_")
	clientIDs["read_"+name] = "list_" + name
	helps[reflect.TypeFor[T]().Name()+".options"] = "The options by their names. There may be " + strings.Join(s.names(), ", ") + "."
	resources = append(resources, func(e *crud.Engine) {
		crud.Document[T]{
			Resource: crud.Resource[T]{
				Path: "asterisk/" + s.path, Singular: name, Table: s.table(), Scope: crud.Master, Only: []string{"read", "update"},
				Validate: func(_ context.Context, _ store.Conn, change *crud.Change[T]) error {
					return s.refuse(P(change.New).section().Options.V)
				},
				Describe: func(action string, op *rest.Operation) {
					op.Access = rights.AccessOf("confd", "/asterisk/"+cmp.Or(s.access, s.path), action)
				},
			},
			Blank: func(fresh *T) any {
				P(fresh).section().Options.V = maps.Clone(s.first)
				return fresh
			},
		}.On(e)
	})
}

func (s *asteriskSection) table() string {
	return "confd_asterisk_" + strings.ReplaceAll(s.path, "/", "_")
}

// readSections reads the sections that are stored. Only the master tenant has some.
func (s *Snapshot) readSections(ctx context.Context, c store.Conn, _ *crud.Engine) error {
	var queries []string
	for _, path := range slices.Sorted(maps.Keys(sections)) {
		queries = append(queries, "SELECT '"+path+"' AS path, options FROM "+sections[path].table())
	}
	stored, err := store.Select[struct {
		Path    string         `db:"path"`
		Options SectionOptions `db:"options"`
	}](ctx, c, strings.Join(queries, " UNION ALL "))
	s.Sections = make(map[string]map[string]string, len(stored))
	for _, one := range stored {
		s.Sections[one.Path] = one.Options.V
	}
	return err
}

// Section returns the options of a section, by its path below asterisk/.
func (s *Snapshot) Section(path string) map[string]string {
	if options := s.Sections[path]; options != nil {
		return options
	}
	return sections[path].first
}

// OptionFault says why an option cannot be in a section, or nothing. The section is named as in optionSets.
func OptionFault(section, name, value string) string {
	if set := optionSets[section]; set != nil {
		return set.fault(name, value)
	}
	return "is of a section that is not here"
}

func (s *optionSet) fault(name, value string) string {
	if kind, known := s.kind(name); known {
		return kind.fault(value)
	}
	return "is no option of this section"
}

// refuse refuses an option that may not be written, for the attribute that has it: Asterisk would reject the whole section.
func (s *optionSet) refuse(field, name, value string) error {
	if _, known := s.kind(name); !known {
		return apierr.New(apierr.Invalid, "'%s: invalid variable (%s)' must be one of (%s)", field, name, strings.Join(s.names(), ", ")).On(field)
	}
	if fault := s.fault(name, value); fault != "" {
		return apierr.New(apierr.Invalid, "'%s: %s' %s", field, name, fault).On(field)
	}
	return nil
}

// refuse refuses options that may not be written.
func (s *asteriskSection) refuse(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if err := s.optionSet.refuse("options", name, options[name]); err != nil {
			return err
		}
	}
	for _, name := range s.needs {
		if _, sent := options[name]; !sent {
			return apierr.New(apierr.Invalid, "'options: %s' is required", name).On("options")
		}
	}
	if s.check != nil {
		if fault := s.check(options); fault != "" {
			return apierr.New(apierr.Invalid, "'options: %s'", fault).On("options")
		}
	}
	return nil
}

// kind returns what an option may be, and whether there is one of that name.
func (s *optionSet) kind(name string) (kind optionKind, known bool) {
	if s.others != nil && s.others(name) {
		return s.other, true
	}
	kind, known = s.kinds[name]
	return kind, known
}

// names returns the options that may be written.
func (s *optionSet) names() (names []string) {
	for name, kind := range s.kinds {
		if !kind.never {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Forms that several options have.
var (
	yesNoForm    = valueForm{`yes|no|true|false|on|off|1|0`, "yes or no"}
	countForm    = valueForm{`[0-9]{1,6}`, "a number of at most six digits"}
	positiveForm = valueForm{`[1-9][0-9]{0,5}`, "a number from 1, of at most six digits"}
	keysForm     = valueForm{`[0-9*#A-D]{1,10}`, "one to ten keys of a telephone, such as *2"}
	soundForm    = valueForm{`[A-Za-z0-9_-]{1,60}(/[A-Za-z0-9_-]{1,60}){0,3}`, "the name of a sound, such as beep"}
	hostForm     = valueForm{`[A-Za-z0-9][A-Za-z0-9.-]{0,250}(:[0-9]{1,5})?`, "a host, also with a port"}
	wordForm     = valueForm{`[A-Za-z0-9._@+-]{1,100}`, "letters, digits and ._@+-"}
)

// valueForm is the form of a value.
type valueForm struct{ form, says string }

// kind returns the kind of options whose values have the form.
func (o valueForm) kind() optionKind {
	form := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + o.form + `)$`) })
	return optionKind{fault: func(value string) string {
		if !form().MatchString(value) {
			return "must be " + o.says
		}
		return ""
	}}
}

// called returns the options with these names, whose values have the form.
func (o valueForm) called(names string) map[string]optionKind { return o.kind().called(names) }

// called returns the options with these names, which are of the kind.
func (kind optionKind) called(names string) map[string]optionKind {
	all := map[string]optionKind{}
	for name := range strings.FieldsSeq(names) {
		all[name] = kind
	}
	return all
}

// anything is the kind of options that may have any value.
var anything = optionKind{fault: func(string) string { return "" }}

// oneOf is the form of one of these values.
func oneOf(values ...string) valueForm {
	return valueForm{strings.Join(values, "|"), "one of " + strings.Join(values, ", ")}
}

// never returns options that Asterisk has, and that cannot be set because of this.
func never(why, names string) map[string]optionKind {
	return optionKind{fault: func(string) string { return "cannot be set: " + why }, never: true}.called(names)
}

// kinds joins options.
func kinds(of ...map[string]optionKind) map[string]optionKind {
	all := map[string]optionKind{}
	for _, some := range of {
		maps.Copy(all, some)
	}
	return all
}

// isAddress reports whether a section may have an address as the name of an option.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil && conf.IsName(name)
}

// differentKeys says that two actions have the same keys.
func differentKeys(options map[string]string) string {
	of := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if other := of[options[name]]; other != "" {
			return name + " must have other keys than " + other
		}
		of[options[name]] = name
	}
	return ""
}

// inPorts says what is wrong with the range of ports of voices.
func inPorts(options map[string]string) string {
	port := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(options[name]); err == nil {
			return n
		}
		return otherwise
	}
	if start, end := port("rtpstart", 5000), port("rtpend", 31000); start < 1024 || start >= end || end > 65535 { // without one Asterisk has these
		return "rtpstart must be at least 1024, and less than rtpend, which is at most 65535"
	}
	return ""
}
