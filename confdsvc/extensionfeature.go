package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// ExtensionFeature is a number that telephones dial for a service of the telephone system, in all tenants.
type ExtensionFeature struct {
	UUID    string `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	Exten   string `db:"exten" json:"exten" required:"true" format:"exten"`
	Context string `db:"context" json:"context" readOnly:"true"`
	Feature string `db:"feature" json:"feature" readOnly:"true" example:"enablednd" doc:"The service that the code is for."`
	Enabled bool   `db:"enabled" json:"enabled"`
	crud.Hrefs
}

func init() { resources = append(resources, declareExtensionFeatures) }

func declareExtensionFeatures(e *crud.Engine) {
	columns := []string{"exten", "feature"}
	crud.Collect(e, crud.Resource[ExtensionFeature]{
		Path: "extensions/features", Singular: "extension_feature", Param: "extension_uuid", Title: "FeatureExtension",
		About: "Codes that are dialled for a service, such as *21 for a forward.", Lists: []string{"feature", "exten", "enabled"},
		Table: "confd_extension_feature", Keys: []string{"uuid"}, Scope: crud.Global, Only: []string{"list", "read", "update"},
		Order: columns, Filters: columns, Search: columns,
	})
}
