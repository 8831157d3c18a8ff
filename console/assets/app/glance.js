// A person at one look, whichever services know of them: numbers, telephones and how these are now, mailbox, groups, forwards, do not disturb,
// and the login with its rights and sessions.
import { call, erase } from './api.js';
import { does, lasting, party, since, state, waits } from './asterisk.js';
import { fill, may, operation, resources, target } from './definitions.js';
import { ask, badge, brief, h, moment, plural, put, say } from './dom.js';
import { numbered } from './login.js';
import { nameLater } from './shown.js';

const pause = 5000; // between two looks at Asterisk

// to leads to the page of an object, if the signed-in user may see it.
const to = (key, id, text) =>
	may(resources.get(key)?.read, id) ? h('a', { href: `#/${key}/${encodeURIComponent(id)}` }, String(text)) : h('span', {}, String(text));

// many puts commas between what is shown.
const many = (shown) => shown.flatMap((one, i) => (i > 0 ? [', ', one] : [one]));

// quietly asks for what a page shows beside the rest: nothing comes where it is refused.
const quietly = async (path, query) => {
	try {
		return (await call('GET', path, { query })).data;
	} catch (problem) {
		if (!problem.messages) throw problem;
		return undefined;
	}
};
const listed = async (resource, path, query) => (await quietly(resource.service.prefix + path, query))?.items ?? [];

// telephone is that of a line, and place where its state is shown. Its name is chosen at random, mostly: the number tells more.
const telephone = ({ endpoint_sip: sip, endpoint_custom: custom, extensions, name }, _, { length }) => {
	const place = h('span', { 'data-endpoint': sip?.name });
	return h('li', {}, sip ? to('confd/endpoints/sip', sip.uuid, sip.label || numbered(extensions, sip.name, length)) : (custom?.interface ?? name), ' ', place);
};

// registered tells how a telephone is, as Asterisk has it.
const registered = ({ registrations: { items: places }, channels: { items: calls } }) => [
	places.length > 0 ? badge('Registered', 'good') : badge('Not registered', 'bad'),
	places.map((r) =>
		h(
			'div',
			{ class: 'quiet' },
			many(
				[
					`from ${r.from}`,
					since(r),
					r.expires_at && ['until ', h('time', { datetime: r.expires_at }, moment(r.expires_at))],
					r.agent,
					r.state === 'unreachable' && state(r.state),
				].filter(Boolean),
			),
		),
	),
	calls.map((c) => h('div', {}, badge('In a call', 'warn'), ` with ${party(c.with_number, c.with_name) || c.dialled}, for ${lasting(c.seconds)}`)),
];

// follow shows what Asterisk says just now of something, again and again while one looks at a place. It ends silently where nobody can tell.
const follow = async (place, query, show) => {
	const live = operation('read_asterisk');
	if (!live || !may(live)) return;
	do {
		const is = !document.hidden && (await quietly(live.service.prefix + live.path, { limit: 1, ...query }));
		if (is) show(is);
		else if (!document.hidden) return;
		await new Promise((resolve) => setTimeout(resolve, pause));
	} while (place.isConnected);
};

// member is a group, with its name for people as soon as that is known.
const member = (group) => {
	const key = group.uuid ?? group.id,
		kind = resources.get('confd/groups'),
		link = to('confd/groups', key, brief(group));
	return kind ? nameLater(kind, key, link) : link;
};

const forwards = { unconditional: 'Always to', busy: 'On busy to', noanswer: 'Without an answer to' };

// session is one of a login, which one can end.
const session = (logins, uuid, one, again) => {
	const part = logins.parts.find((p) => p.name === 'sessions'),
		from = [one.remote_addr, one.user_agent].filter(Boolean).join(', ');
	const end = async () => {
		if (!(await ask('End this session?', h('p', {}, 'Who uses it must sign in again.'), 'End'))) return;
		try {
			await erase(logins.service.prefix + fill(part.end.path, uuid, one.uuid));
			say('The session has ended.');
			await again();
		} catch (problem) {
			if (!problem.messages) throw problem;
			say(problem.message, true);
		}
	};
	return h(
		'li',
		{},
		one.current ? `This one, from ${from}` : `From ${from}`,
		h('span', { class: 'quiet' }, `, since ${moment(one.created_at)} `),
		!one.current && may(part.end, uuid, one.uuid) && h('button', { type: 'button', 'aria-label': `End the session from ${from}`, click: end }, 'End'),
	);
};

// account tells of the login of a person: it is the authentication's user with the same UUID.
const account = async (uuid, add, withSessions) => {
	const logins = /** @type {Paged | undefined} */ (resources.get('auth/users'));
	if (!logins || !may(logins.list)) return;
	const [login] = await listed(logins, logins.path, { uuid, limit: 1 });
	add('Login', login && [to('auth/users', uuid, login.username ?? brief(login)), login.enabled === false && [' ', badge('Off', 'warn')]]);
	if (!login) return;
	const part = (name) => logins.parts.find((p) => p.name === name && p.kind === 'list');
	for (const [name, title] of [
		['policies', 'Policies'],
		['groups', 'Groups of logins'],
	]) {
		const one = part(name);
		if (!one || !may(one.get, uuid)) continue;
		const found = (await listed(logins, fill(one.path, uuid), { limit: 100 })).filter((o) => !o.system_managed), // everybody is in that one
			of = target(logins.service, name);
		add(title, found.length > 0 && many(found.map((o) => to(of?.key, o.uuid, brief(o)))));
	}
	const sessions = withSessions && part('sessions');
	if (!sessions || !may(sessions.get, uuid)) return;
	const draw = async () => {
		const all = await listed(logins, fill(sessions.path, uuid), { limit: 20 });
		add(
			'Sessions',
			all.length > 0 &&
				h(
					'ul',
					{},
					all.map((one) => session(logins, uuid, one, draw)),
				),
		);
	};
	await draw();
};

// telling returns a list, and a function that tells something in it below a title, in the place of what it told there before.
/** @type {() => [HTMLElement, (title: string, shown: any) => void]} */
const telling = () => {
	const list = h('dl'),
		told = new Map();
	const add = (title, shown) => {
		if (!told.has(title)) {
			told.set(title, h('dd'));
			list.append(h('dt', {}, title), told.get(title));
		}
		put(told.get(title), shown || h('span', { class: 'quiet' }, 'none'));
	};
	return [list, add];
};

// called are links to numbers, of which several telephones may have the same.
const called = (extensions) => extensions.length > 0 && many([...new Map(extensions.map((x) => [x.id, to('confd/extensions', x.id, x.exten)])).values()]);

const named = 20; // members by their names
const user = (u) => to('confd/users', u.uuid, brief(u));

// group tells of what several people share: its numbers, inside and outside, and its members, if it has some.
export const group = (place, { extensions = [], incalls = [], members }) => {
	const [list, add] = telling(),
		users = members?.users;
	add('Numbers', called(extensions));
	add('From outside', called(incalls.flatMap((of) => of.extensions ?? [])));
	if (users) add('Members', some(users, user));
	put(place, list);
};

const some = (all, link) => all.length > 0 && [many(all.slice(0, named).map(link)), all.length > named && ` and ${all.length - named} more`];

// waitsNow tells what waits just now in a queue, or at a switchboard.
const waitsNow = (place, add, of, key) => follow(place, { [of]: key }, (is) => add('Now', waits(is[`${of}s`].items[0] ?? { waiting: 0 })));

// queue tells of those who take a queue's calls, and of what waits in it just now.
export const queue = (place, { id, extensions, members }) => {
	const [list, add] = telling();
	add('Numbers', called(extensions));
	if (may(resources.get('confd/agents')?.read))
		add(
			'Agents',
			some(members.agents, (a) => to('confd/agents', a.id, brief(a))),
		);
	add('Users', some(members.users, user));
	put(place, list);
	waitsNow(place, add, 'queue', id);
};

// trunk tells by which endpoint one reaches the other side, what goes there, and how it is now.
export const trunk = async (place, { id, endpoint_sip: sip, endpoint_iax: iax, endpoint_custom: custom, outcalls = [] }) => {
	const [list, add] = telling(),
		asked = operation('get_trunk_status');
	add('By', (sip && to('confd/endpoints/sip', sip.uuid, brief(sip))) ?? (iax && to('confd/endpoints/iax', iax.id, brief(iax))) ?? (custom && brief(custom)));
	add('Outgoing routes', outcalls.length > 0 && many(outcalls.map((o) => to('confd/outcalls', o.id, brief(o)))));
	put(place, list);
	const now = asked && may(asked, id) && (await quietly(asked.service.prefix + fill(asked.path, id)));
	if (!now) return;
	const said = [
		!now.loaded && badge('Not live yet', 'warn'),
		now.registered != null && (now.registered ? badge('Registered', 'good') : badge('Not registered', 'bad')),
		now.reachable != null && (now.reachable ? badge('Reachable', 'good') : badge('Unreachable', 'bad')),
	].filter(Boolean);
	add('Now', said.length > 0 ? said.flatMap((one, i) => [i > 0 && ' ', one]) : 'It does not register, and is not asked whether it answers.');
};

// dialled is a code, or where there is one to be had.
const dialled = (code) => (code ? h('b', {}, code) : ['the code is switched off (', h('a', { href: '#/confd/extensions/features' }, 'Service codes'), ')']);

// switchboard tells of those who take its calls, how they do, and of what waits just now.
export const switchboard = (place, { uuid, incalls, members, code }) => {
	const [list, add] = telling();
	add('From outside', called(incalls.flatMap((of) => of.extensions ?? [])));
	add('Who takes the calls', some(members.users, user));
	add('How', ['They dial ', dialled(code), ': the first call that waits is theirs. A key for that number has a lamp, which is lit while calls wait.']);
	put(place, list);
	waitsNow(place, add, 'switchboard', uuid);
};

// agent tells who an agent is, what calls they take, and what they do now.
export const agent = (place, { number, users, queues, skills }) => {
	const [list, add] = telling();
	add('Who it is', some(users, user));
	add(
		'Queues',
		some(queues, (q) => to('confd/queues', q.id, brief(q))),
	);
	add(
		'Skills',
		some(skills, (s) => [to('confd/agents/skills', s.id, brief(s)), ` ${s.skill_weight}`]),
	);
	put(place, list);
	const now = ({
		queues: {
			items: [queue],
		},
	}) => add('Now', queue ? does(queue.agents.find((a) => a.number === number)) : badge('Not logged in'));
	if (queues.length > 0) follow(place, { agent: number }, now); // one logs in to queues
};

// pickup tells who may answer whose calls.
export const pickup = (place, { interceptors, targets }) => {
	const [list, add] = telling();
	const side = ({ users, groups }) => some([...users, ...groups], (one) => (one.uuid ? user(one) : ['all of ', member(one)]));
	add('Who may answer', side(interceptors));
	add('Whose calls', side(targets));
	put(place, list);
};

// filter tells whose calls a filter is for, who takes them, and how they switch it.
export const filter = (place, { recipients, surrogates }) => {
	const [list, add] = telling();
	add(
		'Whose calls',
		some(recipients.users, (u) => [user(u), u.timeout && `, whose telephone rings for ${plural(u.timeout, 'second')}`]),
	);
	add(
		'Who takes them',
		surrogates.users.length > 0 &&
			h(
				'ul',
				{},
				surrogates.users.slice(0, named).map((u) => h('li', {}, user(u), h('span', { class: 'quiet' }, ', switched by '), dialled(u.exten))),
				surrogates.users.length > named && h('li', {}, `and ${surrogates.users.length - named} more`),
			),
	);
	add('Function keys', 'A key of the kind “Call filter” switches it too: keys are on the page of a person, or of a template.');
	put(place, list);
};

// show puts what there is to know of a person, whom a GET of the telephone user returned, in its place: the sessions too, unless the page has
// them elsewhere.
export const show = (place, user, sessions = true) => {
	const { lines = [], incalls = [], groups = [], voicemail, forwards: sent = {}, services: on = {} } = user;
	const numbers = [...lines, ...incalls].flatMap((of) => of.extensions ?? []),
		sends = Object.entries(forwards).flatMap(([name, text]) => (sent[name]?.enabled ? [`${text} ${sent[name].destination}`] : []));
	const [list, add] = telling();
	add('Numbers', called(numbers));
	add('Telephones', lines.length > 0 && h('ul', {}, lines.map(telephone)));
	add('Mailbox', voicemail && to('confd/voicemails', voicemail.id, brief(voicemail)));
	add('Groups', groups.length > 0 && many(groups.map(member)));
	add('Forwards', sends.length > 0 && many(sends));
	add('Do not disturb', on.dnd?.enabled ? badge('On', 'warn') : 'off');
	put(place, list);
	for (const one of place.querySelectorAll('[data-endpoint]')) follow(one, { endpoint: one.dataset.endpoint, limit: 100 }, (is) => put(one, registered(is)));
	account(user.uuid, add, sessions);
};

// person leads from a login to the telephone user who has it, if there is one.
export const person = async (place, login) => {
	const people = resources.get('confd/users');
	if (!people || !may(people.list)) return;
	const [found] = await listed(people, people.path, { uuid: login.uuid, limit: 1 });
	if (found) put(place, h('p', {}, 'The login of ', to('confd/users', found.uuid, brief(found)), ', who telephones.'));
};
