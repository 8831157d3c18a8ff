// The state of Asterisk: who talks with whom, which telephones have registered, and how the trunks, the queues and the switchboards are. It is refreshed while one looks.
import { call } from './api.js';
import { operation } from './definitions.js';
import { badge, grid, h, later, moment, plural, put } from './dom.js';
import { trouble } from './form.js';
import { whose } from './whose.js';

const pause = 3000, // between two looks
	limit = 100;

// lasting writes seconds as people read them.
export const lasting = (seconds) => {
	const over = (length, unit) => plural(Math.floor(seconds / length), unit);
	return seconds < 60 ? over(1, 'second') : seconds < 3600 ? over(60, 'minute') : seconds < 172800 ? over(3600, 'hour') : over(86400, 'day');
};

const colours = { reachable: 'good', unreachable: 'bad', Registered: 'good', Rejected: 'bad', Unregistered: 'bad', Up: 'good' };
export const state = (text) => text && badge({ reachable: 'Reachable', unreachable: 'Unreachable', unknown: 'Not asked' }[text] ?? text, colours[text]);
const took = (ms) => (ms == null ? '' : `${ms.toLocaleString(undefined, { maximumFractionDigits: 1 })} ms`);
export const party = (number, name) => [name, number].filter(Boolean).join(', ');

// since tells when a telephone registered, or before when, as far as the gateway has heard of it.
export const since = (r) => {
	const at = r.since ?? r.since_before;
	return at && [r.since ? 'since ' : 'since before ', h('time', { datetime: at }, moment(at))];
};

const section = (title, { total, items }, none, titles, row) => [
	h('h2', {}, `${title} `, h('span', { class: 'quiet' }, total.toLocaleString())),
	items.length > 0 ? grid(titles, items.map(row)) : h('p', { class: 'empty' }, none),
	total > items.length && h('p', {}, `and ${(total - items.length).toLocaleString()} more: search for them.`),
];

// waits tells what waits in a queue or at a switchboard, and of the queue's agents who are logged in.
export const waits = ({ waiting, longest_seconds: longest, members, agents = [] }) => [
	waiting > 0 ? [plural(waiting, 'call'), ' waiting, the first for ', lasting(longest)] : 'Nobody waits',
	members !== undefined && `; ${members > 0 ? `${members.toLocaleString()} to take calls` : 'nobody takes calls'}`,
	agents.length > 0 &&
		h(
			'ul',
			{},
			agents.map((a) => h('li', {}, `${a.number} `, does(a))),
		),
];
const doing = { free: 'Free', ringing: 'Rings', busy: 'On a call', paused: 'Pauses', away: 'No telephone' };

// does tells what an agent who is logged in does, and since when they pause or are logged in.
export const does = ({ state: is, reason, since: at }) => [
	badge(doing[is], is === 'free' ? 'good' : 'warn'),
	reason > '0' && ` ${reason}`,
	at && h('span', { class: 'quiet' }, is === 'paused' ? ' since ' : ' logged in since ', h('time', { datetime: at }, moment(at))),
];

const seen = (is) => [
	h(
		'p',
		{},
		badge('Running', 'good'),
		` Asterisk ${is.version}`,
		is.started_at && `, for ${lasting(Math.max(0, Math.round((Date.now() - new Date(is.started_at).getTime()) / 1000)))}`,
		is.reloaded_at && h('span', { class: 'quiet' }, `. It has read all its files at ${moment(is.reloaded_at)}.`),
	),
	section('Calls', is.channels, 'Nobody talks now.', ['Who', 'With', 'State', 'For', 'Over'], (c) => [
		party(c.number, c.name) || c.dialled,
		party(c.with_number, c.with_name),
		state(c.state),
		lasting(c.seconds),
		c.endpoint ? whose(c.endpoint) : c.kind,
	]),
	section(
		'Registered telephones',
		is.registrations,
		'No telephone has registered.',
		['Telephone', 'From', 'Registered', 'State', 'Answers in', 'Until', 'Model'],
		(r) => [
			whose(r.endpoint),
			r.from,
			since(r),
			state(r.state),
			took(r.latency_ms),
			r.expires_at && h('time', { datetime: r.expires_at }, moment(r.expires_at)),
			r.agent,
		],
	),
	section('Queues', is.queues, 'There is no queue.', ['Queue', 'What waits, and who takes calls'], (q) => [
		h('a', { href: `#/confd/queues/${q.queue_id}` }, q.label),
		waits(q),
	]),
	section('Switchboards', is.switchboards, 'No call waits at a switchboard.', ['Switchboard', 'What waits'], (s) => [
		h('a', { href: `#/confd/switchboards/${s.switchboard_uuid}` }, s.label),
		waits(s),
	]),
	section('Trunks', is.trunks, 'There is no trunk that registers or is asked.', ['Trunk', 'At', 'Registration', 'State', 'Answers in'], (t) => [
		whose(t.endpoint),
		t.at,
		state(t.registration),
		state(t.state),
		took(t.latency_ms),
	]),
];

export const show = async (main, query) => {
	const asked = operation('read_asterisk');
	if (!asked)
		return put(
			main,
			h('h1', { tabindex: '-1' }, 'State of Asterisk'),
			h('p', { class: 'empty' }, 'No Asterisk is configured here. Its operator says where one is: ', h('code', {}, 'RINGFENCE_ASTERISK_MANAGER'), '.'),
		);
	const rows = h('div', { 'aria-busy': 'true' }, 'Loading…');
	let turn = 0;
	const look = async () => {
		const mine = ++turn;
		try {
			const { data } = await call('GET', asked.service.prefix + asked.path, { query: { limit, search: search.value.trim() } });
			if (mine === turn) put(rows, seen(data));
		} catch (problem) {
			if (mine === turn) put(rows, trouble(problem, look));
		}
		rows.removeAttribute('aria-busy');
	};
	const search = h('input', {
		type: 'search',
		value: query.get('search') ?? '',
		placeholder: 'Search',
		'aria-label': 'Search the state of Asterisk',
		autocomplete: 'off',
		input: later(look),
	});
	put(main, h('h1', { tabindex: '-1' }, 'State of Asterisk'), h('div', { class: 'tools' }, search), rows);
	await look();
	const again = async () => {
		if (!rows.isConnected) return;
		if (!document.hidden) await look();
		setTimeout(again, pause);
	};
	return setTimeout(again, pause);
};
