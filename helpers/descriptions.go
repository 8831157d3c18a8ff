package helpers

// tags say what belongs to each tag of the definition.
var tags = map[string]string{
	"commands":      "Commands of Asterisk that are executed in the background.",
	"configuration": "Asterisk's configuration: what would change, and applying it.",
	"definition":    "This definition.",
	"moh":           "Files of music on hold.",
	"status":        "How the service is.",
	"voicemails":    "Messages of voicemails, on this machine.",
}

// docs describe the fields that say nothing of themselves, and the parameters of paths.
var docs = map[string]string{
	"{job_uuid}":     "The UUID of the job, which the request to apply was answered with.",
	"{request_uuid}": "The UUID of the request, which it was answered with.",

	"at":         "When it was written.",
	"change":     "What becomes of the file: added, changed or removed.",
	"code":       "The status of the response.",
	"command":    "The command.",
	"created_at": "When it was requested.",
	"ended_at":   "When it ended; null until then.",
	"generation": "The number of the configuration that is applied.",
	"message":    "What happened, for people.",
	"name":       "The name of the file.",
	"rest_api":   "The part that answers requests.",
	"started_at": "When it was begun; null until then.",
	"state":      "How far it is.",
	"status":     "Whether the part works: ok or fail.",
	"uuid":       "The UUID.",
}

// words say how names are read where their letters do not tell.
var words = map[string]string{
	"/apply/preview":         "what would change",
	"/commonconf_apply":      "live configuration",
	"/commonconf_generate":   "generated configuration",
	"/exec_request_handlers": "requests",
	"chown_autoprov_config":  "give the autoprovisioning file to its owner",
	"ipbx":                   "commands",
	"moh":                    "music on hold",
	"rolled_back":            "taken back",
}
