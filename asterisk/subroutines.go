package asterisk

import (
	"regexp"
	"strings"

	"github.com/ringfence/ringfence/asterisk/leftout"
)

// subroutinePrefix begins the contexts of Asterisk's own files that objects of any tenant may name as their subroutine. No other context can be called.
const subroutinePrefix = "subroutine-"

// subroutineForm is what an object calls a subroutine: the context without the prefix.
var subroutineForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// preprocess calls the subroutine that an object names, before the call goes on.
func (p *plan) preprocess(o leftout.Omission, named *string) []step {
	name := text(named)
	if name == "" {
		return nil
	}
	o.Option = "preprocess_subroutine"
	context := subroutinePrefix + name
	switch {
	case !subroutineForm.MatchString(name):
		p.leave(o, "it is no name of a subroutine: letters, digits, - and _, 60 at most")
		return nil
	case !strings.HasPrefix(p.taken(context, "extensions.conf"), OwnFile):
		p.leave(o, "Asterisk's own extensions.conf has no context ["+context+"]")
		return nil
	}
	return []step{{"Gosub", "ringfence-preprocess,s,1(" + context + "," + o.Kind + "," + o.Key + ")"}}
}
