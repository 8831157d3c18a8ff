// The telephone system: how what is stored differs from what it has, who changed that, what it cannot have, and the way back.
import { call } from './api.js';
import { fill, may, oneOf, operation, resources } from './definitions.js';
import { difference } from './difference.js';
import { ask, badge, grid, h, moment, put, say, tick, words } from './dom.js';
import { trouble } from './form.js';
import { pager, table } from './list.js';

const at = (operation, ...values) => operation.service.prefix + fill(operation.path, ...values);

// objectOf leads to what is left out, where the console has a page of it.
const objectOf = (o) => {
	const of = resources.get(`confd/${{ transport: 'sip/transports', moh: 'moh', ivr: 'ivr' }[o.kind] ?? `${o.kind}s`}`),
		name = `${of ? oneOf(of) : words(o.kind)} ${o.name || o.key}`;
	return of?.read && may(of.read, o.key) ? h('a', { href: `#/${of.key}/${encodeURIComponent(o.key)}` }, name) : name;
};

const missing = ({ total, items }) => [
	h('h2', {}, 'Left out'),
	total === 0
		? h('p', { class: 'empty' }, 'Everything that is stored is in the files.')
		: [
				h('p', {}, 'This is stored, and the telephone system does not have it:'),
				grid(
					['What', 'User', 'Tenant', 'Option', 'Why'],
					items.map((o) => [objectOf(o), o.user, o.tenant, o.option, o.reason]),
				),
				total > items.length && h('p', {}, `and ${(total - items.length).toLocaleString()} more.`),
			],
];

const states = { done: 'good', failed: 'bad', rolled_back: 'bad' };

// outcome tells what became of a job, or how far it is: in all, and of each module.
const outcome = (job) => [
	h('p', {}, badge(words(job.state), states[job.state]), ' ', job.message || (job.generation > 0 && `Generation ${job.generation}.`)),
	job.modules.length > 0 &&
		grid(
			['Module', 'State', 'Why'],
			job.modules.map((m) => [m.module, badge(words(m.state), states[m.state]), m.message]),
		),
	job.log.length > 0 &&
		h(
			'details',
			{},
			h('summary', {}, 'What happened'),
			grid(
				['At', 'What'],
				job.log.map((entry) => [new Date(entry.at).toLocaleTimeString(), entry.message]),
			),
		),
];

// changed are the changes of the telephony since a moment, and who made them, as far as the token may read them.
const changed = async (since) => {
	const audit = resources.get('auth/audit');
	if (!since || !audit || !may(audit.list)) return null;
	const source = async ({ limit, offset }) => {
		const { data } = await call('GET', audit.service.prefix + audit.path, {
			query: { service: 'confd', since, recurse: 'true', order: 'at', direction: 'desc', limit, offset },
		});
		return { objects: data.items, total: data.filtered };
	};
	return [
		h('h2', {}, 'Who changed what since'),
		await pager('the changes', source, (objects) =>
			objects.length > 0
				? table({
						service: audit.service,
						schema: audit.schema,
						columns: ['at', 'actor_uuid', 'action', 'object'],
						objects,
						named: (name, entry) => (name === 'actor_uuid' && entry.actor_name) || undefined,
						link: (entry) => `#/auth/audit/${entry.id}`,
					})
				: h('p', { class: 'empty' }, 'Nobody has changed anything of what you may see.'),
		),
	];
};

// reload says whether changes reach the telephone system at once, and switches that.
const reload = (enabled, setting, again) => {
	const to = async () => {
		try {
			await call('PUT', setting.service.prefix + setting.path, { body: { enabled: !enabled } });
		} catch (problem) {
			if (!problem.messages) throw problem;
			return say(problem.message, true);
		}
		return again(enabled ? 'Live reload is off: changes wait until somebody applies them.' : 'Live reload is on: changes reach the telephone system at once.');
	};
	return h(
		'p',
		{},
		badge(enabled ? 'Live reload is on' : 'Live reload is off', enabled ? 'good' : ''),
		enabled ? ' Changes reach the telephone system at once. ' : ' Changes wait until somebody applies them. ',
		h('button', { type: 'button', disabled: !may(setting.update), click: to }, enabled ? 'Switch it off' : 'Switch it on'),
	);
};

export const show = async (main) => {
	const title = (...more) => h('header', { class: 'title' }, h('h1', { tabindex: '-1' }, 'Telephone system'), more),
		start = operation('apply'),
		job = operation('read_apply'),
		list = operation('list_generations'),
		back = operation('go_back'),
		setting = resources.get('confd/configuration/live_reload');
	put(main, title(), h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const progress = h('div', { class: 'progress', 'aria-live': 'polite' });
	const again = async (text, wrong = false) => {
		if (!main.isConnected) return;
		await show(main);
		say(text, wrong);
	};
	// run starts a job, shows how it goes on, and then the page as it is now with what became of it.
	const run = async (path) => {
		for (const button of main.querySelectorAll('button')) button.disabled = true;
		try {
			let { data } = await call('POST', path);
			while (['waiting', 'running'].includes(data.state) && may(job, data.uuid) && progress.isConnected) {
				put(progress, h('p', { role: 'status' }, `The job is ${data.state}…`), outcome(data));
				await new Promise((done) => {
					setTimeout(done, 300);
				});
				({ data } = await call('GET', at(job, data.uuid)));
			}
			if (!progress.isConnected) return;
			await again(`${words(data.state)}. ${data.message}`.trim(), Boolean(data.message));
			put(main.querySelector('.progress'), h('h2', {}, 'The last job'), outcome(data));
		} catch (problem) {
			await again('');
			put(main.querySelector('.progress'), trouble(problem));
		}
	};
	const live = setting && may(setting.read) && (await call('GET', setting.service.prefix + setting.path).catch(() => null))?.data.enabled;
	const goBack = async (generation) => {
		const off = setting && live && may(setting.update) && tick('Switch live reload off; otherwise the next change makes what is stored live again');
		const text = [
			h('p', {}, 'The telephone system gets the files of that generation. What is stored stays as it is, and is live again with the next apply.'),
			off && off.element,
		];
		if (!(await ask(`Go back to generation ${generation}?`, text, 'Go back'))) return;
		if (setting && off && off.ticked()) await call('PUT', setting.service.prefix + setting.path, { body: { enabled: false } });
		await run(at(back, generation));
	};
	const earlier = ({ items }) => [
		h('h2', {}, 'Earlier generations'),
		h('p', { class: 'quiet' }, 'Each apply that changes a file makes a generation of all files. The last ones are kept.'),
		grid(
			['Number', 'Made', 'State', 'From', 'Way back'],
			items.map((g) => [
				String(g.generation),
				h('time', { datetime: g.created_at }, moment(g.created_at)),
				g.live ? badge('Live', 'good') : g.failed ? badge('Refused', 'bad') : badge('Kept'),
				g.failed ? `${g.source}: ${g.failed}` : g.source,
				!g.live &&
					!g.failed &&
					h(
						'button',
						{ type: 'button', disabled: !may(back, g.generation), 'aria-label': `Go back to generation ${g.generation}`, click: () => goBack(g.generation) },
						'Go back',
					),
			]),
		),
	];
	try {
		const [preview, kept] = await Promise.all([call('GET', at(operation('preview_apply'))), may(list) ? call('GET', at(list)).catch(() => null) : null]);
		const { data } = preview,
			now = kept?.data.items.find((g) => g.live);
		put(
			main,
			title(start && h('button', { type: 'button', class: 'primary', disabled: !may(start), click: () => run(at(start)) }, 'Apply')),
			!start &&
				h(
					'p',
					{ class: 'denied' },
					'No Asterisk is configured here, so nothing is applied. Its operator says where one is: ',
					h('code', {}, 'RINGFENCE_ASTERISK_MANAGER'),
					'.',
				),
			h(
				'p',
				{},
				data.changed ? badge('Changes wait', 'warn') : badge('Up to date', 'good'),
				data.changed ? ' It does not have what is stored yet. ' : ' It has what is stored. ',
				now && h('span', { class: 'quiet' }, `Generation ${now.generation} is live, of ${moment(now.created_at)}.`),
			),
			setting && typeof live === 'boolean' && reload(live, setting, again),
			progress,
			data.changed && [h('h2', {}, 'What would change'), difference(data.files)],
			missing(data.left_out),
			data.changed && (await changed(now?.created_at)),
			kept && kept.data.total > 0 && earlier(kept.data),
		);
	} catch (problem) {
		put(
			main,
			title(),
			trouble(problem, () => show(main)),
			progress,
		);
	}
};
