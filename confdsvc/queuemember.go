package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// QueueMembers are those who take the calls of a queue, in the order of their priorities.
type QueueMembers struct {
	Agents []QueueAgent `json:"agents" readOnly:"true" doc:"The agents: they take calls while they are logged in."`
	Users  []QueueUser  `json:"users" readOnly:"true" doc:"The users: they always take calls."`
}

// QueueAgent is an agent as their queue shows them.
type QueueAgent struct {
	AgentRef

	Firstname *string `db:"firstname" json:"firstname"`
	Lastname  *string `db:"lastname" json:"lastname"`
	agentMembership
}

// QueueUser is a user as their queue shows them.
type QueueUser struct {
	UserRef

	Priority int64 `db:"priority" json:"priority" joining:"true" doc:"The order among the members."`
}

// AgentQueue is a queue as its agents show it.
type AgentQueue struct {
	QueueRef

	Penalty int64 `db:"penalty" json:"penalty" joining:"true" doc:"Who has less is tried first."`
}

type agentMembership struct {
	Penalty  int64 `db:"penalty" json:"penalty" joining:"true" minimum:"0" maximum:"2147483647" default:"0" doc:"Who has less is tried first."`
	Priority int64 `db:"priority" json:"priority" joining:"true" minimum:"0" maximum:"2147483647" doc:"Its place among the members, unless it is sent."`
}

const (
	queueAgents crud.Relation[Queue, Agent] = "confd_queue_agent"
	queueUsers  crud.Relation[Queue, User]  = "confd_queue_user"
)

func init() {
	resources = append(resources, declareQueueMembers)
	clientIDs["associate_queue_members_agents"] = "update_agent_queue_association"
	clientIDs["dissociate_queue_members_agents"] = "dissociate_agent_queue"
	clientIDs["associate_queue_members_users"] = "update_user_queue_association"
	clientIDs["dissociate_queue_members_users"] = "dissociate_user_queue"
	words["/members/agents"] = "agents who are members"
}

func declareQueueMembers(e *crud.Engine) {
	crud.Link[Queue, Agent]{
		Relation: queueAgents, Path: "members/agents", Position: "priority", Row: crud.RowOf[agentMembership](), Only: []string{"put", "delete", "set_back"},
		LeftShows:  []crud.Show{crud.Many(func(q *Queue) *[]QueueAgent { return &q.Members.Agents })},
		RightShows: []crud.Show{crud.Many(func(a *Agent) *[]AgentQueue { return &a.Queues })},
		SetBack: &crud.List{
			Path: "queues", ID: "update_agent_queues", By: []string{"id"}, Nested: "queues", Repeated: "Cannot associate same queue more than once.",
		},
	}.On(e)
	crud.Link[Queue, User]{
		Relation: queueUsers, Path: "members/users", Position: "priority", Row: crud.RowOf[memberPriority](),
		LeftShows:  []crud.Show{crud.Many(func(q *Queue) *[]QueueUser { return &q.Members.Users })},
		RightShows: []crud.Show{crud.Many(func(u *User) *[]QueueRef { return &u.Queues })},
		Allow:      crud.All(crud.SameTenant, membersHaveLines[Queue]),
		Changed:    membersShareNoLine("confd_queue_user", "queue_id", func(q *Queue) any { return q.ID }),
	}.On(e)
}
