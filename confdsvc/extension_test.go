package confdsvc_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["extensions"] = crudtest.Resource{
		Minimal: func(c *crudtest.Client, n int) object {
			return object{"exten": fmt.Sprintf("%05d", n), "context": contextOf(c)}
		},
		Values: func(n int) object { return object{"exten": fmt.Sprint(90000 + n)} },
		Except: []string{"commented"}, // the opposite of enabled
		Follow: map[string][]string{"enabled": {"commented"}},
	}
}

// Clients find a feature by its name, and telephones dial its number.
func TestFeaturesOfANewInstallation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		want := map[string]string{
			"agentstaticlogin": "_*31.", "agentstaticlogoff": "_*32.", "agentstaticlogtoggle": "_*30.", "autoprov": "*48378", "bsfilter": "_*37.",
			"callrecord": "*26 off", "directoryaccess": "*36", "enablednd": "*25", "enablevm": "*90", "fwdbusy": "_*23.", "fwdrna": "_*22.",
			"fwdunc": "_*21.", "fwdundoall": "*20", "groupmemberjoin": "_*51.", "groupmemberleave": "_*52.", "groupmembertoggle": "_*50.",
			"incallfilter": "*27", "meetingjoin": "_*41.", "paging": "_*11.", "phoneprogfunckey": "_*735.", "phonestatus": "*10", "pickup": "_*8. off",
			"recsnd": "*9", "vmboxmsgslt": "_*96.", "vmboxpurgeslt": "_*99.", "vmboxslt": "_*97.", "vmusermsg": "*98", "vmuserpurge": "*92",
		}
		found := map[string]string{}
		for _, feature := range newWorld(t, db).as(t, "a").Get("/extensions/features").List().Items {
			found[feature.Text("feature")] = feature.Text("exten")
			if feature["enabled"] != true {
				found[feature.Text("feature")] += " off"
			}
		}
		if !maps.Equal(found, want) {
			t.Errorf("the features are %v\nwant %v", found, want)
		}
	})
}
