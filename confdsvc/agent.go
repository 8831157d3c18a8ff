package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Agent takes the calls of queues, at the telephone where they are logged in.
type Agent struct {
	ID                   ID      `db:"id" json:"id" readOnly:"true"`
	TenantUUID           string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Number               string  `db:"number" json:"number" required:"true" fixed:"true" pattern:"^[0-9*#]{1,40}$" example:"9001" doc:"Dialled behind the codes."`
	Firstname            *string `db:"firstname" json:"firstname" maxLength:"128"`
	Lastname             *string `db:"lastname" json:"lastname" maxLength:"128"`
	Password             *string `db:"password" json:"password" maxLength:"128" example:"1234" doc:"Digits, * and # that the log in asks for; null: none."`
	Language             *string `db:"language" json:"language" maxLength:"20" example:"en_US" doc:"Kept for clients: nothing here reads it."`
	PreprocessSubroutine *string `db:"preprocess_subroutine" json:"preprocess_subroutine" maxLength:"79"`
	Description          *string `db:"description" json:"description" multiline:"true" maxLength:"4096"`
	crud.Hrefs

	Queues []AgentQueue `json:"queues" readOnly:"true"`
	Skills []AgentSkill `json:"skills" readOnly:"true" doc:"What the agent can."`
	Users  []UserRef    `json:"users" readOnly:"true"`
}

// AgentRef is an agent as its user shows it.
type AgentRef struct {
	ID     int64  `db:"id" json:"id"`
	Number string `db:"number" json:"number" example:"9001"`
	crud.Hrefs
}

// KeyAgent logs an agent in or out; its lamp says whether they are logged in.
type KeyAgent struct {
	keyHref

	Action  string `json:"action" required:"true" enum:"login,logout,toggle"`
	AgentID ID     `json:"agent_id" required:"true" ref:"agents.id"`
}

const userAgents crud.Relation[User, Agent] = "confd_user_agent"

func init() {
	resources = append(resources, declareAgents)
	funcKeyKinds = append(funcKeyKinds, kind[KeyAgent]("agent", ""))
}

func declareAgents(e *crud.Engine) {
	columns := []string{"id", "firstname", "lastname", "number", "preprocess_subroutine"}
	crud.Collect(e, crud.Resource[Agent]{
		Path: "agents", Singular: "agent", Param: "agent_id", Table: "confd_agent", Keys: []string{"id"},
		About: "Those who take the calls of queues, at the telephone where they log in.", Lists: []string{"number", "firstname", "lastname", "queues"},
		Order: columns, Filters: columns, Search: columns, Nested: []string{"queues"},
	})
	crud.Link[User, Agent]{
		Relation: userAgents, LeftHas: crud.AtMostOne, Only: []string{"put", "delete_all"},
		LeftShows:  []crud.Show{crud.One(func(u *User) **AgentRef { return &u.Agent })},
		RightShows: []crud.Show{crud.Many(func(a *Agent) *[]UserRef { return &a.Users })},
	}.On(e)
	crud.Nest[User, Agent]{
		Name: "agent", Relation: userAgents, Shown: true, Fills: []string{"number"},
		Complete: func(ctx context.Context, c store.Conn, of *crud.Change[User], a *Agent) error {
			if a.Firstname == nil && a.Lastname == nil {
				a.Firstname, a.Lastname = &of.New.Firstname, of.New.Lastname
			}
			if a.Number != "" {
				return nil
			}
			numbers, err := store.Select[string](ctx, c, `SELECT x.exten FROM confd_user_line ul JOIN confd_line_extension lx ON lx.line_id = ul.line_id
				JOIN confd_extension x ON x.id = lx.extension_id WHERE ul.user_id = $1 ORDER BY ul.position, x.exten LIMIT 1`, of.New.ID)
			if err == nil && len(numbers) == 0 {
				err = apierr.InvalidField("number", "required", "Is required, since the user has no number")
			}
			a.Number, err = firstOf(numbers, err)
			return err
		},
	}.On(e)
}
