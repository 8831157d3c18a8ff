package confdsvc

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// SIPOptions are the options of one section of the telephone system's SIP configuration: pairs of a name and a value, in order.
type SIPOptions struct{ store.JSON[[][]string] }

// JSONSchema returns a list of pairs.
func (SIPOptions) JSONSchema() *rest.Schema {
	two, most, longest := 2, 512, 4096
	pair := &rest.Schema{Type: "array", Items: &rest.Schema{Type: "string", MaxLength: &longest}, MinItems: &two, MaxItems: &two}
	return &rest.Schema{Type: "array", Items: pair, MaxItems: &most}
}

// extendible are the sections whose options may have any name that begins with @: values that the telephone system keeps for its programs.
var extendible = []string{"aor_section_options", "endpoint_section_options"}

// check refuses an option that the telephone system does not know in such a section: it would reject the whole section.
func (o SIPOptions) check(field string, known map[string]bool) error {
	for _, pair := range o.V {
		if !known[pair[0]] && (!strings.HasPrefix(pair[0], "@") || !slices.Contains(extendible, field)) {
			return apierr.New(apierr.Invalid, "'%s: invalid variable (%s)' must be one of (%s)", field, pair[0], strings.Join(slices.Sorted(maps.Keys(known)), ", ")).On(field)
		}
	}
	return nil
}

// maxLogin is how many bytes a username and a password have at most in Asterisk's file.
const maxLogin = 1000

// LoginFault says why a telephone cannot log in with a username or a password, or nothing: Asterisk could not read it as it is.
func LoginFault(value string) string {
	switch {
	case strings.TrimSpace(value) != value:
		return "begins or ends with a blank, which Asterisk drops"
	case conf.Plain(value) != value || !conf.Fits(value, maxLogin):
		return "is too long, or has a character that Asterisk cannot read"
	}
	return ""
}

// checkLogins refuses a username and a password with which nobody could log in.
func (o SIPOptions) checkLogins(field string) error {
	for _, pair := range o.V {
		if pair[0] != "username" && pair[0] != "password" {
			continue
		}
		if fault := LoginFault(pair[1]); fault != "" {
			return apierr.New(apierr.Invalid, "'%s: the %s %s'", field, pair[0], fault).On(field)
		}
	}
	return nil
}

// last returns the effective value of an option, and whether there is one.
func (o SIPOptions) last(name string) (string, bool) {
	for _, pair := range slices.Backward(o.V) {
		if pair[0] == name {
			return pair[1], true
		}
	}
	return "", false
}

// repeated are the options that a section may repeat; of all others the last one counts.
var repeated = map[string]bool{"set_var": true, "match": true}

// over returns these options, overridden by those of a section that uses them as a template.
func (o SIPOptions) over(own SIPOptions) SIPOptions {
	out := SIPOptions{}
	out.V = make([][]string, 0, len(o.V)+len(own.V))
	at := map[[2]string]int{}
	for _, pair := range slices.Concat(o.V, own.V) {
		key := [2]string{pair[0]}
		if repeated[pair[0]] {
			key[1] = pair[1]
		}
		if i, there := at[key]; there {
			out.V[i] = pair
			continue
		}
		at[key] = len(out.V)
		out.V = append(out.V, pair)
	}
	return out
}

// The options of each kind of section of pjsip.conf, as Asterisk documents them. A section's type, which is its kind, is not an
// option.
var (
	endpointOptions = optionNames(`
		100rel accept_multiple_sdp_answers accountcode acl aggregate_mwi allow allow_overlap allow_subscribe allow_transfer
		allow_unauthenticated_options aors asymmetric_rtp_codec auth bind_rtp_to_media_address bundle call_group callerid callerid_privacy
		callerid_tag codec_prefs_incoming_answer codec_prefs_incoming_offer codec_prefs_outgoing_answer codec_prefs_outgoing_offer
		connected_line_method contact_acl contact_deny contact_permit contact_user context cos_audio cos_video deny device_state_busy_at
		direct_media direct_media_glare_mitigation direct_media_method disable_direct_media_on_nat disallow dtls_auto_generate_cert dtls_ca_file
		dtls_ca_path dtls_cert_file dtls_cipher dtls_fingerprint dtls_private_key dtls_rekey dtls_setup dtls_verify dtmf_mode fax_detect
		fax_detect_timeout follow_early_media_fork follow_redirect_methods force_avp force_rport from_domain from_user g726_non_standard
		geoloc_incoming_call_profile geoloc_outgoing_call_profile ice_support identify_by ignore_183_without_sdp inband_progress
		incoming_call_offer_pref incoming_mwi_mailbox language mailboxes max_audio_streams max_video_streams media_address media_encryption
		media_encryption_optimistic media_use_received_transport message_context moh_passthrough moh_suggest mwi_from_user
		mwi_subscribe_replaces_unsolicited named_call_group named_pickup_group notify_early_inuse_ringing one_touch_recording outbound_auth
		outbound_proxy outgoing_call_offer_pref overlap_context permit pickup_group preferred_codec_only record_off_feature record_on_feature
		redirect_method refer_blind_progress rewrite_contact rpid_immediate rtcp_mux rtp_engine rtp_ipv6 rtp_keepalive rtp_symmetric rtp_timeout
		rtp_timeout_hold sdp_owner sdp_session security_mechanisms security_negotiation send_aoc send_connected_line send_diversion
		send_history_info send_pai send_rpid set_var srtp_tag_32 stir_shaken stir_shaken_profile sub_min_expiry subscribe_context
		suppress_moh_on_sendonly suppress_q850_reason_headers t38_bind_udptl_to_media_address t38_udptl t38_udptl_ec t38_udptl_ipv6
		t38_udptl_maxdatagram t38_udptl_nat tenantid timers timers_min_se timers_sess_expires tone_zone tos_audio tos_video transport
		trust_connected_line trust_id_inbound trust_id_outbound use_avpf use_ptime user_eq_phone voicemail_extension webrtc`)
	aorOptions = optionNames(`
		authenticate_qualify contact default_expiration mailboxes max_contacts maximum_expiration minimum_expiration outbound_proxy
		qualify_2xx_only qualify_frequency qualify_timeout remove_existing remove_unavailable support_path voicemail_extension`)
	authOptions = optionNames(`
		auth_type md5_cred nonce_lifetime oauth_clientid oauth_secret password password_digest realm refresh_token supported_algorithms_uac
		supported_algorithms_uas username`)
	identifyOptions     = optionNames(`endpoint match match_header match_request_uri srv_lookups transport`)
	registrationOptions = optionNames(`
		auth_rejection_permanent client_uri contact_header_params contact_user endpoint expiration fatal_retry_interval forbidden_retry_interval
		line max_random_initial_delay max_retries outbound_auth outbound_proxy retry_interval security_mechanisms security_negotiation
		server_uri support_outbound support_path transport user_agent`)
	transportOptions = optionNames(`
		allow_reload allow_wildcard_certs async_operations bind ca_list_file ca_list_path cert_file cipher cos domain external_media_address
		external_signaling_address external_signaling_port local_net method password priv_key_file protocol require_client_cert
		symmetric_transport tcp_keepalive_enable tcp_keepalive_idle_time tcp_keepalive_interval_time tcp_keepalive_probe_count tos
		verify_client verify_server websocket_write_timeout`)
)

func optionNames(words string) map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(words) {
		out[name] = true
	}
	return out
}

// contextOptions are an endpoint's options that lead calls to a context of the dialplan.
var contextOptions = []string{"context", "message_context", "overlap_context", "subscribe_context"}

// reachesOwnContexts refuses an option that leads calls into another tenant's context.
func (o SIPOptions) reachesOwnContexts(ctx context.Context, c store.Conn, tenantUUID, field string) error {
	for _, pair := range o.V {
		if !slices.Contains(contextOptions, pair[0]) {
			continue
		}
		if err := notForeign(ctx, c, tenantUUID, field, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}
