package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// AccessFeature lets hosts use a feature without a login. Nothing here has such a feature: it is kept for a service that does.
type AccessFeature struct {
	ID      ID     `db:"id" json:"id" readOnly:"true"`
	Host    string `db:"host" json:"host" required:"true" pattern:"^[0-9a-zA-Z.:/-]{1,255}$" example:"192.0.2.0/24" doc:"Its address or name, or a network."`
	Feature string `db:"feature" json:"feature" required:"true" enum:"phonebook" doc:"What the hosts may use. Nothing here reads it."`
	Enabled bool   `db:"enabled" json:"enabled" default:"true"`
	crud.Hrefs
}

func init() { resources = append(resources, declareAccessFeatures) }

func declareAccessFeatures(e *crud.Engine) {
	columns := []string{"host", "id", "feature", "enabled"}
	crud.Collect(e, crud.Resource[AccessFeature]{
		Path: "access_features", Singular: "access_feature", Param: "access_feature_id", Title: "AccessFeatures", Scope: crud.Master,
		Table: "confd_access_feature", Keys: []string{"id"},
		About: "Hosts that may use a feature without a login. Nothing here has one: they are kept for other services.", Lists: []string{"host", "feature", "enabled"},
		Order: columns, Filters: columns, Search: columns,
	})
}
