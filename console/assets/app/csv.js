// Users by a file: a template, an export, and an import, which is tried first and tells what is wrong by row.
import { call } from './api.js';
import { may, operation } from './definitions.js';
import { grid, h, plural, put } from './dom.js';
import { trouble } from './form.js';

const kind = 'text/csv';

// save has the browser keep a text as a file.
export const save = (name, text) => {
	const link = h('a', { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may read it after the click
};

// wrong shows what is wrong with the rows of a file.
const wrong = (errors) => [
	h('p', { class: 'error', role: 'alert' }, `Nothing was imported: ${plural(errors.length, 'row')} cannot be. Mend the file, and choose it again.`),
	grid(
		['Line', 'User', 'What is wrong'],
		errors.map(({ message, details: { line, row } }) => [line, [row?.firstname, row?.lastname, row?.exten].filter(Boolean).join(' '), message]),
	),
];

// importer chooses a file, tries it, and imports it when that was asked for.
const importer = (write) => {
	const { service } = write,
		path = service.prefix + write.path,
		running = operation('list_user_imports');
	const state = h('div', { role: 'status' });
	const file = h('input', { type: 'file', id: 'file', accept: '.csv,text/csv', change: () => choose(file.files[0]) });
	const refuse = (problem) => {
		const errors = problem.data?.errors?.filter((e) => e.details);
		put(state, errors?.length ? wrong(errors) : trouble(problem));
	};
	const send = (chosen, trial) =>
		call('POST', path, { body: new Blob([chosen], { type: kind }), query: { dry_run: trial && 'true' }, headers: { Accept: 'application/json' } });
	const choose = async (chosen) => {
		if (!chosen) return;
		put(state, h('p', { 'aria-busy': 'true' }, `${chosen.name} is tried…`));
		try {
			const { data } = await send(chosen, true);
			const count = data.created.length;
			const go = h('button', { type: 'button', class: 'primary', click: () => take(chosen, count) }, `Import ${plural(count, 'user')}`);
			put(state, h('p', {}, `${chosen.name} is right: it has ${plural(count, 'user')}. Nothing was written yet.`), h('p', { class: 'actions' }, go));
			go.focus();
		} catch (problem) {
			refuse(problem);
		} finally {
			file.value = ''; // so that the same file can be chosen again when it was mended
		}
	};
	const take = async (chosen, count) => {
		const bar = h('progress', { max: count, 'aria-label': 'Progress of the import' }),
			told = h('span', {});
		put(state, h('p', {}, bar, ' ', told));
		let ended = false;
		const watch = async () => {
			while (!ended && state.isConnected && may(running)) {
				const { data } = await call('GET', path);
				const now = data.items.find((one) => one.state !== 'interrupted');
				if (now?.rows && !ended) {
					bar.max = now.rows;
					bar.value = now.done;
					put(told, `${now.state}: ${now.done.toLocaleString()} of ${plural(now.rows, 'row')}`);
				}
				await new Promise((done) => {
					setTimeout(done, 300);
				});
			}
		};
		watch().catch(() => {}); // the import itself tells what went wrong
		try {
			const { data } = await send(chosen, false);
			put(state, h('p', {}, `${plural(data.created.length, 'user')} imported. `, h('a', { href: '#/confd/users' }, 'To the users')));
		} catch (problem) {
			refuse(problem);
		} finally {
			ended = true;
		}
	};
	const example = write.requestBody.content[kind].schema.example;
	return [
		h('h2', {}, 'Import'),
		h('p', {}, 'A file has a row for each user. All rows are imported, or none; a dialling area is called by its name.'),
		h('div', { class: 'field' }, h('label', { for: 'file' }, 'File (CSV)'), file),
		h(
			'p',
			{},
			h('button', { type: 'button', click: () => save('template.csv', example) }, 'Template'),
			' has the columns that are filled in most, and an example.',
		),
		state,
	];
};

// exporter saves all users of the tenant as a file.
const exporter = (read) => {
	const state = h('div', { role: 'status' });
	const run = async () => {
		put(state, 'The users are read…');
		try {
			const { data } = await call('GET', read.service.prefix + read.path, { query: { labels: 'true' }, headers: { Accept: kind } });
			save('users.csv', data);
			put(state, 'Saved as users.csv.');
		} catch (problem) {
			put(state, trouble(problem));
		}
	};
	return [
		h('h2', {}, 'Export'),
		h('p', {}, 'The file has the passwords of telephones and voicemails: keep it where nobody else reads it. It can be imported again.'),
		h('p', {}, h('button', { type: 'button', click: run }, 'Export all users')),
		state,
	];
};

export const show = async (main) => {
	const [read, write] = ['export_users_csv', 'import_users_csv'].map((id) => operation(id)).map((one) => may(one) && one);
	put(
		main,
		h('h1', { tabindex: '-1' }, 'Users by file'),
		!write && !read && h('p', {}, 'You may neither import nor export users here.'),
		write && importer(write),
		read && exporter(read),
	);
};
