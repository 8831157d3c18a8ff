package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// Skill is something that agents can, each more or less.
type Skill struct {
	ID          ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID  string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string  `db:"name" json:"name" required:"true" maxLength:"64" pattern:"^[-_.a-zA-Z0-9]+$" example:"french"`
	Description *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	crud.Hrefs

	Agents []SkillAgent `json:"agents" readOnly:"true" doc:"Who has it."`
}

// AgentSkill is a skill as an agent shows it.
type AgentSkill struct {
	ID   int64  `db:"id" json:"id"`
	Name string `db:"name" json:"name"`
	crud.Hrefs
	skillWeight
}

// SkillAgent is an agent as their skill shows them.
type SkillAgent struct {
	AgentRef

	Firstname *string `db:"firstname" json:"firstname"`
	Lastname  *string `db:"lastname" json:"lastname"`
	skillWeight
}

type skillWeight struct {
	Weight int64 `db:"skill_weight" json:"skill_weight" joining:"true" minimum:"0" maximum:"2147483647" default:"0" doc:"How well; what it means, rules say."`
}

const agentSkills crud.Relation[Agent, Skill] = "confd_agent_skill"

func init() {
	docs["Skill.name"] = "Unique in a tenant: rules name it."
	words["/agents/skills"] = "skills"
	resources = append(resources, declareSkills)
	clientIDs["list_agents_skills"] = "list_skills"
	clientIDs["associate_agent_skills"], clientIDs["dissociate_agent_skills"] = "associate_agent_skill", "dissociate_agent_skill"
}

func declareSkills(e *crud.Engine) {
	columns := []string{"name", "id", "description"}
	crud.Collect(e, crud.Resource[Skill]{
		Path: "agents/skills", Singular: "skill", Param: "skill_id", Rel: "skills", Table: "confd_skill", Keys: []string{"id"},
		About: "What agents can, by which rules choose them for calls.", Lists: []string{"name", "description", "agents"},
		Order: columns, Filters: columns, Search: columns,
	})
	crud.Link[Agent, Skill]{
		Relation: agentSkills, Path: "skills", Row: crud.RowOf[skillWeight](),
		LeftShows:  []crud.Show{crud.Many(func(a *Agent) *[]AgentSkill { return &a.Skills })},
		RightShows: []crud.Show{crud.Many(func(s *Skill) *[]SkillAgent { return &s.Agents })},
	}.On(e)
}
