// The pages of the work: each makes what a person means, of several objects, by one form and one request: all of it, or nothing.
import { call, erase } from './api.js';
import { bodyOf, fill, idOf, may, mayDo, operation, resources, takes } from './definitions.js';
import { brief, h, lead, put } from './dom.js';
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

// some is a control of several objects, in an order: one at least, unless there is nothing to say where there is none.
const some = (of, valueOf, attributes, missing) => {
	const control = several(/** @type {Collection} */ (of), valueOf, attributes);
	const read = () => {
		const value = control.read();
		return missing && value.length === 0 ? new Error(missing) : value;
	};
	return { ...control, read };
};

// picked is a field of several objects of a kind, if one may list them.
const picked = (name, label, key, valueOf, note, missing = '') => {
	const of = resources.get(key);
	return of && may(of.list) ? [labelled(name, label, (attributes) => some(of, valueOf, attributes, missing), { note, required: Boolean(missing) })] : [];
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
		...asked(service, {
			telephones: {
				type: 'integer',
				title: 'Telephones',
				minimum: 1,
				maximum: 10,
				default: 1,
				description: 'They ring together, each with a login of its own.',
			},
		}),
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

// entrance is the field of the context of numbers that calls of a trunk come in by: the only one, if there is no other.
const entrance = async (service, { properties: { context } }) => {
	const contexts = /** @type {Paged} */ (resources.get('confd/contexts')),
		all = may(contexts.list) ? await firstPage(contexts, { type: 'incall' }) : [];
	return fields({ service, makes: true }, { properties: { context } }, all.length === 1 ? { context: all[0].name } : undefined, []);
};

const firstPage = async (resource, query) => (await call('GET', resource.service.prefix + resource.path, { query: { limit: 100, ...query } })).data.items;

// ways are the trunks by which calls go out, in an order: one at least.
const ways = async () => {
	const trunks = resources.get('confd/trunks');
	if (!trunks || !may(trunks.list)) return [];
	const none = (await firstPage(trunks, { limit: 1 })).length === 0;
	const pick = (attributes) => {
		const missing = none ? 'There is no trunk by which calls could go: make one first.' : 'Choose a trunk by which calls go.',
			control = some(trunks, (t) => t.id, attributes, missing);
		return { ...control, element: none ? [control.element, h('a', { class: 'button', href: '#/trunk' }, makers.trunk.title)] : control.element };
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
			note: 'The dialling areas that their numbers are in.',
		}),
	];
};

// included are the operations by which some contexts include the one of a name, as they are now: what somebody else changes meanwhile stays.
const included = async (name, into) => {
	const contexts = /** @type {Paged} */ (resources.get('confd/contexts')),
		outside = name === '{0.name}' ? { id: '{0.id}' } : await objectBy(contexts, 'name', name); // which is made by the same save, or is there
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
	const [field] = asked(service, { number: { ...schema.properties.number, title: 'Number', description: 'Dialled after the code of paging groups.' } }, [
			'number',
		]),
		pagings = /** @type {Paged} */ (resources.get('confd/pagings'));
	let owner;
	asksFirst(field.input, async () => {
		owner = await objectBy(pagings, 'number', field.input.value.trim()).catch(() => undefined);
	});
	const read = () => {
		if (!owner) return field.read();
		field.refuse(`${owner.number} is taken by `, h('a', { href: `#/${pagings.key}/${owner.id}` }, owner.name || 'another paging group'), '.');
		return Object.assign(new Error(), { said: true });
	};
	return { ...field, read };
};

// openly is the field of the opening hours of what callers reach, and opened what gives it them.
const openly = (service) =>
	mayDo('create_bulk') && may(resources.get('confd/schedules')?.list)
		? asked(service, { schedule: { type: 'integer', title: 'Opening hours', 'x-ref': 'schedules.id', description: 'Empty: calls are taken at any time.' } })
		: [];
const opened = ({ schedule }) => (schedule ? [{ method: 'PUT', path: `{0}/schedules/${schedule}`, of: 'schedule' }] : []);

const users = (uuids = []) => ({ users: uuids.map((uuid) => ({ uuid })) });

// untaken is the field of where calls go that nobody takes, as the operation that changes it has it.
const untaken = (service, id) =>
	mayDo(id)
		? asked(service, { noanswer_destination: { ...bodyOf(service, operation(id)).properties?.noanswer_destination, title: 'When nobody takes the call' } })
		: [];
const goesOn = (destination) => (destination ? [{ method: 'PUT', path: '{0}/fallbacks', body: { noanswer_destination: destination } }] : []);

// nextKey is the first position behind the function keys of a user.
const nextKey = (keys) => Math.max(0, ...Object.keys(keys).map(Number)) + 1;

// filterKeys are the operations that give a key by which they switch a filter to all who are in it.
const filterKeys = async ({ service: { prefix } }, path) => {
	const { recipients, surrogates } = (await call('GET', prefix + path)).data,
		given = new Map();
	for (const { uuid } of [...recipients.users, ...surrogates.users]) given.set(uuid, { ...(await call('GET', `${prefix}/users/${uuid}/funckeys`)).data.keys });
	const operations = [];
	for (const { uuid, member_id: member } of surrogates.users)
		for (const who of [...recipients.users.map((one) => one.uuid), uuid]) {
			const keys = given.get(who),
				position = nextKey(keys);
			keys[position] = true;
			operations.push({
				method: 'PUT',
				path: `/users/${who}/funckeys/${position}`,
				body: { blf: true, destination: { type: 'bsfilter', filter_member_id: member } },
			});
		}
	return operations;
};

// agentSkill is what an agent can, and how well.
const agentSkill = (service) => ({
	id: { type: 'integer', title: 'Skill', 'x-ref': 'agents/skills.id' },
	...bodyOf(service, operation('associate_agent_skill')).properties,
});

// works are the pages by their addresses: which attributes of the objects that they make they ask for, and which fields of their own they
// have, above these and below. Body makes the request of the values, and beside what else changes with it, in which {0} is the path of the new
// object; after is what changes once there is the object, since it needs what the object shows. Said is what is told of it then.
const works = {
	telephone: {
		about: 'A person with a telephone: its login is shown next.',
		names: ['firstname', 'lastname', 'email'],
		below: person,
		body: ({ number: one, box = true, telephones = 1, groups = [], login, password = '', ...rest }) => {
			const name = [rest.firstname, rest.lastname].filter(Boolean).join(' ');
			return {
				...rest,
				...(one && { lines: Array(telephones).fill({ context: one.context, endpoint_sip: { generate_login: true }, extensions: [one] }) }),
				...(one && box && { voicemail: { name, number: one.exten, context: one.context } }),
				...(groups.length > 0 && { groups: groups.map((uuid) => ({ uuid })) }),
				...(login && { auth: { username: rest.email || name, password } }),
			};
		},
		said: ({ firstname, number: one }) => `${firstname} was created${withNumber(one)}.`,
	},
	'ring-group': {
		about: 'A number at which several people ring.',
		names: ['label', 'ring_strategy', 'timeout'],
		below: async (service) => [
			await number({ type: 'internal', of: 'group_ranges', fresh: 'Inside' }),
			...picked('members', 'Members', 'confd/users', (u) => u.uuid, 'In the order in which they ring. Type a name, and Enter.'),
			...untaken(service, 'update_group_fallback'),
		],
		body: ({ number: one, members, noanswer_destination: _, ...rest }) => ({ ...rest, ...numbers(one), members: users(members) }),
		beside: ({ noanswer_destination: to }) => goesOn(to),
		said: ({ label, number: one }) => `${label} was created${withNumber(one)}.`,
	},
	queue: {
		about: 'A number at which callers wait until somebody is free.',
		names: ['label', 'name', 'timeout', 'music_on_hold'],
		below: async (service) => [
			await number({ type: 'internal', of: 'queue_ranges', fresh: 'Inside' }),
			...picked('agents', 'Agents', 'confd/agents', (a) => a.id, 'Who take its calls while they are logged in. Type a name, and Enter.'),
			...picked('members', 'Users', 'confd/users', (u) => u.uuid, 'Who take its calls at any time.'),
			...untaken(service, 'update_queue_fallback'),
		],
		body: ({ number: one, agents: _, members: __, noanswer_destination: ___, ...rest }) => ({ ...rest, ...numbers(one) }),
		beside: ({ agents = [], members = [], noanswer_destination: to }) => [
			...agents.map((id) => ({ method: 'PUT', path: `{0}/members/agents/${id}`, of: 'agents' })),
			...members.map((uuid) => ({ method: 'PUT', path: `{0}/members/users/${uuid}`, of: 'members' })),
			...goesOn(to),
		],
		said: ({ label, name, number: one }) => `${label || name} was created${withNumber(one)}.`,
	},
	switchboard: {
		about: 'Where calls wait, as many as there are, until one of several people takes the first of them.',
		names: ['name', 'timeout', 'queue_music_on_hold'],
		below: async (service) => [
			...picked('members', 'Who takes the calls', 'confd/users', (u) => u.uuid, 'Its page tells what they dial for it. Type a name, and Enter.'),
			...untaken(service, 'update_switchboard_fallback'),
		],
		body: ({ members, noanswer_destination: _, ...rest }) => ({ ...rest, members: users(members) }),
		beside: ({ noanswer_destination: to }) => goesOn(to),
		said: ({ name }) => `${name} was created. An incoming number can lead to it.`,
	},
	'call-filter': {
		about: 'Lets some take the calls of another first, as secretaries do. Each of them switches it on and off.',
		names: ['strategy', 'source', 'surrogates_timeout'],
		above: async (service, { properties: { name } }) => [
			...asked(
				service,
				{
					name,
					recipient: { type: 'string', title: 'Whose calls', 'x-ref': 'users.uuid' },
					timeout: { type: 'integer', title: 'Seconds that their telephone rings', minimum: 1, description: 'Empty: as without a filter.' },
				},
				['name', 'recipient'],
			),
			...picked(
				'surrogates',
				'Who takes them',
				'confd/users',
				(u) => u.uuid,
				'In the order in which they ring. Type a name, and Enter.',
				'Choose who takes the calls.',
			),
		],
		below: async (service) => [
			...untaken(service, 'update_call_filter_fallback'),
			...asked(service, {
				keys: { type: 'boolean', title: 'With a function key for each of them', description: 'It switches the filter, and its lamp is lit while it is on.' },
			}),
		],
		body: ({ recipient: _, timeout: __, surrogates: ___, noanswer_destination: ____, keys: _____, ...rest }) => rest,
		beside: ({ recipient: uuid, timeout, surrogates, noanswer_destination: to }) => [
			{ method: 'PUT', path: '{0}/recipients/users', body: { users: [{ uuid, ...(timeout && { timeout }) }] }, of: 'recipient' },
			{ method: 'PUT', path: '{0}/surrogates/users', body: users(surrogates), of: 'surrogates' },
			...goesOn(to),
		],
		after: (path, { keys }, resource) => (keys ? filterKeys(resource, path) : []),
		said: ({ name }) => `${name} was created. Who takes the calls switches it on, by a key or by the code that is told here.`,
	},
	agent: {
		about: 'Takes the calls of queues, at the telephone at which they log in by a code and the number.',
		names: ['number', 'password'],
		above: (service) => asked(service, { user: { type: 'string', title: 'Who it is', 'x-ref': 'users.uuid', description: 'A person whose calls these are.' } }),
		below: async (service, { properties: { firstname, lastname } }) => [
			...picked('queues', 'Queues', 'confd/queues', (q) => q.id, 'Whose calls they take. Type a name, and Enter.'),
			...asked(service, { skills: { type: 'array', title: 'Skills', items: { properties: agentSkill(service) } }, firstname, lastname }),
		],
		body: async ({ user, queues = [], skills: _, ...rest }, { service: { prefix } }) => {
			const { firstname, lastname } = user && !rest.firstname && !rest.lastname ? (await call('GET', `${prefix}/users/${user}`)).data : {};
			return { ...(user && { firstname, lastname }), ...rest, ...(queues.length > 0 && { queues: queues.map((id) => ({ id })) }) };
		},
		beside: ({ user, skills = [] }) => [
			...(user ? [{ method: 'PUT', path: `/users/${user}/agents/{0}`, of: 'user' }] : []),
			...skills.map(({ id, ...weight }) => ({ method: 'PUT', path: `{0}/skills/${id}`, body: weight, of: 'skills' })),
		],
		said: ({ number: one }) => `The agent ${one} was created.`,
	},
	'call-pickup': {
		about: 'Lets some answer the calls of others from their own telephones.',
		names: ['name'],
		below: () => [
			...picked('interceptor_users', 'Who may answer', 'confd/users', (u) => u.uuid, 'Type a name, and Enter.'),
			...picked('interceptor_groups', 'And all who are in these groups', 'confd/groups', (g) => g.id),
			...picked('target_users', 'Whose calls they may answer', 'confd/users', (u) => u.uuid, 'Type a name, and Enter.'),
			...picked('target_groups', 'And those of all who are in these groups', 'confd/groups', (g) => g.id),
		],
		body: ({ name }) => ({ name }),
		beside: (values) =>
			['interceptor', 'target'].flatMap((side) => [
				{ method: 'PUT', path: `{0}/${side}s/users`, body: users(values[`${side}_users`]), of: `${side}_users` },
				{ method: 'PUT', path: `{0}/${side}s/groups`, body: { groups: (values[`${side}_groups`] ?? []).map((id) => ({ id })) }, of: `${side}_groups` },
			]),
		said: ({ name }) => `${name} was created.`,
	},
	'incoming-number': {
		about: 'A number that is called from outside, and where its calls go.',
		names: ['destination', 'description'],
		above: async () => [await number({ type: 'incall', of: 'incall_ranges', fresh: 'From outside' })],
		below: (service) => openly(service),
		body: ({ number: one, schedule: _, ...rest }) => ({ ...rest, ...numbers(one) }),
		beside: opened,
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
		names: ['outgoing_caller_id_format'],
		above: (service) => asked(service, provider, ['label', 'host']),
		below: entrance,
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
		said: ({ label }) => `${label} was created. An outgoing route can go by it.`,
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
		said: ({ name, number: one }) => `${name || 'The paging group'} was created with the number ${one}.`,
	},
	'parking-place': {
		about: 'A number to which one transfers a call that somebody else then takes up at one of its slots.',
		names: ['name', 'slots_start', 'slots_end', 'timeout'],
		above: async () => [await number({ type: 'internal', label: 'Number to park at', fresh: 'Inside' })],
		body: ({ number: one, ...rest }) => ({ ...rest, ...numbers(one) }),
		said: ({ name, number: one }) => `${name || 'The place'} was created${withNumber(one)}.`,
	},
};

// together does operations as one: all of them, or none. What is said of the body of the main one, or of one that is about a field (of), is
// said beside the fields, and of the others below them. It returns what each has made.
const together = async (prefix, operations, main = 0) => {
	if (operations.length === 0) return [];
	try {
		if (operations.length === 1) return [(await call(operations[0].method, prefix + operations[0].path, { body: operations[0].body })).data];
		const { data } = await call('POST', `${prefix}/bulk`, { body: { operations: operations.map(({ of: _, ...operation }) => operation) } });
		return data.results.map(({ body }) => body);
	} catch (problem) {
		if (problem.parts?.some((p) => p.path[0] === 'operations')) problem.messages = problem.parts.map((p) => p.detail);
		problem.parts = problem.parts?.map(({ path, detail }) => {
			const [at, inside] = path[0] === 'operations' ? [Number(path[1]), path.slice(3)] : [main, path],
				of = operations[at]?.of;
			return { path: of ? [of] : at === main ? inside : [], detail };
		});
		throw problem;
	}
};

// make makes an object with all that is in it, and does what else changes before it and with it: all of it, or nothing. What is done once it is
// there takes it away again if it is refused.
/** @type {(resource: any, work: any, values: any, first: any[]) => Promise<any>} */
const make = async (resource, { body, beside, after }, values, first) => {
	const { prefix } = resource.service,
		{ path, create } = resource;
	const whole = { method: 'POST', path: takes(create, 'recursive') ? `${path}?recursive=true` : path, body: await body(values, resource) },
		rest = ((await beside?.(values)) ?? []).map((one) => ({ ...one, path: one.path.replace('{0}', `{${first.length}}`) })),
		made = (await together(prefix, [...first, whole, ...rest], first.length))[first.length],
		one = fill(resource.itemPath, idOf(resource.parameter, made));
	try {
		await together(prefix, (await after?.(one, values, resource)) ?? []);
	} catch (problem) {
		await erase(prefix + one).catch((left) => {
			problem.messages?.push(`${brief(made)} is there now, without the rest: ${left.message}`);
		});
		throw problem;
	}
	return made;
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
			const first = (await Promise.all([...above, ...below].map((f) => f.needs?.() ?? []))).flat();
			done(await make(resource, work, values, first), work.said(values));
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
