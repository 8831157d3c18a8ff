// A search over everything: the pages of the console, and the objects of all kinds that one may list, by their names or numbers.
import { call } from './api.js';
import { asking, idOf, may, resources, takes } from './definitions.js';
import { fresh, h, later, naming, plural, put } from './dom.js';
import { offered } from './menu.js';
import { apart } from './picker.js';

const most = 4, // of one kind
	atOnce = 6, // kinds
	least = 2; // characters, below which too much has them

// kinds are those that people search, in the order of the menu: what one can make here, and what has a name or a number by which people know it.
// What only happened is no place to go.
const kinds = (pages) =>
	pages
		.map(({ to }) => resources.get(to.slice(2)))
		.filter(
			/** @type {(r: Resource | undefined) => r is Collection} */ (r) =>
				takes(r?.list, 'search') &&
				takes(r?.list, 'limit') &&
				r?.read &&
				may(r.list) &&
				r.create &&
				!r.create['x-unimplemented'] &&
				(r.schema?.['x-columns'] ?? naming).some((name) => naming.includes(name)),
		);

export const show = () => {
	let sought = '',
		looking = new AbortController();
	// stop ends what was asked for an earlier text.
	const stop = () => {
		looking.abort();
		looking = new AbortController();
	};
	const id = fresh('found');
	const list = h('ul', { id, class: 'found' }),
		state = h('p', { class: 'quiet', role: 'status' });
	const links = () => [...list.querySelectorAll('a')];
	const input = h('input', {
		type: 'search',
		'aria-label': 'Find a page, a person, a number …',
		'aria-controls': id,
		placeholder: 'Find a page, a person, a number …',
		autocomplete: 'off',
		spellcheck: 'false',
		input: later(() => seek()),
	});
	const add = (title, to, kind) =>
		list.append(h('li', {}, h('a', { href: to, click: () => dialog.close() }, title, kind && h('span', { class: 'quiet' }, ` ${kind}`))));
	const seek = async () => {
		const text = (sought = input.value.trim()),
			folded = text.toLowerCase(),
			pages = offered();
		stop();
		put(list);
		put(state);
		if (text.length < least) return;
		for (const { title, to } of pages.filter((page) => page.title.toLowerCase().includes(folded)).slice(0, 2 * most)) add(title, to, 'page');
		const rest = kinds(pages),
			until = looking.signal;
		let failed = 0;
		put(state, 'Looking…');
		const look = async () => {
			for (let resource = rest.shift(); resource; resource = rest.shift()) {
				try {
					const { data } = await call('GET', resource.service.prefix + resource.path, {
						query: { ...asking(resource, ['lines']), search: text, limit: most },
						until,
					});
					const key = (object) => idOf(resource.parameter, object);
					for (const { object, name } of apart(data[resource.items], key)) add(name, `#/${resource.key}/${encodeURIComponent(key(object))}`, resource.title);
				} catch (problem) {
					if (!problem.messages) throw problem;
					failed++;
				}
			}
		};
		await Promise.all(Array.from({ length: atOnce }, look));
		const none = links().length === 0 && `Nothing has "${text}" in it. `;
		put(state, none, failed > 0 && `${plural(failed, 'kind')} could not be searched.`);
	};
	// The arrows go through what was found, and Enter takes the first of it.
	const keydown = (event) => {
		const all = links(),
			step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step && all.length > 0) {
			event.preventDefault();
			(all[all.indexOf(/** @type {any} */ (document.activeElement)) + step] ?? input).focus();
		}
		if (event.key === 'Enter' && event.target === input) {
			event.preventDefault();
			if (input.value.trim() === sought) all[0]?.click();
			else seek(); // what is shown is of another text
		}
	};
	const dialog = h('dialog', { class: 'find', 'aria-label': 'Find', keydown, close: () => (stop(), dialog.remove()) }, input, state, list);
	document.body.append(dialog);
	dialog.showModal();
	input.focus();
};
