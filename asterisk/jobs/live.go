package jobs

import "time"

// Live is the state of a running telephone system. Nothing in it is secret.
type Live struct {
	Version    string     `json:"version" example:"20.6.0" doc:"The version of Asterisk."`
	StartedAt  *time.Time `json:"started_at" doc:"When it was started, in the time zone that the gateway's machine has too; null if it does not tell."`
	ReloadedAt *time.Time `json:"reloaded_at" doc:"When it was told last to read all its files."`
	// The lists have no more than the request asked for, of what the token may see.
	Channels      Rows[Channel]         `json:"channels" doc:"The channels: each telephone, trunk or other party of each call."`
	Registrations Rows[Registration]    `json:"registrations" doc:"The places where telephones have registered."`
	Trunks        Rows[LiveTrunk]       `json:"trunks" doc:"The registrations at other systems, and the other systems that are asked whether they answer."`
	Queues        Rows[LiveQueue]       `json:"queues" doc:"The queues, with what waits in them."`
	Switchboards  Rows[LiveSwitchboard] `json:"switchboards" doc:"The switchboards at which calls wait."`
}

// LiveQueue is what waits in a queue, and who takes its calls.
type LiveQueue struct {
	ID int64 `json:"queue_id" example:"3" doc:"The number of the queue in confd."`
	Waits
	Members int64       `json:"members" example:"5" doc:"How many there are who take its calls: its users, and the agents who are logged in."`
	Agents  []LiveAgent `json:"agents" doc:"The agents who are logged in."`
}

// LiveSwitchboard is what waits at a switchboard.
type LiveSwitchboard struct {
	UUID string `json:"switchboard_uuid" format:"uuid" doc:"The switchboard in confd."`
	Waits
}

// Waits are the calls that wait somewhere.
type Waits struct {
	Label   string `json:"label" example:"Support" doc:"What it is called in confd."`
	Waiting int64  `json:"waiting" example:"2" doc:"How many calls wait."`
	Longest int64  `json:"longest_seconds" example:"73" doc:"How long the first of them has waited."`
}

// LiveAgent is an agent who is logged in.
type LiveAgent struct {
	Number string `json:"number" example:"9001" doc:"The number of the agent."`
	State  string `json:"state" enum:"free,ringing,busy,paused,away" doc:"What the agent does; away: no telephone of theirs is there."`
	Reason string `json:"reason" example:"12" doc:"The digits by which the agent has said why they pause."`
	// Since is that of the state "paused"; of an agent in another state, that of the login.
	Since *time.Time `json:"since" doc:"Since when the agent pauses or, in any other state, is logged in; null if Asterisk does not tell."`
}

// Rows are some of a list.
type Rows[T any] struct {
	Total int `json:"total" doc:"How many there are."`
	Items []T `json:"items" doc:"Those that were asked for."`
}

// Of is the SIP endpoint that something belongs to.
type Of struct {
	Endpoint string `json:"endpoint" example:"k3f9a2" doc:"The name of the SIP endpoint; empty if it is none."`
	// Generated says that the endpoint is one of the files that were generated: the one that is stored under this name.
	Generated bool `json:"-"`
}

// Channel is one party of a call.
type Channel struct {
	Of
	Call    string `json:"call" example:"1764266400.12" doc:"The same for all channels of a call."`
	Kind    string `json:"kind" example:"PJSIP" doc:"The technology of the channel."`
	State   string `json:"state" example:"Up" doc:"As Asterisk calls it: Down, Ring, Ringing, Up, Busy and others."`
	Number  string `json:"number" example:"1042" doc:"The number of this party."`
	Name    string `json:"name" example:"Ada Lovelace" doc:"The name of this party."`
	With    string `json:"with_number" example:"1043" doc:"The number of the other party, as far as it is known."`
	WithWho string `json:"with_name" example:"Bob" doc:"The name of the other party."`
	Dialled string `json:"dialled" example:"1043" doc:"Where the channel is in the dialplan."`
	Seconds int64  `json:"seconds" example:"73" doc:"How long the channel has been there."`
}

// Registration is a place where a telephone can be reached.
type Registration struct {
	Of
	From      string     `json:"from" example:"192.0.2.7:5060" doc:"The address from which it has registered."`
	Agent     string     `json:"agent" example:"Yealink T46S" doc:"What the telephone calls itself."`
	State     string     `json:"state" enum:"reachable,unreachable,unknown" doc:"Whether it answers; unknown while it is not asked."`
	LatencyMS *float64   `json:"latency_ms" example:"12.5" doc:"How long it takes to answer, in milliseconds; null if it has not answered."`
	ExpiresAt *time.Time `json:"expires_at" doc:"Until when it is registered, unless it does so again before."`
	Since     *time.Time `json:"since" doc:"Since when it is registered there; null if that began before the gateway heard of it."`
	Before    *time.Time `json:"since_before" doc:"Where since is null: it was registered already when the gateway began to hear Asterisk's events, at this time."`
}

// LiveTrunk is another system.
type LiveTrunk struct {
	Of
	At           string   `json:"at" example:"sip.carrier.example" doc:"The address of the other system."`
	Registration string   `json:"registration" example:"Registered" doc:"Registered, Unregistered or Rejected; empty if it does not register there."`
	State        string   `json:"state" enum:"reachable,unreachable,unknown" doc:"Whether it answers; unknown while it is not asked."`
	LatencyMS    *float64 `json:"latency_ms" example:"12.5" doc:"How long it takes to answer, in milliseconds; null if it has not answered."`
}
