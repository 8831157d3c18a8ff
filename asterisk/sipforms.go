package asterisk

import (
	"regexp"
	"strings"
	"sync"
)

// codec is the name of a codec that Asterisk 20 and later know, whether or not they have a module for it, or all: they refuse an endpoint
// with another one.
const codec = `(?:all|ulaw|alaw|g722|g723|g726|g726aal2|g729|g719|gsm|ilbc|adpcm|lpc10|opus|codec2|siren7|siren14|slin(?:12|16|24|32|44|48|96|192)?|` +
	`speex(?:16|32)?|silk(?:8|12|16|24)|h261|h263|h263p|h264|h265|vp8|vp9|mpeg4|jpeg|png|t140|red)`

// sipURI is where requests are sent.
const sipURI = `sips?:([A-Za-z0-9._+%-]{1,64}@)?([A-Za-z0-9][A-Za-z0-9.-]{0,127}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?(;(transport=(udp|tcp|tls|ws|wss)|lr))*`

// The forms of the options that are written. An option without one is left out: those of endpoints, addresses and logins that name a
// file, a profile or a section, which could be another tenant's or missing, those that the generator writes itself, and those that it
// does not know. Transports belong to the operator, and may name files.
var (
	endpointForms = forms(map[string]string{
		`yes|no|true|false|on|off|1|0`: `aggregate_mwi allow_overlap allow_subscribe allow_transfer asymmetric_rtp_codec
			bind_rtp_to_media_address bundle direct_media disable_direct_media_on_nat dtls_auto_generate_cert fax_detect follow_early_media_fork
			force_avp force_rport g726_non_standard ice_support ignore_183_without_sdp inband_progress media_encryption_optimistic
			media_use_received_transport moh_passthrough mwi_subscribe_replaces_unsolicited notify_early_inuse_ringing one_touch_recording
			preferred_codec_only refer_blind_progress rewrite_contact rpid_immediate rtcp_mux rtp_ipv6 rtp_symmetric send_aoc
			send_connected_line send_diversion send_history_info send_pai send_rpid srtp_tag_32 suppress_moh_on_sendonly
			suppress_q850_reason_headers t38_bind_udptl_to_media_address t38_udptl t38_udptl_ipv6 t38_udptl_nat trust_connected_line
			trust_id_inbound trust_id_outbound use_avpf use_ptime user_eq_phone webrtc`,
		`[0-9]{1,6}`: `device_state_busy_at dtls_rekey fax_detect_timeout max_audio_streams max_video_streams rtp_keepalive rtp_timeout
			rtp_timeout_hold sub_min_expiry t38_udptl_maxdatagram cos_audio cos_video`,
		`(9[0-9]|[1-9][0-9]{2,5})`:                             `timers_min_se timers_sess_expires`,
		`!?` + codec + `(,!?` + codec + `){0,40}`:              `allow disallow`,
		`no|required|peer_supported|yes`:                       `100rel`,
		`forced|no|required|always|yes`:                        `timers`,
		`rfc4733|inband|info|auto|auto_info`:                   `dtmf_mode`,
		`no|sdes|dtls`:                                         `media_encryption`,
		`invite|reinvite|update`:                               `connected_line_method direct_media_method`,
		`none|outgoing|incoming`:                               `direct_media_glare_mitigation`,
		`active|passive|actpass`:                               `dtls_setup`,
		`fingerprint|certificate|yes|no`:                       `dtls_verify`,
		`SHA-1|SHA-256`:                                        `dtls_fingerprint`,
		`none|fec|redundancy`:                                  `t38_udptl_ec`,
		`user|uri_core|uri_pjsip`:                              `redirect_method`,
		`(username|auth_username)(,(username|auth_username))?`: `identify_by`,
		`[a-z]{2,3}(_[A-Z]{2})?`:                               `language`,
		`[a-z]{2}`:                                             `tone_zone`,
		`(allowed|prohib)(_not_screened|_passed_screen|_failed_screen)?|unavailable`: `callerid_privacy`,
		`[A-Za-z0-9._+-]{1,79}`: `accountcode contact_user from_domain from_user mwi_from_user sdp_owner sdp_session callerid_tag voicemail_extension`,
		`[0-9a-fA-F:.]{2,39}`:   `media_address`,
		sipURI:                  `outbound_proxy`,
	})
	aorForms = forms(map[string]string{
		`yes|no|true|false|on|off|1|0`: `remove_existing remove_unavailable support_path authenticate_qualify qualify_2xx_only`,
		`[0-9]{1,7}`:                   `default_expiration max_contacts maximum_expiration minimum_expiration qualify_frequency`,
		`[0-9]{1,4}(\.[0-9]{1,3})?`:    `qualify_timeout`,
		`[A-Za-z0-9*#]{1,40}`:          `voicemail_extension`,
		sipURI:                         `contact outbound_proxy`,
	})
	identifyForms     = forms(map[string]string{`yes|no|true|false|on|off|1|0`: `srv_lookups`})
	registrationForms = forms(map[string]string{
		`yes|no|true|false|on|off|1|0`: `auth_rejection_permanent line support_outbound support_path`,
		`[0-9]{1,6}`:                   `expiration fatal_retry_interval forbidden_retry_interval max_random_initial_delay max_retries retry_interval`,
		`[A-Za-z0-9._+-]{1,79}`:        `contact_user`,
		sipURI:                         `client_uri server_uri outbound_proxy`,
	})
	authForms = forms(map[string]string{
		`[0-9]{1,6}`:              `nonce_lifetime`,
		`[A-Za-z0-9 ._@-]{1,127}`: `realm`,
	})
	transportForms = forms(map[string]string{
		`udp|tcp|tls|ws|wss|flow`: `protocol`,
		`(\[[0-9a-fA-F:.]{2,39}\]|[0-9.]{7,15}|[0-9a-fA-F:]{2,39})(:[0-9]{1,5})?`: `bind`,
		`yes|no|true|false|on|off|1|0`: `allow_reload allow_wildcard_certs require_client_cert symmetric_transport tcp_keepalive_enable
			verify_client verify_server`,
		`[0-9]{1,6}`: `async_operations cos external_signaling_port tcp_keepalive_idle_time tcp_keepalive_interval_time
			tcp_keepalive_probe_count websocket_write_timeout`,
		`[0-9a-fA-F:.]{2,39}(/[0-9.]{1,15})?`: `local_net`,
		`[A-Za-z0-9.:-]{1,255}`:               `domain external_media_address external_signaling_address`,
		`/[A-Za-z0-9._/-]{1,255}`:             `ca_list_file ca_list_path cert_file priv_key_file`,
		`[A-Za-z0-9_,! -]{1,1000}`:            `cipher`,
		`tlsv1(_[123])?|sslv23?`:              `method`,
		`[A-Za-z0-9]{1,8}`:                    `tos`,
	})
	// groupForm is the name of a pickup group.
	groupForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)
)

// optionForms are the forms of options, by the options' names.
type optionForms map[string]func() *regexp.Regexp

// forms makes the forms of options: each form, and the names that have it. They are compiled when they are needed: that takes a fifth of the
// time of a command that does not need them.
func forms(of map[string]string) optionForms {
	out := optionForms{}
	for form, names := range of {
		compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + form + `)$`) })
		for name := range strings.FieldsSeq(names) {
			out[name] = compiled
		}
	}
	return out
}

// allow reports whether there is such an option, and the value has its form.
func (f optionForms) allow(name, value string) bool {
	form := f[name]
	return form != nil && form().MatchString(value)
}
