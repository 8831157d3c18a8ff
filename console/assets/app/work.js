// The pages of the work: each makes what a person means, of several objects, by one form and one request: all of it, or nothing.
import { call } from './api.js';
import { bodyOf, fill, idOf, may, mayDo, operation, resources, takes } from './definitions.js';
import { h, lead, put } from './dom.js';
import { fields, labelled } from './fields.js';
import { form, refused } from './form.js';
import { reveal } from './login.js';
import { makers } from './menu.js';
import { number } from './number.js';
import { asksFirst, objectBy, several } from './picker.js';
import { crumbs } from './shown.js';

// asked are fields of the page itself, by the schemas of their values, in this order; some are required.
const asked = (service, properties, required = []) => {
	const names = Object.keys(properties);
	return fields({ service, makes: true }, { properties, required }, undefined, []).sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
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

const firstPage = async (resource, query) => (await call('GET', resource.service.prefix + resource.path, { query: { limit: 100, ...query } })).data.items;

// ways are the trunks by which calls go out, in an order: one at least.
const ways = async () => {
	const trunks = resources.get('confd/trunks');
	if (!trunks || !may(trunks.list)) return [];
	const none = (await firstPage(trunks, { limit: 1 })).length === 0;
	const pick = (attributes) => {
		const control = several(/** @type {Collection} */ (trunks), (t) => t.id, attributes);
		const read = () => {
			const value = control.read();
			return value.length === 0 ? new Error(none ? 'There is no trunk by which calls could go: make one first.' : 'Choose a trunk by which calls go.') : value;
		};
		return { ...control, element: none ? [control.element, h('a', { class: 'button', href: '#/trunk' }, makers.trunk.title)] : control.element, read };
	};
	return [
		labelled('trunks', 'Trunks', pick, { required: true, note: none ? 'There is none yet.' : 'In the order in which they are tried. Type a name, and Enter.' }),
	];
};

// dialers are the contexts of telephones that may dial what the page makes, if the token may say so. One that is the only one is chosen.
const dialers = async () => {
	const contexts = /** @type {Paged} */ (resources.get('confd/contexts')),
		includes = operation('associate_context_contexts');
	if (!may(contexts.list) || !mayDo('create_bulk') || !includes) return [];
	const inside = (await firstPage(contexts, { type: 'internal' })).filter((c) => may(includes, c.id));
	const options = { query: { type: 'internal' }, preset: inside.length === 1 ? inside : [] };
	return [
		labelled('dialers', 'Whose telephones may dial it', (attributes) => several(contexts, (c) => c.id, attributes, options), {
			note: 'The contexts that their numbers live in.',
		}),
	];
};

// included are the operations by which some contexts include the one of a name, as they are now: what somebody else changes meanwhile stays.
const included = async (name, into) => {
	const contexts = /** @type {Paged} */ (resources.get('confd/contexts')),
		outside = await objectBy(contexts, 'name', name);
	const all = await Promise.all(
		into.map(async (id) => {
			const { data, headers } = await call('GET', contexts.service.prefix + fill(contexts.itemPath, id));
			return (
				!data.contexts.some((c) => c.id === outside.id) && {
					method: 'PUT',
					path: `/contexts/${id}/contexts`,
					body: { contexts: [...data.contexts, outside].map((c) => ({ id: c.id })) },
					if_match: headers.get('ETag'),
				}
			);
		}),
	);
	return all.filter(Boolean);
};

// pagingNumber is the field of a number that no other paging may have.
const pagingNumber = (service, schema) => {
	const [field] = asked(service, { number: { ...schema.properties.number, title: 'Number', description: 'Dialled after the code of pagings.' } }, ['number']),
		pagings = /** @type {Paged} */ (resources.get('confd/pagings'));
	let owner;
	asksFirst(field.input, async () => {
		owner = await objectBy(pagings, 'number', field.input.value.trim()).catch(() => undefined);
	});
	const read = () => {
		if (!owner) return field.read();
		field.refuse(`${owner.number} is taken by `, h('a', { href: `#/${pagings.key}/${owner.id}` }, owner.name || 'another paging'), '.');
		return Object.assign(new Error(), { said: true });
	};
	return { ...field, read };
};

const users = (uuids = []) => ({ users: uuids.map((uuid) => ({ uuid })) });

// works are the pages by their addresses: which attributes of the objects that they make they ask for, and which fields of their own they
// have, above these and below. Body makes the request of the values, and beside what else changes with it; said is what is told of it then.
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
		body: ({ number: one, members, ...rest }) => ({ ...rest, ...numbers(one), members: users(members) }),
		said: ({ label, number: one }) => `${label} was created${withNumber(one)}.`,
	},
	queue: {
		about: 'A number at which callers wait until somebody is free. Who takes the calls is chosen on its page.',
		names: ['label', 'name', 'timeout', 'music_on_hold'],
		below: async () => [await number({ type: 'internal', of: 'queue_ranges', fresh: 'Inside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ label, name, number: one }) => `${label || name} was created${withNumber(one)}.`,
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
		above: async (service, { properties: { name, open_periods: periods } }) => asked(service, { name, open_periods: periods }),
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
	'outgoing-route': {
		about: 'What is dialled to call the outside, and by which carriers these calls go.',
		names: ['name'],
		below: async () => [
			await number({
				type: 'outcall',
				label: 'Dialled before the number',
				required: false,
				note: 'Such as 0. It is taken away again. Leave it empty if numbers are dialled as they are.',
				fresh: 'To the outside',
				spelled: (typed) => `_${typed}X.`,
			}),
			...(await ways()),
			...(await dialers()),
		],
		body: ({ number: { exten, context }, trunks = [], dialers: _, ...rest }) => ({
			...rest,
			extensions: [{ exten, context, strip_digits: exten.length - '_X.'.length }],
			trunks: trunks.map((id) => ({ id })),
		}),
		beside: ({ number: { context }, dialers = [] }) => included(context, dialers),
		said: ({ name }) => `${name} was created: calls go out by it.`,
	},
	announcement: {
		about: 'A number by which some speak through the telephones of others, which answer by themselves.',
		names: ['name', 'duplex'],
		above: async (service, schema) => [pagingNumber(service, schema)],
		below: async () => [
			...picked('callers', 'Who may speak', 'confd/users', (u) => u.uuid, 'Nobody else can dial it. Type a name, and Enter.'),
			...picked('members', 'Whose telephones speak', 'confd/users', (u) => u.uuid, 'The first 100 of them.'),
		],
		body: ({ callers, members, ...rest }) => ({ ...rest, callers: users(callers), members: users(members) }),
		said: ({ name, number: one }) => `${name || 'The paging'} was created with the number ${one}.`,
	},
	'parking-place': {
		about: 'A number to which one transfers a call that somebody else then takes up at one of its slots.',
		names: ['name', 'slots_start', 'slots_end', 'timeout'],
		above: async () => [await number({ type: 'internal', label: 'Number to park at', fresh: 'Inside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ name, number: one }) => `${name || 'The place'} was created${withNumber(one)}.`,
	},
};

// make makes an object with all that is in it, and does what else changes with it: all of it, or nothing.
/** @type {(resource: any, body: any, beside: any[]) => Promise<any>} */
const make = async ({ service: { prefix }, path, create }, body, beside) => {
	const recursive = takes(create, 'recursive') ? 'true' : '';
	if (beside.length === 0) return (await call('POST', prefix + path, { query: { recursive }, body })).data;
	try {
		const operations = [{ method: 'POST', path: `${path}?recursive=${recursive}`, body }, ...beside];
		return (await call('POST', `${prefix}/bulk`, { body: { operations } })).data.results[0].body;
	} catch (problem) {
		// What is said of the first operation's body is said beside the fields, and of the others below them.
		if (problem.parts?.some((p) => p.path[0] === 'operations')) {
			problem.messages = problem.parts.map((p) => p.detail);
			problem.parts = problem.parts.map(({ path: [, at, , ...inside], detail }) => ({ path: at === '0' ? inside : [], detail }));
		}
		throw problem;
	}
};

// maker is the form of an address. Done gets the object that it has made, and what is told of it.
/** @type {(address: string, done: (object: any, said: string) => void) => Promise<Element>} */
export const maker = async (address, done) => {
	const work = works[address],
		resource = /** @type {Paged} */ (resources.get(makers[address].key)),
		{ service } = resource,
		schema = bodyOf(service, resource.create);
	const [above, below] = await Promise.all([work.above?.(service, schema) ?? [], work.below?.(service, schema) ?? []]);
	return form({
		service,
		schema: { ...schema, properties: Object.fromEntries(work.names.map((name) => [name, schema.properties?.[name] ?? {}])) },
		above,
		more: below,
		action: 'Create',
		send: async (values) => {
			done(await make(resource, work.body(values), (await work.beside?.(values)) ?? []), work.said(values));
		},
	});
};

// show shows the page of an address.
export const show = async (main, address) => {
	const resource = resources.get(makers[address].key),
		title = h('h1', { tabindex: '-1' }, makers[address].title);
	if (!resource?.create) {
		put(main, title, h('p', {}, 'This gateway has no telephony configuration.'));
		return;
	}
	put(main, crumbs(resource), title, h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const made = await maker(address, (object, said) => {
		reveal(object.lines?.[0]?.endpoint_sip?.uuid);
		lead(`#/${resource.key}/${encodeURIComponent(idOf(resource.parameter, object))}`, said);
	});
	put(main, crumbs(resource), title, h('p', { class: 'about quiet' }, works[address].about), refused(resource.create), h('div', { class: 'work' }, made));
};
