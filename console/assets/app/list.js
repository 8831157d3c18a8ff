// The page of a collection: search, order and pages are the server's.
import { call } from './api.js';
import { aboutOf, asking, idOf, may, properties, resolve, takes } from './definitions.js';
import { brief, broken, h, later, put, turner } from './dom.js';
import { filters } from './fields.js';
import { trouble } from './form.js';
import { made } from './menu.js';
import { crumbs, heading, nameLater, twin, value } from './shown.js';

const size = 25;

// columnsOf picks the columns of a list: those that its objects are declared to have, otherwise what tells them apart, which is what the
// service sorts by first, what each must have, and what else it sorts by.
export const columnsOf = (service, schema, list, most = 6) => {
	const all = properties(service, schema, list).filter(([name, p]) => !p.writeOnly && name !== 'links');
	const names = all.map(([name]) => name),
		declared = schema['x-columns']?.filter((name) => names.includes(name)) ?? [];
	if (declared.length > 0) return declared;
	const sorted = list?.parameters?.find((p) => p.name === 'order')?.schema?.enum ?? [],
		required = resolve(service, schema).required ?? [];
	const rank = ([name, p]) =>
		[
			name === sorted[0],
			required.includes(name),
			/^(name|label|number)$/.test(name),
			sorted.includes(name),
			p.type !== 'object' && p.type !== 'array',
			true,
		].indexOf(true);
	const telling = all.filter(([name]) => !/(^|_)(id|uuid)$/.test(name));
	return (telling.length > 1 || telling.some(([name]) => /^(name|label)$/.test(name)) ? telling : all)
		.map((entry, at) => ({ entry, at }))
		.sort((a, b) => rank(a.entry) - rank(b.entry) || a.at - b.at)
		.map(({ entry: [name] }) => name)
		.slice(0, most);
};

/** @param {Collection} resource */
const orderOf = (resource) => resource.list.parameters?.find((p) => p.name === 'order')?.schema?.enum ?? [];

// leads opens the page of a row that is clicked anywhere, unless something else is clicked there, or text is chosen.
const leads = ({ target }, to) => {
	if (!target.closest('a, button, input, label') && getSelection()?.isCollapsed) location.hash = to;
};

// table shows objects. Link returns the address of an object's page, or nothing. Named returns what to show of an object in place of a text.
// Label reads the names of columns, if their attributes do not tell it.
/** @param {TableOptions} _ */
export const table = ({ service, schema = {}, columns, objects, link, sort, pick, named = () => undefined, label: labelled = () => undefined }) => {
	const of = Object.fromEntries(columns.map((name) => [name, resolve(service, schema.properties?.[name])]));
	const label = (name) => labelled(name) ?? heading(service, name, schema.properties?.[name] && of[name]);
	return h(
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
					pick && h('th', { class: 'pick' }, pick.all),
					columns.map((name) =>
						h(
							'th',
							{ scope: 'col', 'aria-sort': sort?.state(name) },
							sort?.can(name)
								? h(
										'button',
										{ type: 'button', class: 'plain', click: () => sort.by(name) },
										label(name),
										{ ascending: ' ↑', descending: ' ↓' }[sort.state(name)] ?? '',
									)
								: label(name),
						),
					),
				),
			),
			h(
				'tbody',
				{},
				objects.map((object) => {
					const first = columns.find((name) => value(service, name, of[name], object[name]) !== '') ?? columns[0];
					const to = link?.(object);
					return h(
						'tr',
						to ? { class: 'leads', click: (event) => leads(event, to) } : {},
						pick && h('td', { class: 'pick' }, pick.one(object)),
						columns.map((name) => {
							const links = to && name === first,
								shown = named(name, object) ?? value(service, name, of[name], object[name], object);
							const text = typeof shown === 'string' ? broken(shown || (links ? '(unnamed)' : '')) : shown;
							return h('td', { 'data-label': label(name) }, links && shown.tagName !== 'A' ? h('a', { href: to }, text) : text);
						}),
					);
				}),
			),
		),
	);
};

// pager shows some of what source has at a time. Source returns objects, from an offset on and at most a limit, among those that a text
// finds, and how many these are; render shows them.
export const pager = async (title, source, render, searches) => {
	let page = 1,
		asked = 0;
	const rows = h('div', { 'aria-live': 'polite' }),
		pages = h('nav', { class: 'pages', 'aria-label': `Pages of ${title}` });
	const search = h('input', { type: 'search', placeholder: 'Search', 'aria-label': `Search ${title}`, autocomplete: 'off', input: later(() => turn(1)) });
	const tools = h('div', { class: 'tools', hidden: true }, search);
	const show = async (to) => {
		const mine = ++asked,
			text = search.value.trim();
		const { objects, total } = await source({ search: text, limit: size, offset: (to - 1) * size });
		const last = Math.max(1, Math.ceil(total / size));
		if (mine !== asked) return undefined; // another was asked for meanwhile
		if (to > last) return show(last); // the objects of this page are gone
		page = to;
		put(rows, text && total === 0 ? h('p', { class: 'empty' }, `Nothing has "${text}" in it.`) : render(objects, total));
		pages.hidden = last === 1 && !text;
		tools.hidden = pages.hidden || !searches;
		return put(pages, !pages.hidden && turner(total, text, page, last, turn));
	};
	const turn = (to) =>
		show(to).catch((problem) => {
			put(
				rows,
				trouble(problem, () => turn(to)),
			);
		});
	await show(page);
	return [tools, rows, pages];
};

// kept is a source of objects that are all at hand.
export const kept =
	(objects) =>
	({ search, limit, offset }) => {
		const text = search.toLowerCase(),
			found = text ? objects.filter((o) => brief(o).toLowerCase().includes(text)) : objects;
		return { objects: found.slice(offset, offset + limit), total: found.length };
	};

// listed is a source of the objects of a list, of which the server has the pages if it can.
export const listed = async (path, operation, items) => {
	if (!takes(operation, 'limit')) return kept((await call('GET', path)).data[items]);
	return async ({ search, limit, offset }) => {
		const { data } = await call('GET', path, { query: { limit, offset, ...(takes(operation, 'search') && { search }) } });
		return { objects: data[items], total: (search ? data.filtered : data.total) ?? data.total };
	};
};

const filtering = (state) => Object.keys(state.filters).length > 0;

// empty says that there is nothing, and what one can do about it.
const empty = (resource, state, clear) => {
	if (state.search || filtering(state))
		return h(
			'p',
			{ class: 'empty' },
			state.search ? `Nothing ${filtering(state) ? 'of this kind ' : ''}has "${state.search}" in it. ` : 'Nothing is of this kind. ',
			h('button', { type: 'button', click: clear }, 'Show all'),
		);
	return h(
		'p',
		{ class: 'empty' },
		'There is nothing here yet. ',
		may(resource.create) && h('a', { class: 'button', href: made(resource)[0]?.to ?? `#/${resource.key}/+new` }, 'Make the first one'),
	);
};

/** @param {Collection} resource */
export const show = async (main, resource, query) => {
	const { service } = resource,
		columns = columnsOf(service, resource.schema, resource.list),
		other = twin(resource);
	// What only happened, such as sessions, comes with the newest first.
	const when =
		!columns.some((name) => ['name', 'label', 'firstname', 'exten'].includes(name)) && ['at', 'created_at'].find((name) => orderOf(resource).includes(name));
	const state = {
		search: query.get('search') ?? '',
		order: query.get('order') ?? (when || ''),
		direction: query.get('direction') ?? (when && !query.has('order') ? 'desc' : 'asc'),
		page: Number(query.get('page') ?? 1),
		recurse: query.get('recurse') ?? '',
		filters: {},
	};
	for (const [name, value] of query) if (!(name in state) && takes(resource.list, name)) state.filters[name] = value;
	const base = `#/${resource.key}`,
		makers = made(resource);
	const go = (change) => {
		if (!rows.isConnected) return undefined; // what was typed last, and then another page was opened
		Object.assign(state, change);
		const { filters: chosen, ...rest } = state;
		const kept = new URLSearchParams([
			...Object.entries(rest).filter(([name, value]) => value && !(name === 'page' && value === 1) && !(name === 'direction' && !state.order)),
			...Object.entries(chosen),
		]);
		history.replaceState(null, '', `${base}${kept.size > 0 ? '?' + kept : ''}`);
		return fetchPage();
	};
	const rows = h('div', { 'aria-live': 'polite', 'aria-busy': 'true' }, h('p', { class: 'empty' }, 'Loading…')),
		pages = h('nav', { class: 'pages', 'aria-label': 'Pages' });
	const chosen = (await import('./bulk.js')).chooser(resource, columns, () => fetchPage()); // the first page has no list
	let asked = 0;

	// What is told of an entry of the audit takes all of it.
	const some = columns.some((name) => /^operations\./.test(resource.schema.properties?.[name]?.['x-ref'] ?? '')) ? {} : asking(resource, columns);
	const fetchPage = async () => {
		const mine = ++asked;
		rows.setAttribute('aria-busy', 'true');
		try {
			const { data } = await call('GET', resource.service.prefix + resource.path, {
				query: {
					...state.filters,
					...some,
					search: state.search,
					order: state.order,
					direction: state.order && state.direction,
					recurse: state.recurse,
					...(takes(resource.list, 'limit') && { limit: size, offset: (state.page - 1) * size }),
				},
			});
			if (mine !== asked) return undefined; // another was asked for meanwhile
			const last = lastPage(data);
			if (state.page > last) return go({ page: last }); // the rows of this page are gone
			draw(data);
		} catch (problem) {
			if (mine !== asked) return undefined;
			put(rows, trouble(problem, fetchPage));
			put(pages);
		}
		rows.setAttribute('aria-busy', 'false');
		return undefined;
	};

	const foundIn = (data) => (state.search || filtering(state) ? data.filtered : data.total) ?? data.total ?? data[resource.items].length;
	const lastPage = (data) => Math.max(1, Math.ceil(foundIn(data) / size));

	const draw = (data) => {
		const objects = data[resource.items],
			found = foundIn(data),
			last = lastPage(data);
		const simple = resource.schema.type && resource.schema.type !== 'object'; // a list of words
		put(
			rows,
			objects.length > 0
				? table(
						simple
							? { service, schema: { properties: { name: resource.schema } }, columns: ['name'], objects: objects.map((name) => ({ name })) }
							: {
									service,
									schema: resource.schema,
									objects,
									columns: columns.filter((name) => name === state.order || objects.some((object) => value(service, name, {}, object[name]) !== '')),
									named: (name, object) => (name === 'uuid' && other ? nameLater(other, object.uuid) : undefined),
									label: (name) => (name === 'uuid' && other ? other.title.replace(/s$/, '') : undefined),
									link: resource.itemPath && resource.read ? (object) => `${base}/${encodeURIComponent(idOf(resource.parameter, object))}` : undefined,
									sort: {
										can: (name) => orderOf(resource).includes(name),
										by: (name) => go({ order: name, direction: state.order === name && state.direction === 'asc' ? 'desc' : 'asc', page: 1 }),
										state: (name) => (state.order === name ? { asc: 'ascending', desc: 'descending' }[state.direction] : undefined),
									},
									pick: chosen?.pick(objects),
								},
					)
				: empty(resource, state, () => {
						search.value = '';
						drawFilters({});
						go({ search: '', filters: {}, page: 1 });
						search.focus();
					}),
		);
		const paged = takes(resource.list, 'limit');
		put(pages, objects.length > 0 && turner(found, state.search || filtering(state), state.page, paged ? last : 1, (page) => go({ page })));
	};

	const search = h('input', {
		type: 'search',
		id: 'search',
		value: state.search,
		placeholder: 'Search',
		'aria-label': `Search ${resource.title}`,
		autocomplete: 'off',
		input: later(() => go({ search: search.value, page: 1 })),
	});
	const below = h('input', { type: 'checkbox', id: 'recurse', change: () => go({ recurse: below.checked ? 'true' : '', page: 1 }) });
	below.checked = state.recurse === 'true';
	const kinds = h('div');
	const drawFilters = (set) =>
		put(
			kinds,
			filters(resource, set, (values) => go({ filters: values, page: 1 })),
		);
	drawFilters(state.filters);
	put(
		main,
		crumbs(resource, false),
		h(
			'header',
			{ class: 'title' },
			h('h1', { tabindex: '-1' }, resource.title),
			makers.map(({ to, title }) => h('a', { class: 'button primary', href: to }, title)),
			resource.create &&
				(may(resource.create)
					? h('a', { class: makers.length > 0 ? 'button' : 'button primary', href: `${base}/+new` }, makers.length > 0 ? 'With all fields' : 'New')
					: h('span', { class: 'denied', title: `It takes the access ${resource.create.access}` }, 'You may not create any')),
			h('p', { class: 'quiet' }, aboutOf(resource)),
		),
		h('div', { class: 'tools' }, takes(resource.list, 'search') && search, takes(resource.list, 'recurse') && h('label', {}, below, ' Tenants below too')),
		kinds,
		chosen?.element,
		rows,
		pages,
	);
	await fetchPage();
};
