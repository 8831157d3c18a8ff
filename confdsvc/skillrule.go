package confdsvc

import (
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// SkillRule says which agents a queue tries for a call, one rule after the other.
type SkillRule struct {
	ID         ID                           `db:"id" json:"id" readOnly:"true"`
	TenantUUID string                       `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string                       `db:"name" json:"name" required:"true" maxLength:"64" example:"French first"`
	Rules      store.JSON[[]RuleDefinition] `db:"rules" json:"rules" default:"[]" maxItems:"1000" doc:"The rules, in order."`
	crud.Hrefs
}

// RuleDefinition is one rule.
type RuleDefinition struct {
	Definition string `json:"definition" required:"true" maxLength:"1024" example:"WT < 60, french > 50" doc:"The rule: a line of text, kept as it is."`
}

func init() {
	resources = append(resources, declareSkillRules)
	clientIDs["list_queues_skillrules"] = "list_skill_rules"
	words["/queues/skillrules"] = "skill rules"
}

func declareSkillRules(e *crud.Engine) {
	columns := []string{"id", "name"}
	crud.Collect(e, crud.Resource[SkillRule]{
		Path: "queues/skillrules", Singular: "skill_rule", Param: "skillrule_id", Title: "SkillRule", Rel: "skillrules",
		Table: "confd_skill_rule", Keys: []string{"id"},
		About: "Which agents a queue tries for a call, by their skills.", Lists: []string{"name", "rules"},
		Order: columns, Filters: columns, Search: columns,
	})
}
