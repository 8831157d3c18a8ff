package confdsvc

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
)

// SIPOption is what is known of an option of pjsip.conf.
type SIPOption struct {
	Name string `json:"name" example:"max_contacts" doc:"The option's name, once more."`
}

func init() {
	resources = append(resources, declareSIPDoc)
	words["/asterisk/pjsip/doc"] = "options of SIP"
}

// declareSIPDoc adds the operation that names the options which sections of pjsip.conf may have.
func declareSIPDoc(e *crud.Engine) {
	all := map[string]map[string]SIPOption{}
	for section, set := range map[string]*optionSet{
		"aor": aorOptions, "auth": authOptions, "endpoint": endpointOptions, "identify": identifyOptions, "registration": registrationOptions,
		"transport": transportOptions, "global": optionSets["pjsip/global"], "system": optionSets["pjsip/system"],
	} {
		all[section] = map[string]SIPOption{}
		for _, name := range set.names() {
			all[section][name] = SIPOption{name}
		}
	}
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/asterisk/pjsip/doc", Access: "confd.asterisk.pjsip.doc.read", ID: "show_pjsip_doc", Tag: "asterisk",
		Summary: "List the options of SIP", Description: "The names of the options that each kind of section of `pjsip.conf` may have.",
		Success: http.StatusOK, Reply: rest.SchemaOf[map[string]map[string]SIPOption](), Tenanted: true,
		Handle: func(context.Context, *rest.Request) (rest.Reply, error) { return rest.Reply{Body: all}, nil },
	})
}
