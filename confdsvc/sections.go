package confdsvc

// The sections, each with a type of its own. To add one, add its type, what it may have, and its table.
type (
	// PJSIPGlobal is the section global of pjsip.conf.
	PJSIPGlobal struct{ Section }
	// PJSIPSystem is the section system of pjsip.conf, which counts from Asterisk's next start.
	PJSIPSystem struct{ Section }
	// FeaturesGeneral is the section general of features.conf.
	FeaturesGeneral struct{ Section }
	// FeaturesFeaturemap is the section featuremap of features.conf.
	FeaturesFeaturemap struct{ Section }
	// FeaturesApplicationmap is the section applicationmap of features.conf.
	FeaturesApplicationmap struct{ Section }
	// QueuesGeneral is the section general of queues.conf.
	QueuesGeneral struct{ Section }
	// RTPGeneral is the section general of rtp.conf.
	RTPGeneral struct{ Section }
	// RTPCandidates is the section ice_host_candidates of rtp.conf: which address is told instead of one of the machine's own.
	RTPCandidates struct{ Section }
	// HEPGeneral is the section general of hep.conf: where signalling is sent for diagnosis.
	HEPGeneral struct{ Section }
	// ConfbridgeBridge is what conferences begin with.
	ConfbridgeBridge struct{ Section }
	// ConfbridgeUser is what participants of conferences begin with.
	ConfbridgeUser struct{ Section }
)

func init() {
	declareSection[PJSIPGlobal](asteriskSection{
		path: "pjsip/global", first: map[string]string{"endpoint_identifier_order": "auth_username,username,ip"},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called(`all_codecs_on_empty_reinvite allow_sending_180_after_183 disable_multi_domain ignore_uri_user_options
				mwi_disable_initial_unsolicited norefersub send_contact_status_on_update_registration use_callerid_contact`),
			countForm.called("contact_expiration_check_interval keep_alive_interval max_initial_qualify_time"),
			positiveForm.called("mwi_tps_queue_high unidentified_request_count unidentified_request_period unidentified_request_prune_interval"),
			valueForm{`-1|[0-9]{1,6}`, "a number of at most six digits, or -1"}.called("mwi_tps_queue_low"),
			valueForm{`[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5]`, "a number from 1 to 255"}.called("max_forwards"),
			valueForm{`[A-Za-z0-9 ._/()+-]{1,100}`, "letters, digits, blanks and ._/()+-"}.called("user_agent"),
			wordForm.called("default_from_user default_realm"),
			valueForm{`[A-Za-z0-9*#]{1,40}`, "letters, digits, * and #"}.called("default_voicemail_extension"),
			valueForm{`yes|no|[0-9a-fA-F:.]{2,39}`, "yes, no, or an address"}.called("debug"),
			oneOf("global", "pjsip_only", "none").called("taskprocessor_overload_trigger"),
			valueForm{`(?i:md5|sha-256|sha-512-256)(,(?i:md5|sha-256|sha-512-256)){0,2}`, "a list of md5, sha-256 and sha-512-256"}.
				called("default_auth_algorithms_uac default_auth_algorithms_uas"),
			valueForm{
				`(auth_username,username|username(,auth_username)?)(,(ip|header|request_uri|anonymous)){0,4}`,
				"a list of auth_username, username, ip, header, request_uri and anonymous, in which those of a username come first: a telephone " +
					"behind the address of a trunk is still a telephone",
			}.called("endpoint_identifier_order"),
			never("Asterisk would write numbers into a context by itself", "regcontext"),
			never("what leads out is a trunk", "default_outbound_endpoint"),
		)},
	})
	declareSection[PJSIPSystem](asteriskSection{
		path: "pjsip/system", first: map[string]string{},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called("accept_multiple_sdp_answers compact_headers disable_rport disable_tcp_switch follow_early_media_fork"),
			valueForm{`[1-9][0-9]{2,5}`, "a number of milliseconds from 100, of at most six digits"}.called("timer_b timer_t1"),
			countForm.called(`taskpool_auto_increment taskpool_idle_timeout taskpool_initial_size taskpool_max_size taskpool_minimum_size
				threadpool_auto_increment threadpool_idle_timeout threadpool_initial_size threadpool_max_size`),
		)},
	})
	declareSection[FeaturesGeneral](asteriskSection{
		path: "features/general",
		first: map[string]string{
			"transferdigittimeout": "5", "pickupexten": "*8", "featuredigittimeout": "1500", "atxfernoanswertimeout": "15", "atxferdropcall": "no",
			"atxferloopdelay": "10", "atxfercallbackretries": "2",
		},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called("atxferdropcall"),
			countForm.called("atxfercallbackretries atxferloopdelay"),
			positiveForm.called("atxfernoanswertimeout featuredigittimeout transferdialattempts transferdigittimeout"),
			soundForm.called("pickupfailsound pickupsound recordingfailsound transferinvalidsound transferretrysound xferfailsound xfersound"),
			keysForm.called("atxferabort atxfercomplete atxferswap atxferthreeway pickupexten"),
		)},
	})
	declareSection[FeaturesFeaturemap](asteriskSection{
		path: "features/featuremap", first: map[string]string{"blindxfer": "*1", "disconnect": "*0", "atxfer": "*2"},
		needs: []string{"atxfer", "blindxfer"}, check: differentKeys,
		optionSet: optionSet{kinds: kinds(
			keysForm.called("atxfer blindxfer disconnect"),
			never("a call is parked by a transfer to the number of a parking lot", "parkcall"),
			never("these are the keys of togglerecord in the section applicationmap", "automixmon"),
		)},
	})
	// An applicationmap runs what it names: so the one thing in it has a meaning, and no text of its own.
	declareSection[FeaturesApplicationmap](asteriskSection{
		path: "features/applicationmap", first: map[string]string{"togglerecord": "*3"}, needs: []string{"togglerecord"},
		optionSet: optionSet{kinds: valueForm{keysForm.form, keysForm.says + ", alone: which application they start cannot be chosen"}.called("togglerecord")},
	})
	declareSection[QueuesGeneral](asteriskSection{
		path: "queues/general", access: "queue/general",
		first: map[string]string{"persistentmembers": "yes", "autofill": "no", "monitor-type": "no", "updatecdr": "no", "shared_lastcall": "yes"},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called(`autofill force_longest_waiting_caller keepstats log_membername_as_agent log-restricted-caller-id
				negative_penalty_invalid shared_lastcall updatecdr`),
			oneOf("yes").called("persistentmembers"),
			oneOf("no", "mixmonitor").called("monitor-type"),
		)},
	})
	declareSection[RTPGeneral](asteriskSection{
		path: "rtp/general", first: map[string]string{"rtpstart": "10000", "rtpend": "20000", "stunaddr_reresolve_ttl_0": "yes"}, check: inPorts,
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called("icesupport rtpchecksums stun_software_attribute stunaddr_reresolve_ttl_0"),
			valueForm{`[0-9]{4,5}`, "a port"}.called("rtpend rtpstart"),
			positiveForm.called("dtmftimeout probation"),
			valueForm{`[5-9][0-9]{2}|[1-5]?[0-9]{4}|60000`, "a number of milliseconds from 500 to 60000"}.called("rtcpinterval"),
			valueForm{`25[6-9]|2[6-9][0-9]|[3-9][0-9]{2}|[1-9][0-9]{3}`, "a number of bytes from 256 to 9999"}.called("dtls_mtu"),
			oneOf("yes", "no", "seqno").called("strictrtp"),
			hostForm.called("stunaddr turnaddr"),
			wordForm.called("turnpassword turnusername"),
		)},
	})
	declareSection[RTPCandidates](asteriskSection{
		path: "rtp/ice_host_candidates", first: map[string]string{},
		optionSet: optionSet{others: isAddress, other: valueForm{
			`[0-9a-fA-F.:]{2,45}(,include_local_address)?`,
			"the address that is told instead of it, with ,include_local_address behind it if both are told",
		}.kind()},
	})
	declareSection[HEPGeneral](asteriskSection{
		path: "hep/general", first: map[string]string{"enabled": "0"},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called("enabled"),
			valueForm{`(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9][A-Za-z0-9.-]{0,250}):[0-9]{1,5}`, "a host with a port, such as 192.0.2.1:9061"}.called("capture_address"),
			valueForm{`[0-9]{1,9}`, "a number of at most nine digits"}.called("capture_id"),
			wordForm.called("capture_name capture_password"),
			oneOf("call-id", "channel").called("uuid_type"),
		)},
	})
	declareSection[ConfbridgeBridge](asteriskSection{
		path: "confbridge/wazo_default_bridge", first: map[string]string{"type": "bridge"},
		optionSet: optionSet{kinds: kinds(
			oneOf("bridge").called("type"),
			yesNoForm.called("binaural_active enable_events jitterbuffer"),
			countForm.called("max_members remb_estimated_bitrate remb_send_interval video_update_discard"),
			valueForm{`auto|[1-9][0-9]{3,5}`, "auto, or a number of hertz"}.called("internal_sample_rate"),
			valueForm{`none|[1-9][0-9]{3,5}`, "none, or a number of hertz"}.called("maximum_sample_rate"),
			oneOf("10", "20", "40", "80").called("mixing_interval"),
			oneOf("none", "follow_talker", "last_marked", "first_marked", "sfu").called("video_mode"),
			oneOf("average", "lowest", "highest", "average_all", "lowest_all", "highest_all", "force").called("remb_behavior"),
			valueForm{`[a-z]{2,3}(_[A-Z]{2})?`, "a language, such as en or fr_FR"}.called("language"),
			soundForm.called(`sound_begin sound_binaural_off sound_binaural_on sound_error_menu sound_get_pin sound_has_joined sound_has_left
				sound_invalid_pin sound_join sound_kicked sound_leader_has_left sound_leave sound_locked sound_locked_now sound_muted
				sound_only_one sound_only_person sound_other_in_party sound_there_are sound_unlocked_now sound_unmuted sound_wait_for_leader`),
			never("Asterisk would run a program", "record_command record_options"),
			never("each conference says by record whether it is recorded, into its tenant's folder",
				"record_conference record_file record_file_append record_file_timestamp"),
			never("Asterisk would write numbers into a context by itself", "regcontext"),
			never("this is the profile that others are made from", "template"),
		)},
	})
	declareSection[ConfbridgeUser](asteriskSection{
		path: "confbridge/wazo_default_user", first: map[string]string{"type": "user", "dsp_drop_silence": "yes", "talk_detection_events": "yes"},
		optionSet: optionSet{kinds: kinds(
			oneOf("user").called("type"),
			yesNoForm.called(`announce_join_leave announce_join_leave_review announce_only_user announce_user_count denoise dsp_drop_silence
				dtmf_passthrough echo_events end_marked hear_own_join_sound jitterbuffer marked music_on_hold_when_empty quiet send_events
				startmuted talk_detection_events text_messaging wait_marked`),
			valueForm{`yes|no|[0-9]{1,4}`, "yes, no, or a number"}.called("announce_user_count_all"),
			countForm.called("dsp_silence_threshold timeout"),
			positiveForm.called("dsp_talking_threshold"),
			soundForm.called("announcement"),
			never("each conference says so by admin_pin and pin", "admin pin"),
			never("each conference says so by music_on_hold", "music_on_hold_class"),
			never("this is the profile that others are made from", "template"),
		)},
	})
	helps["RTPCandidates.options"] = "The options by the addresses of the machine."
	clientIDs["read_asterisk_queues_general"] = "list_asterisk_queue_general"
	clientIDs["update_asterisk_queues_general"] = "update_asterisk_queue_general"
	words["/asterisk/pjsip/global"] = "settings of SIP"
	words["/asterisk/pjsip/system"] = "settings of SIP that need a restart"
	words["/asterisk/features/general"] = "settings of transfers"
	words["/asterisk/features/featuremap"] = "keys during calls"
	words["/asterisk/features/applicationmap"] = "keys for recordings"
	words["/asterisk/queues/general"] = "settings of all queues"
	words["/asterisk/rtp/general"] = "settings of voices"
	words["/asterisk/rtp/ice_host_candidates"] = "addresses that are told to browsers"
	words["/asterisk/hep/general"] = "settings of captures (HEP)"
	words["/asterisk/confbridge/wazo_default_bridge"] = "settings of all conferences"
	words["/asterisk/confbridge/wazo_default_user"] = "settings of all participants"
}
