// The installation: how it is, its backups, its certificates, whether mails go out, and where its things are.
import { call, erase } from './api.js';
import { fill, may, mayDo, operation } from './definitions.js';
import { ask, badge, grid, h, moment, plural, put, say, words } from './dom.js';
import { trouble } from './form.js';
import { keep } from './hear.js';

const at = (one, ...values) => one.service.prefix + fill(one.path, ...values);
const time = (text) => h('time', { datetime: text }, moment(text));
// What is told has paths, which are long words.
const lines = (text) =>
	h(
		'div',
		{ class: 'told' },
		text.split('\n').map((line, i) => [i > 0 && h('br'), line]),
	);

const states = { problem: ['Problem', 'bad'], warning: ['Warning', 'warn'], ok: ['Well', 'good'] };
const bad = ['problem', 'warning'];

const health = (findings) => {
	const found = bad.flatMap((state) => findings.filter((f) => f.state === state)),
		well = findings.filter((f) => f.state === 'ok');
	return [
		h('h2', {}, 'Health ', found.length === 0 ? badge('All is well', 'good') : badge(plural(found.length, 'thing') + ' to look at', states[found[0].state][1])),
		found.length > 0 &&
			grid(
				['State', 'What', 'Found', 'What to do'],
				found.map((f) => [badge(...states[f.state]), f.subject, lines(f.text), lines(f.advice ?? '')]),
			),
		h(
			'details',
			{},
			h('summary', {}, `What is well: ${well.length}`),
			grid(
				['What', 'Found'],
				well.map((f) => [f.subject, lines(f.text)]),
			),
		),
	];
};

const day = 24 * 3600 * 1000;
const certificates = (all) => [
	h('h2', {}, 'Certificates'),
	all.length === 0
		? h('p', { class: 'empty' }, 'It serves none.')
		: grid(
				['For', 'Valid until', 'Left', 'Signed by'],
				all.map((c) => {
					const left = Math.floor((new Date(c.not_after).getTime() - Date.now()) / day);
					return [c.names.join(', '), time(c.not_after), badge(plural(left, 'day'), left < 14 ? 'bad' : 'good'), c.own ? 'the gateway itself' : 'an authority'];
				}),
			),
];

const named = {
	data: 'Data folder',
	database: 'Database',
	backups: 'Backups',
	log: 'Log',
	asterisk: 'Files for Asterisk',
	asterisk_log: 'Log of Asterisk',
};
const places = (all) => [
	h('h2', {}, 'Places'),
	h(
		'dl',
		{},
		all.map(({ what, where }) => [h('dt', {}, named[what] ?? words(what)), h('dd', {}, h('code', {}, where))]),
		!all.some(({ what }) => what === 'log') && [h('dt', {}, 'Log'), h('dd', {}, 'the standard error of the gateway, such as the journal')],
	),
];

// A node writes once a minute that it serves: one that has not for so long is gone, or cannot.
const missed = 3 * 60 * 1000;
const nodes = (all) => [
	h('h2', {}, 'Nodes'),
	all.length === 0
		? h('p', { class: 'empty' }, 'None has told of itself yet: each does once a minute.')
		: grid(
				['Machine', 'State', 'Version', 'Started', 'Last seen', 'Asterisk'],
				all.map((n) => [
					[n.host, h('div', { class: 'quiet' }, h('code', {}, n.data))],
					Date.now() - new Date(n.seen_at).getTime() < missed ? badge('Serves', 'good') : badge('Not seen', 'bad'),
					n.version,
					time(n.started_at),
					time(n.seen_at),
					n.asterisk ? [`configures ${n.asterisk}`, new Date(n.until) > new Date() && [', alone until ', time(n.until)]] : '—',
				]),
			),
];

const size = (bytes) =>
	((unit) => `${(bytes / 1000 ** unit).toLocaleString(undefined, { maximumFractionDigits: 1 })} ${['bytes', 'kB', 'MB', 'GB', 'TB'][unit]}`)(
		Math.min(4, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)),
	);

// backups is the part of the page that makes and keeps backups, which follows what is made while one looks.
const backups = (place) => {
	const [list, make, read, remove] = ['list_backups', 'make_backup', 'download_backup', 'delete_backup'].map((id) => operation(id));
	const title = h('h2', {}, 'Backups');
	if (!list)
		return put(
			place,
			title,
			h('p', { class: 'empty' }, 'This gateway keeps none. Its operator names a folder for them: ', h('code', {}, 'RINGFENCE_BACKUPS'), '.'),
		);
	if (!may(list)) return put(place);
	const tried = (run) => async () => {
		try {
			await run();
		} catch (problem) {
			say(trouble(problem), true);
		}
	};
	const draw = async () => {
		let data;
		try {
			({ data } = await call('GET', at(list)));
		} catch (problem) {
			return put(place, title, trouble(problem, draw));
		}
		const { items, making } = data,
			runs = making?.state === 'running';
		put(
			place,
			title,
			h(
				'p',
				{},
				items.length > 0 ? ['The last one was made ', time(items[0].made_at), '. '] : 'None was made here yet. ',
				h(
					'span',
					{ class: 'quiet' },
					'A backup has everything but voicemails, sounds and music, also all keys and password hashes: keep it where nobody else reads it.',
				),
			),
			h(
				'p',
				{ class: 'actions' },
				h('button', { type: 'button', class: 'primary', disabled: runs || !may(make), click: tried(() => call('POST', at(make)).then(draw)) }, 'Make a backup'),
				runs && [
					h('progress', { max: making.of || 1, value: making.of ? making.done : 0, 'aria-label': 'Progress of the backup' }),
					h('span', { role: 'status' }, making.of ? `${making.done.toLocaleString()} of ${plural(making.of, 'row')}` : 'It begins…'),
				],
				making?.state === 'failed' && h('span', { class: 'error', role: 'alert' }, `The last one could not be made: ${making.message}`),
			),
			items.length > 0 &&
				grid(
					['Backup', 'Made', 'Size', 'What to do'],
					items.map((b) => [
						b.name,
						time(b.made_at),
						size(b.size),
						h(
							'span',
							{ class: 'tools' },
							h(
								'button',
								{
									type: 'button',
									disabled: !may(read, b.name),
									click: () => keep(`${b.name}.zip`, at(read, b.name), { headers: { Accept: 'application/zip' } }),
								},
								'Download',
							),
							h(
								'button',
								{
									type: 'button',
									class: 'danger',
									'aria-label': `Delete ${b.name}`,
									disabled: !may(remove, b.name),
									click: tried(async () => {
										if (!(await ask(`Delete the backup ${b.name}?`, h('p', {}, 'This cannot be undone.')))) return;
										await erase(at(remove, b.name));
										await draw();
										say(`${b.name} was deleted.`);
									}),
								},
								'Delete',
							),
						),
					]),
				),
		);
		if (runs) setTimeout(() => place.isConnected && draw(), 500);
	};
	return draw();
};

// mails sends a mail to see what the mail server says.
const mails = () => {
	const test = operation('test_mail'),
		title = h('h2', {}, 'Mail');
	if (!test)
		return [
			title,
			h(
				'p',
				{ class: 'empty' },
				'No mail server is configured, so nobody can reset a password by mail. Its operator names one: the option ',
				h('code', {}, 'mail'),
				' of the configuration.',
			),
		];
	if (!may(test)) return '';
	const answer = h('div', { role: 'status' });
	const address = h('input', { id: 'mail-to', type: 'email', autocomplete: 'email', placeholder: 'your own address' });
	const submit = async (event) => {
		event.preventDefault();
		put(answer, 'It is sent…');
		try {
			const { data } = await call('POST', at(test), { body: address.value ? { address: address.value } : {} });
			put(
				answer,
				data.accepted
					? [badge('Sent', 'good'), ` The mail server has taken a mail to ${data.address}.`]
					: [badge('Not sent', 'bad'), ` to ${data.address}: ${data.message}`],
			);
		} catch (problem) {
			put(answer, trouble(problem));
		}
	};
	return [
		title,
		h(
			'form',
			{ method: 'post', class: 'question', submit },
			h('div', { class: 'field' }, h('label', { for: 'mail-to' }, 'Send a test mail to'), address),
			h('button', { type: 'submit' }, 'Send'),
		),
		answer,
	];
};

export const show = async (main) => {
	const title = h('h1', { tabindex: '-1' }, 'System'),
		asked = operation('read_system'),
		state = h('div', { 'aria-busy': 'true' }, 'Loading…'),
		kept = h('section'),
		rest = h('div');
	if (!asked || !mayDo('read_system')) return put(main, title, h('p', { class: 'empty' }, 'You may not see how the installation is.'));
	put(main, title, state, kept, h('section', {}, mails()), rest);
	const look = async () => {
		try {
			const { data } = await call('GET', at(asked));
			put(state, h('p', { class: 'quiet' }, `Ringfence ${data.version}, started `, time(data.started_at), '.'), health(data.findings));
			put(rest, certificates(data.certificates), places(data.places), nodes(data.nodes));
		} catch (problem) {
			put(state, trouble(problem, look));
		}
		state.removeAttribute('aria-busy');
	};
	return Promise.all([backups(kept), look()]);
};
