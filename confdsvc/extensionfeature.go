package confdsvc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// ExtensionFeature is a number that telephones dial for a service of the telephone system, in all tenants.
type ExtensionFeature struct {
	UUID    string `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	Exten   string `db:"exten" json:"exten" required:"true" format:"exten"`
	Context string `db:"context" json:"context" readOnly:"true"`
	Feature string `db:"feature" json:"feature" readOnly:"true" example:"enablednd" doc:"The service that the code is for."`
	Enabled bool   `db:"enabled" json:"enabled"`
	crud.Hrefs
}

func init() {
	resources = append(resources, declareExtensionFeatures)
}

func declareExtensionFeatures(e *crud.Engine) {
	columns := []string{"exten", "feature"}
	crud.Collect(e, crud.Resource[ExtensionFeature]{
		Path: "extensions/features", Singular: "extension_feature", Param: "extension_uuid", Title: "FeatureExtension",
		About: "Codes that are dialled for a service, such as *21 for a forward.", Lists: []string{"feature", "exten", "enabled"},
		Table: "confd_extension_feature", Keys: []string{"uuid"}, Scope: crud.Global, Only: []string{"list", "read", "update"},
		Order: columns, Filters: columns, Search: columns,
		Validate: func(ctx context.Context, c store.Conn, change *crud.Change[ExtensionFeature]) error {
			if old, f := change.Old, change.New; old == nil || !f.Enabled || old.Enabled && old.Exten == f.Exten {
				return nil
			}
			return change.New.isFree(ctx, c)
		},
	})
}

// begins returns the digits behind which a number is dialled, if the code is one of the form _*21. with some.
func (f *ExtensionFeature) begins() string {
	digits := strings.TrimRight(strings.TrimPrefix(f.Exten, "_"), ".!")
	if !strings.HasPrefix(f.Exten, "_") || strings.Trim(digits, "0123456789*#") != "" {
		return ""
	}
	return digits
}

// featuresOn returns the codes that work.
func featuresOn(ctx context.Context, c store.Conn) ([]*ExtensionFeature, error) {
	return transaction.Remember(ctx, "confd_extension_feature", "", func() ([]*ExtensionFeature, error) {
		return store.Select[*ExtensionFeature](ctx, c, "SELECT exten, feature FROM confd_extension_feature WHERE enabled")
	})
}

// isNoCode refuses, for a field, a number that telephones dial for a service: who dials it would get one of the two, and nobody could tell which.
func isNoCode(ctx context.Context, c store.Conn, number, field string) error {
	features, err := featuresOn(ctx, c)
	for _, f := range features {
		err = cmp.Or(err, f.leaves(number, field))
	}
	return err
}

// leaves refuses, for a field, a number that is dialled for the service.
func (f *ExtensionFeature) leaves(number, field string) error {
	if begins := f.begins(); f.Exten == number || begins != "" && strings.HasPrefix(number, begins) {
		return apierr.New(apierr.Invalid, "'%s' is dialled for the service %s: choose another number", number, f.Feature).On(field)
	}
	return nil
}

// isFree refuses a code that is, or begins, the number of somebody or an emergency number, or is one at which calls are parked, of any tenant.
func (f *ExtensionFeature) isFree(ctx context.Context, c store.Conn) error {
	taken, err := store.Get[int](ctx, c, `SELECT count(*) FROM (SELECT x.exten FROM confd_extension x JOIN confd_context t ON t.name = x.context
		WHERE t.type = 'internal' UNION ALL SELECT number FROM confd_emergency_number) n
		WHERE exten = $1 OR $2 <> '' AND substr(exten, 1, length($2)) = $2`, f.Exten, f.begins())
	if err != nil {
		return err
	}
	lots, err := store.Select[*ParkingLot](ctx, c, numberedLots+" IS NOT NULL")
	if taken > 0 || slices.ContainsFunc(lots, func(lot *ParkingLot) bool { return lot.holds(f.Exten) }) {
		return apierr.New(apierr.Invalid, "'%s' is, or begins, a number of somebody, an emergency number or one at which calls are parked: "+
			"choose another code", f.Exten).On("exten")
	}
	return err
}

// showCodes gives show what is dialled for a service with a number behind its code: null if the code is disabled.
func showCodes(ctx context.Context, c store.Conn, feature string, show func(code func(number int64) *string)) error {
	code, err := firstOf(store.Select[string](ctx, c, "SELECT exten FROM confd_extension_feature WHERE feature = $1 AND enabled", feature))
	show(func(number int64) *string {
		if code == "" {
			return nil
		}
		exten := strings.Trim(code, "_.X") + fmt.Sprint(number)
		return &exten
	})
	return err
}
