package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["extensions/features"] = crudtest.Resource{
		Make: func(c *crudtest.Client, n int) object {
			all := c.Get("/extensions/features").List().Items
			return all[n%len(all)]
		},
		Values: func(n int) object { return object{"exten": fmt.Sprintf("*99%d", n)} },
	}
}

// Clients find a feature by its name, and telephones dial its number.
func TestFeaturesOfANewInstallation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		want := map[string]string{
			"agentpause": "_*33.", "agentstaticlogin": "_*31.", "agentstaticlogoff": "_*32.", "agentstaticlogtoggle": "_*30.", "autoprov": "*48378", "bsfilter": "_*37.",
			"callrecord": "*26 off", "directoryaccess": "*36", "enablednd": "*25", "enablevm": "*90", "fwdbusy": "_*23.", "fwdrna": "_*22.",
			"fwdunc": "_*21.", "fwdundoall": "*20", "groupmemberjoin": "_*51.", "groupmemberleave": "_*52.", "groupmembertoggle": "_*50.",
			"incallfilter": "*27", "meetingjoin": "_*41.", "paging": "_*11.", "phoneprogfunckey": "_*735.", "phonestatus": "*10", "pickup": "_*8. off",
			"recsnd": "*9", "switchboard": "_*38.", "vmboxmsgslt": "_*96.", "vmboxpurgeslt": "_*99.", "vmboxslt": "_*97.", "vmusermsg": "*98", "vmuserpurge": "*92",
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

func TestExtensionFeatures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, master := w.as(t, "a"), w.as(t, "master")
		all := a.Get("/extensions/features").List()
		for _, feature := range []string{"enablednd", "fwdbusy", "fwdrna", "fwdunc", "fwdundoall", "pickup", "vmusermsg", "bsfilter", "phoneprogfunckey"} {
			if !slices.Contains(all.Column("feature"), feature) {
				t.Errorf("no %s among %v", feature, all.Column("feature"))
			}
		}
		dnd := a.Get("/extensions/features?feature=enablednd&order=feature").List().Items[0]
		one := "/extensions/features/" + dnd.Text("uuid")
		a.Get(one).Want(http.StatusOK)
		if dnd.Text("exten") != "*25" || dnd["enabled"] != true || dnd.Text("context") != "xivo-features" || a.Get("/extensions/features?search=*25").List().Total != 1 {
			t.Errorf("%v", dnd)
		}
		a.Do(http.MethodPut, one, object{"exten": "*99"}).Want(http.StatusForbidden).Says("master tenant")
		master.Do(http.MethodPut, one, object{"exten": "*20"}).Want(http.StatusBadRequest).Says("FeatureExtension already exists ('exten': '*20')")
		for _, bad := range []any{nil, "", "abc", "_", 25, "*25\n"} {
			master.Do(http.MethodPut, one, object{"exten": bad}).Want(http.StatusBadRequest).Says("exten")
		}
		master.Do(http.MethodPut, one, object{"exten": "*125", "enabled": false, "feature": "other", "context": "other"}).Want(http.StatusNoContent)
		if got := a.Get(one).Object(); got.Text("exten") != "*125" || got["enabled"] != false || got.Text("feature") != "enablednd" || got.Text("context") != "xivo-features" {
			t.Errorf("changed to %v", got)
		}
		// A code is nobody's number, and a number no code: with what is dialled behind it.
		number := func(exten string) object { return object{"exten": exten, "context": "default"} }
		for _, exten := range []string{"*98", "*21", "*2155", "_*21."} {
			a.Do(http.MethodPost, "/extensions", number(exten)).Want(http.StatusBadRequest).Says("is dialled for the service")
		}
		a.Create("/extensions", number("*125"))
		lot := "/parkinglots/" + a.Create("/parkinglots", object{"slots_start": "701", "slots_end": "720"}).Text("id")
		a.Do(http.MethodPut, lot+"/extensions/"+a.Create("/extensions", number("700")).Text("id"), nil).Want(http.StatusNoContent)
		master.Create("/emergency-numbers", object{"number": "112"})
		for _, exten := range []string{"*125", "_*12.", "_*1.", "112", "_11.", "710"} {
			master.Do(http.MethodPut, one, object{"exten": exten, "enabled": true}).Want(http.StatusBadRequest).Says("choose another code")
		}
		master.Do(http.MethodPut, one, object{"exten": "730", "enabled": true}).Want(http.StatusNoContent)
		a.Do(http.MethodPut, lot, object{"slots_end": "730"}).Want(http.StatusBadRequest).Says("is dialled for the service enablednd: take other slots")
		master.Do(http.MethodPost, "/emergency-numbers", object{"number": "730"}).Want(http.StatusBadRequest).Says("is dialled for the service enablednd")
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			master.Do(method, one, nil).Want(http.StatusMethodNotAllowed)
		}
	})
}
