package confdsvc

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
)

// Localization says in which country a tenant is. Its users show it.
type Localization struct {
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Country    *string `db:"country" json:"country" format:"country" doc:"As two letters of ISO 3166-1; null: it is not said. Users show it."`
}

// countryCodes are the countries of ISO 3166-1, as two letters.
const countryCodes = `AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG
	CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR
	GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY
	MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS
	PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA
	UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`

func init() {
	rest.RegisterFormats(rest.Format{
		Name: "country", Pattern: `^[A-Z]{2}$`, Check: func(code string) bool { return strings.Contains(countryCodes, code) },
		Message: "Must be a country as two capital letters, such as FR", Example: "FR", Doc: "A country, as two capital letters (ISO 3166-1).",
	})
	setting(crud.Resource[Localization]{Path: "localization", Table: "confd_localization"})
	resources = append(resources, func(e *crud.Engine) { e.Reads(crud.Source{Table: "confd_localization"}) })
	clientIDs["read_localization"] = "get_localization"
	tags["localization"] = "In which country a tenant is."
}

// countryOf is the country of a user's tenant.
const countryOf = `SELECT l.country FROM {confd_localization} l WHERE l.tenant_uuid = confd_user.tenant_uuid`

// concealCountry hides the country of a user from who is denied to read it by its own path.
func concealCountry(ctx context.Context, u *User) (bool, error) {
	if p := principal.FromContext(ctx); u.Country == nil || p == nil || !p.Denies("confd.localization.read") {
		return false, nil
	}
	u.Country = nil
	return true, nil
}
