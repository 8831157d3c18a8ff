// The pages of the work: each makes what a person means, of several objects, by one form and one request: all of it, or nothing.
import { call } from './api.js';
import { bodyOf, idOf, may, resources, takes } from './definitions.js';
import { h, lead, put } from './dom.js';
import { fields, labelled } from './fields.js';
import { form } from './form.js';
import { reveal } from './login.js';
import { makers } from './menu.js';
import { number } from './number.js';
import { several } from './picker.js';
import { crumbs } from './shown.js';
import { week } from './week.js';

// asked are fields of the page itself, by the schemas of their values, in this order; some are required.
const asked = (service, properties, required = []) => {
	const names = Object.keys(properties);
	return fields({ service }, { properties, required }, undefined, []).sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
};

// picked is a field of several objects of a kind, in an order, if one may list them.
const picked = (name, label, key, valueOf, note) => {
	const of = resources.get(key);
	return of && may(of.list) ? [labelled(name, label, (attributes) => several(/** @type {Collection} */ (of), valueOf, attributes), { note })] : [];
};

const numbers = (one) => (one ? { extensions: [one] } : {});
const withNumber = (one) => (one ? ` with the number ${one.exten}` : '');

// person are the fields of a telephone user beside the names: the number, and what comes with it.
const person = async (service, schema) => {
	const [box] = asked(service, { box: { type: 'boolean', title: 'With a voicemail of the same number', default: true } });
	const [login, password] = asked(service, {
		login: { type: 'boolean', title: 'With a login of the gateway', description: 'The user name is the e-mail address.' },
		password: { type: 'string', title: 'Password of the login', writeOnly: true },
	});
	password.element.hidden = true;
	password.find = (path) => (path[0] === 'auth' ? password : undefined);
	login.input.addEventListener('change', () => {
		password.element.hidden = !login.input.checked;
	});
	return [
		await number({
			type: 'internal',
			of: 'user_ranges',
			required: false,
			note: 'Leave it empty for a user without a telephone.',
			covers: ['lines', 'voicemail'],
			fresh: 'Inside',
		}),
		box,
		...picked('groups', 'Groups', 'confd/groups', (g) => g.uuid, 'Those in which the telephone rings.'),
		...asked(service, { func_key_template_id: { ...schema.properties.func_key_template_id, title: 'Template of function keys' } }),
		login,
		password,
	];
};

// provider are the fields of what a carrier tells its customers.
const provider = {
	label: { type: 'string', title: 'Name', minLength: 1, maxLength: 128 },
	host: { type: 'string', title: 'Server', minLength: 1, example: 'sip.carrier.example', description: 'Its host, also with a port.' },
	username: { type: 'string', title: 'User name' },
	password: { type: 'string', title: 'Password', writeOnly: true },
	registers: {
		type: 'boolean',
		title: 'It registers there',
		default: true,
		description: 'Most carriers want it, so that calls can come in. It takes a user name.',
	},
	match: {
		type: 'string',
		title: 'Addresses of the carrier',
		example: '192.0.2.0/24',
		description: 'From which its calls come, with commas between them. Where one registers there are mostly none.',
	},
};

// works are the pages by their addresses: which attributes of the objects that they make they ask for, and which fields of their own they
// have, above these and below. Body makes the request of the values; said is what is told of it then.
const works = {
	telephone: {
		about: 'A person with a telephone: its login is shown next.',
		names: ['firstname', 'lastname', 'email'],
		below: person,
		body: ({ number: one, box = true, groups = [], login, password = '', ...rest }) => {
			const name = [rest.firstname, rest.lastname].filter(Boolean).join(' ');
			return {
				...rest,
				...(one && { lines: [{ context: one.context, endpoint_sip: { generate_login: true }, extensions: [one] }] }),
				...(one && box && { voicemail: { name, number: one.exten, context: one.context } }),
				...(groups.length > 0 && { groups: groups.map((uuid) => ({ uuid })) }),
				...(login && { auth: { username: rest.email || name, password } }),
			};
		},
		said: ({ firstname, number: one }) => `${firstname} was created${withNumber(one)}.`,
	},
	'ring-group': {
		about: 'A number at which several people ring.',
		names: ['label', 'ring_strategy'],
		below: async () => [
			await number({ type: 'internal', of: 'group_ranges', fresh: 'Inside' }),
			...picked('members', 'Members', 'confd/users', (u) => u.uuid, 'In the order in which they ring. Type a name, and Enter.'),
		],
		body: ({ number: one, members = [], ...rest }) => ({ ...rest, ...numbers(one), members: { users: members.map((uuid) => ({ uuid })) } }),
		said: ({ label, number: one }) => `${label} was created${withNumber(one)}.`,
	},
	'incoming-number': {
		about: 'A number that is called from outside, and where its calls go.',
		names: ['destination', 'description'],
		above: async () => [await number({ type: 'incall', of: 'incall_ranges', fresh: 'From outside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ number: one }) => `Calls of ${one.exten} go there now.`,
	},
	'conference-room': {
		about: 'A number at which all who call it hear each other.',
		names: ['name', 'pin', 'admin_pin', 'max_users'],
		below: async () => [await number({ type: 'internal', of: 'conference_room_ranges', fresh: 'Inside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ name, number: one }) => `${name || 'The room'} was created${withNumber(one)}.`,
	},
	'voice-menu': {
		about: 'What callers hear, and where each key leads them.',
		names: ['name', 'greeting_sound', 'menu_sound', 'choices', 'timeout_destination'],
		body: (values) => values,
		said: ({ name }) => `${name} was created. An incoming number can lead to it.`,
	},
	'opening-hours': {
		about: 'When calls are taken, and where they go at other times.',
		names: ['timezone', 'closed_destination'],
		above: async (service, { properties: { name } }) => [
			...asked(service, { name }),
			labelled('open_periods', 'Open', week, { note: 'Such as 9:00-12:30, 13:30-17:00. A day without hours is closed.' }),
		],
		body: (values) => values,
		said: ({ name }) => `${name || 'The schedule'} was created. A group or an incoming call has it on its own page.`,
	},
	trunk: {
		about: 'A carrier, or another telephone system, by which calls go out and come in.',
		names: ['context', 'outgoing_caller_id_format'],
		above: async (service) => asked(service, provider, ['label', 'host']),
		body: ({ label, host, username, password, registers = true, match, ...rest }) => {
			const login = username ? [['username', username], ...(password ? [['password', password]] : [])] : [],
				registered = registers && login.length > 0;
			return {
				...rest,
				endpoint_sip: {
					label,
					aor_section_options: [['contact', `sip:${host}`]],
					endpoint_section_options: username ? [['from_user', username]] : [],
					outbound_auth_section_options: login,
					...(registered && {
						registration_section_options: [
							['server_uri', `sip:${host}`],
							['client_uri', `sip:${username}@${host}`],
						],
						registration_outbound_auth_section_options: login,
					}),
					identify_section_options: (match?.match(/[^\s,]+/g) ?? []).map((one) => ['match', one]),
				},
			};
		},
		said: ({ label }) => `${label} was created. An outgoing call can go by it.`,
	},
	'parking-place': {
		about: 'A number to which one transfers a call that somebody else then takes up at one of its slots.',
		names: ['name', 'slots_start', 'slots_end', 'timeout'],
		above: async () => [await number({ type: 'internal', label: 'Number to park at', fresh: 'Inside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ name, number: one }) => `${name || 'The place'} was created${withNumber(one)}.`,
	},
};

// show shows the page of an address.
export const show = async (main, address) => {
	const work = works[address],
		resource = resources.get(makers[address].key),
		title = h('h1', { tabindex: '-1' }, makers[address].title);
	if (!resource?.create) {
		put(main, title, h('p', {}, 'This gateway has no telephony configuration.'));
		return;
	}
	const { service } = resource,
		schema = bodyOf(service, resource.create);
	put(main, crumbs(resource), title, h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const [above, below] = await Promise.all([work.above?.(service, schema) ?? [], work.below?.(service, schema) ?? []]);
	put(
		main,
		crumbs(resource),
		title,
		h('p', { class: 'about quiet' }, work.about),
		may(resource.create) ? '' : h('p', { class: 'denied' }, `Your token does not have the access ${resource.create.access}: the gateway will refuse this.`),
		h(
			'div',
			{ class: 'work' },
			form({
				service,
				schema: { ...schema, properties: Object.fromEntries(work.names.map((name) => [name, schema.properties?.[name] ?? {}])) },
				above,
				more: below,
				action: 'Create',
				send: async (values) => {
					const { data } = await call('POST', service.prefix + resource.path, {
						query: { recursive: takes(resource.create, 'recursive') ? 'true' : '' },
						body: work.body(values),
					});
					reveal(data.lines?.[0]?.endpoint_sip?.uuid);
					lead(`#/${resource.key}/${encodeURIComponent(idOf(resource.parameter, data))}`, work.said(values));
				},
			}),
		),
	);
};
