// The telephone system: how what is stored differs from what it has, and what it cannot have.
import { call } from './api.js';
import { may, operations, resources } from './definitions.js';
import { h, put, words } from './dom.js';
import { refusal } from './form.js';

const find = (id) => operations.find((o) => o.operationId === id);

// offered reports whether the signed-in user may see the page.
export const offered = () => Boolean(find('preview_apply')) && may(find('preview_apply'));

// objectOf leads to what is left out, where the console has a page of it.
const objectOf = (o) => {
	const of = resources.get(`confd/${{ transport: 'sip/transports', moh: 'moh' }[o.kind] ?? `${o.kind}s`}`),
		name = `${words(o.kind)} ${o.name || o.key}`;
	return of?.read && may(of.read, o.key) ? h('a', { href: `#/${of.key}/${encodeURIComponent(o.key)}` }, name) : name;
};

const missing = ({ total, items }) => [
	h('h2', {}, 'Left out'),
	total === 0
		? h('p', { class: 'empty' }, 'Everything that is stored is in the files.')
		: [
				h('p', {}, 'This is stored, and the telephone system does not have it:'),
				h(
					'div',
					{ class: 'scroll' },
					h(
						'table',
						{},
						h(
							'thead',
							{},
							h(
								'tr',
								{},
								['What', 'User', 'Tenant', 'Option', 'Why'].map((title) => h('th', { scope: 'col' }, title)),
							),
						),
						h(
							'tbody',
							{},
							items.map((o) =>
								h(
									'tr',
									{},
									[
										['What', objectOf(o)],
										['User', o.user],
										['Tenant', o.tenant],
										['Option', o.option],
										['Why', o.reason],
									].map(([title, content]) => h('td', { 'data-label': title }, h('div', {}, content))),
								),
							),
						),
					),
				),
				total > items.length && h('p', {}, `and ${(total - items.length).toLocaleString()} more.`),
			],
];

export const show = async (main) => {
	const title = h('h1', { tabindex: '-1' }, 'Telephone system'),
		preview = find('preview_apply'),
		start = find('apply'),
		job = find('read_apply');
	const at = (operation, uuid = '') => operation.service.prefix + operation.path.replace('{job_uuid}', uuid);
	put(main, title, h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const state = h('p', { role: 'status' });
	const apply = async () => {
		button.disabled = true;
		try {
			let { data } = await call('POST', at(start));
			while (['waiting', 'running'].includes(data.state) && may(job, data.uuid) && state.isConnected) {
				put(state, `The job is ${data.state}…`);
				await new Promise((done) => {
					setTimeout(done, 500);
				});
				({ data } = await call('GET', at(job, data.uuid)));
			}
			if (!state.isConnected) return;
			await show(main);
			main.querySelector('[role=status]')?.append(`${words(data.state)}. ${data.message}`);
		} catch (problem) {
			if (!problem.messages) throw problem;
			put(state, problem.message, refusal(problem));
			button.disabled = false;
		}
	};
	const button = h('button', { type: 'button', class: 'primary', disabled: !may(start), click: apply }, 'Apply');
	try {
		const { data } = await call('GET', at(preview));
		put(
			main,
			title,
			data.changed
				? [
						h('p', {}, 'It does not have what is stored yet. ', button),
						state,
						h('h2', {}, 'What would change'),
						data.files.map((f) => h('details', {}, h('summary', {}, `${f.name}: ${f.change}`), h('pre', {}, f.diff))),
					]
				: [h('p', {}, 'It has what is stored. ', button), state],
			missing(data.left_out),
		);
	} catch (problem) {
		if (!problem.messages) throw problem;
		put(main, title, h('p', { class: 'error', role: 'alert' }, problem.message), refusal(problem));
	}
};
