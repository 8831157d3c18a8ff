// The first page: how the gateway is, and what to do next.
import { call, me } from './api.js';
import { may, operation, operations, resources, services } from './definitions.js';
import { h, moment, put, svg, words } from './dom.js';
import { trouble } from './form.js';
import { now } from './now.js';

// fetched returns what an operation answers, or nothing when the user may not ask. Any other problem goes to problems.
const fetched = async (problems, operation, path, query) => {
	if (!may(operation)) return null;
	try {
		return (await call('GET', path, { query })).data;
	} catch (problem) {
		if (!problem.messages) throw problem;
		if (problem.status !== 403) problems.push(problem);
		return null;
	}
};

const size = async (problems, key) => {
	const resource = resources.get(key);
	return (resource && (await fetched(problems, resource.list, resource.service.prefix + resource.path, { limit: 1 })))?.total ?? null;
};

// plot draws one bar for each minute.
const plot = (title, values) => {
	const most = Math.max(1, ...values),
		width = 240,
		height = 48,
		step = width / Math.max(1, values.length);
	const picture = svg('svg', {
		viewBox: `0 0 ${width} ${height}`,
		role: 'img',
		'aria-label': `${title}: ${values.reduce((a, b) => a + b, 0)} in the last hour, at most ${most} in a minute`,
	});
	values.forEach((value, i) => {
		const tall = Math.max(value > 0 ? 2 : 0.5, (value / most) * (height - 2));
		picture.append(svg('rect', { x: i * step, y: height - tall, width: Math.max(1, step - 1), height: tall }));
	});
	return h('figure', { class: 'plot' }, h('figcaption', {}, title, ' ', h('b', {}, String(values.reduce((a, b) => a + b, 0)))), picture);
};

const overview = async (problems) => {
	const asked = operation('read_overview');
	return asked ? fetched(problems, asked, asked.service.prefix + asked.path) : null;
};

const health = (seen) => {
	if (!seen) return null;
	const { certificate } = seen,
		days = certificate && Math.floor((new Date(certificate.not_after).getTime() - Date.now()) / 86400000);
	return h(
		'section',
		{},
		h('h2', {}, 'The gateway'),
		h(
			'dl',
			{},
			h('dt', {}, 'Version'),
			h('dd', {}, seen.version),
			h('dt', {}, 'Running since'),
			h('dd', {}, moment(seen.started_at)),
			h('dt', {}, 'Database'),
			h('dd', {}, seen.database),
			h('dt', {}, 'Sessions'),
			h('dd', {}, String(seen.sessions)),
			certificate && [
				h('dt', {}, 'Certificate'),
				h('dd', {}, `${days} days left, for ${certificate.names.join(', ')}`, h('br'), h('code', { class: 'long' }, certificate.sha256)),
			],
		),
		h('p', { class: 'quiet' }, 'Minute by minute, in the last hour:'),
		h(
			'div',
			{ class: 'plots' },
			plot(
				'Logins',
				seen.logins.map((m) => m.succeeded),
			),
			plot(
				'Refused logins',
				seen.logins.map((m) => m.refused),
			),
			Object.entries(seen.denials).map(([reason, minutes]) => plot(`Refused: ${words(reason).toLowerCase()}`, minutes)),
		),
	);
};

// steps are what a company is made of, in the order in which one sets it up: a kind of object, the page that makes one, and what that is.
const steps = [
	['confd/users', '#/telephone', 'Add a telephone user', 'A telephone, a number and a voicemail in one step.'],
	['confd/trunks', '#/trunk', 'Add a trunk', 'The carrier by which calls go out and come in.'],
	['confd/outcalls', '#/outgoing-route', 'Add an outgoing route', 'What is dialled to call the outside.'],
	['confd/incalls', '#/incoming-number', 'Add an incoming number', 'Where calls from outside go.'],
];

// more is made again and again, and not counted.
const more = [
	['confd/groups', '#/ring-group', 'Add a ring group', 'A number at which several people ring.'],
	['auth/users', '#/auth/users/+new', 'Add a login', 'For each person and each program that uses the API.'],
];

export const show = async (main) => {
	const problems = [];
	put(main, h('h1', { tabindex: '-1' }, `Welcome, ${me?.username}`), h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const [seen, ...counts] = await Promise.all([overview(problems), ...steps.map(([key]) => size(problems, key))]);
	const next = steps.filter(([key], i) => may(resources.get(key)?.create) && (i === 0 || counts[i] === 0)); // the first is done again and again
	next.push(...more.filter(([key]) => may(resources.get(key)?.create)));
	next.push(['', 'api/', 'Try an operation', 'The API explorer has all of them, with their fields.']);
	const allowed = operations.filter((o) => may(o)).length;
	put(
		main,
		h('h1', { tabindex: '-1' }, `Welcome, ${me?.username}`),
		h(
			'ul',
			{ class: 'counts' },
			steps.map(
				([key], i) => counts[i] !== null && h('li', {}, h('a', { href: `#/${key}` }, h('b', {}, counts[i].toLocaleString()), resources.get(key)?.title)),
			),
		),
		now(),
		h(
			'section',
			{},
			h('h2', {}, 'What to do next'),
			h(
				'ul',
				{ class: 'next' },
				next.map(([, to, name, text]) => h('li', {}, h('a', { href: to }, name), h('span', {}, text))),
			),
		),
		health(seen) ?? '',
		h('p', { class: 'quiet' }, `Your token allows ${allowed} of ${operations.length} operations in some form, until ${moment(me?.expires)}.`),
		problems.map((problem) => trouble(problem, () => show(main))),
		services
			.filter((s) => s.problem)
			.map((s) => h('p', { class: 'error', role: 'alert' }, `The definition of ${s.title} could not be loaded: ${s.problem?.message}`)),
	);
};
