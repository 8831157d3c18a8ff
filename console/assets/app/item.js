// The page of one object: its fields, its parts and its links.
import { call, erase, leavePage } from './api.js';
import {
	alone,
	answer,
	bodyOf,
	fill,
	idOf,
	keyOf,
	leadsOn,
	may,
	referred,
	resolve,
	resources,
	sectionOf,
	takes,
	target,
	undoing,
	whom,
} from './definitions.js';
import { ask, brief, byTheme, h, lead, plural, put, same, say, tick, words } from './dom.js';
import { fields, valuesOf } from './fields.js';
import { form, refused, trouble } from './form.js';
import { hear, upload } from './hear.js';
import { columnsOf, kept, listed, pager, table } from './list.js';
import * as login from './login.js';
import { picker, settled } from './picker.js';
import { all, crumbs, facts, nameLater, titled } from './shown.js';

// versioned is the header of a change of what was read as this version.
const versioned = (tag) => (tag ? { 'If-Match': tag } : {});

// read returns an object and its version.
const read = async (path) => {
	const { data, headers } = await call('GET', path);
	return { object: data, tag: headers.get('ETag') };
};

// tenantOf is the tenant whose objects an object may name: its own or, of what is below a tenant and no object of one, itself.
const tenantOf = (object) => object.tenant_uuid ?? (object.parent_uuid && object.uuid);

/** @param {Resource} resource */
export const create = (main, resource) => {
	put(
		main,
		crumbs(resource),
		h('h1', { tabindex: '-1' }, resource.create?.summary ?? 'New'),
		refused(resource.create),
		form({
			service: resource.service,
			schema: bodyOf(resource.service, resource.create),
			list: resource.list,
			key: keyOf(resource.service, resource.itemPath),
			action: 'Create',
			send: async (body) => {
				const query = { recursive: takes(resource.create, 'recursive') ? 'true' : '' };
				const { data } = await call('POST', resource.service.prefix + resource.path, { query, body });
				const id = idOf(resource.parameter, data ?? {});
				lead(resource.read && id !== undefined ? `#/${resource.key}/${encodeURIComponent(id)}` : `#/${resource.key}`, `${brief(data) || 'It'} was created.`);
			},
		}),
	);
};

// about tells of an object what its form does not.
const about = (resource, object) => [
	resource.key === 'confd/schedules' &&
		!object.open_periods.length &&
		h('p', { class: 'about wrong' }, 'It never opens: it has no open period, and all calls go where they go while it is closed.'),
	glances[resource.key] && glance(glances[resource.key], object),
];

// glances tell of a person, who may be a telephone user, a login, or both, and of what has members and numbers. Few pages need them.
const glances = {
	'confd/users': 'show',
	'auth/users': 'person',
	'confd/groups': 'group',
	'confd/queues': 'queue',
	'confd/switchboards': 'switchboard',
	'confd/agents': 'agent',
	'confd/callpickups': 'pickup',
	'confd/callfilters': 'filter',
	'confd/conferences': 'group',
	'confd/trunks': 'trunk',
};
const glance = (of, object) => {
	const place = h('section', { class: 'glance', 'aria-label': 'At one look' });
	import('./glance.js').then((all) => all[of](place, object));
	return place;
};

// themes are what the parts of an object are about, by their names.
/** @type {[string, RegExp][]} */
const themes = [
	['Telephones and numbers', /^(login|lines|extensions|endpoints|applications|funckeys|callerids|ranges|contexts)/],
	['When somebody calls', /^(calls|forwards|services|fallbacks|schedules|trunks|blocklist)/],
	['Signing in', /^(emails|external$|users\/password|password|second_factor|sessions|tokens)/],
	[
		'Members, groups and rights',
		/^(groups|members|callers|interceptors|targets|users|callpermissions|policies|agents|queues|switchboards|recipients|surrogates)/,
	],
	['Voicemail', /^voicemail/],
	['More', /^/],
];

// themed puts many parts below headings: first what the object has, and last what it has nothing of.
const themed = (all) => {
	const rank = (part) => (part.open ? 0 : part.classList.contains('none') ? 2 : 1),
		place = (part) => daily.indexOf(part.getAttribute('data-name')),
		parts = all.sort((a, b) => rank(a) - rank(b) || place(a) - place(b));
	if (parts.length < 5) return parts;
	return byTheme(themes, parts, (part) => part.getAttribute('data-name')).flatMap(([title, some]) => [h('h2', {}, title), ...some]);
};

/** @param {Paged} resource */
export const show = async (main, resource, id) => {
	const path = resource.service.prefix + fill(resource.itemPath, id);
	let state; // the object as this page shows it, and its version
	try {
		state = await read(path);
	} catch (problem) {
		put(
			main,
			crumbs(resource),
			h('h1', { tabindex: '-1' }, 'Not shown'),
			trouble(problem, () => show(main, resource, id)),
		);
		return;
	}
	const { object } = state,
		details = h('div', {}, about(resource, object)),
		written = h('div', {}, facts(resource, object));
	// renew takes over the version that a change of these attributes has made, unless somebody else has changed others meanwhile.
	const renew = async (names) => {
		const now = await read(path);
		if (!Object.keys({ ...state.object, ...now.object }).every((name) => names.includes(name) || same(state.object[name], now.object[name]))) return false;
		Object.assign(state, now);
		put(details, about(resource, now.object));
		put(written, facts(resource, now.object));
		return true;
	};
	const again = (part) => redraw(main, () => show(main, resource, id), part);
	// outdated handles the refusal of a change that was made from an older version: the page is drawn anew, and says so.
	const outdated = async (problem, part) => {
		if (problem.status === 412) await again(part);
		say(
			problem.status === 412
				? 'Somebody else has changed this since you opened it. Nothing was done: this is how it is now. Look at it, and do it again.'
				: trouble(problem),
			true,
		);
	};
	let asking = false;
	const remove = async ({ currentTarget: button }) => {
		if (asking) return; // a double click
		asking = true;
		const more = takes(resource.remove, 'recursive') && tick(alone);
		const final = h('p', {}, 'This cannot be undone.');
		try {
			const large = takes(resource.remove, 'dry_run') && (await foreseen(path));
			if (!button.isConnected) return; // the page was left
			if (
				!(await (large?.objects
					? ask(`Delete ${brief(object)} and all that it has?`, [goes(large), final], 'Delete all of it', large.name || id)
					: ask(`Delete ${brief(object)}?`, [large && leads(resource, large), final, more && more.element])))
			)
				return;
			leavePage(); // nothing is asked any more about what goes
			const there = await erase(path, { query: { recursive: more && more.ticked() ? 'true' : '' }, headers: versioned(state.tag) });
			lead(`#/${resource.key}`, `${brief(object)} was ${there ? '' : 'already '}deleted.`);
		} catch (problem) {
			if (!problem.messages) throw problem;
			await outdated(problem);
		} finally {
			asking = false;
		}
	};
	const update = resource.update && may(resource.update, id),
		files = resource.parts.filter((part) => part.kind === 'files').map((part) => part.name); // which have a part of their own
	put(
		main,
		crumbs(resource),
		h(
			'header',
			{ class: 'title' },
			titled(resource, object, id),
			past(resource, id),
			resource.remove &&
				h(
					'button',
					{
						type: 'button',
						class: 'danger',
						disabled: !may(resource.remove, id),
						title: may(resource.remove, id) ? '' : `It takes ${resource.remove.access}: ask ${whom()}`,
						click: remove,
					},
					'Delete',
				),
		),
		resource.update && details,
		resource.update && !update && h('p', { class: 'denied' }, `You may see this, and not change it. To be allowed it, ask ${whom()}.`),
	);
	const whole = resource.update
		? form({
				service: resource.service,
				schema: bodyOf(resource.service, resource.update),
				list: resource.list,
				key: keyOf(resource.service, resource.itemPath),
				tenant: tenantOf(object),
				before: object,
				version: state,
				latest: () => read(path),
				hidden: writtenElsewhere(resource),
				locked: !update,
				send: async (body, version) => {
					if (Object.keys(body).length === 0) return say('Nothing was changed.');
					await call('PUT', path, { body, headers: versioned(version) });
					await again();
					return say('Saved.');
				},
			})
		: all(resource.service, resource.schema, Object.fromEntries(Object.entries(object).filter(([name]) => !files.includes(name))));
	const shown = resource.parts.filter(
		(part) => may(part.get ?? part.put ?? part.post, id) && !linkOf(resource, part) && !linked(resource, part) && !(part.ordered && single(object, part)),
	);
	const parts = themed([
		...(leadsOn(resource) ? [calls(resource, state)] : []),
		...login.sections(resource, object, again),
		...shown.map((part) => section({ resource, part, id, state, again, renew, outdated })),
	]);
	main.append(h('div', { class: 'sides' }, h('section', { class: 'whole' }, whole, resource.update && written), parts.length > 0 && h('div', {}, parts)));
};

// calls is the part of an object's page that shows where calls go from it.
const calls = (resource, state) => {
	const box = h('div');
	const draw = async () => (await import('./tree.js')).show(box, resource, state.object);
	const leads = /** @type {Paged} */ (resource).schema.properties ?? {};
	return h(
		'details',
		{
			class: 'part',
			'data-path': 'calls',
			'data-name': 'calls',
			open: wide() && Object.keys(leads).some((name) => /^(choices|(closed_)?destination)$/.test(name)), // which is all that these are for
			toggle: (event) => event.target.open && draw(),
		},
		h('summary', {}, 'Where calls go'),
		box,
	);
};

// foreseen is what a dry run of a delete answers; undefined, if there is nothing any more.
const foreseen = async (path) => {
	try {
		return (await call('DELETE', path, { query: { dry_run: 'true' } })).data;
	} catch (problem) {
		if (problem.status !== 404) throw problem;
		return undefined;
	}
};

// goes tells what a dry run of a delete has counted.
const goes = ({ objects, logged_in: loggedIn, sessions }) => [
	objects.length > 0
		? [
				h('p', {}, 'With it goes:'),
				h(
					'ul',
					{},
					objects.map(({ service, resource, count }) => {
						const of = resources.get(`${service}/${resource}`);
						return h('li', {}, `${count.toLocaleString()} × ${of ? `${of.title} (${sectionOf(of.service)})` : `${service} ${words(resource)}`}`);
					}),
				),
			]
		: h('p', {}, 'It has nothing else.'),
	sessions > 0 &&
		h(
			'p',
			{},
			`Logged in now, and logged out by this: ${loggedIn.map((u) => u.username ?? u.user_uuid).join(', ')}`,
			`${loggedIn.length < 100 ? '' : ', and others'} (${plural(sessions, 'session')}).`,
		),
];

// leads tells what a dry run of a delete has found that leads to an object.
const leads = ({ key }, { leading, others }) => {
	const [service] = key.split('/');
	const row = ({ resource, id, title }) => {
		const [owner, ...part] = resource.split('/'),
			whole = resources.get(`${service}/${resource}`),
			of = whole ?? resources.get(`${service}/${owner}`);
		if (!of) return h('li', {}, title || id);
		const link = h('a', { href: `#/${of.key}/${encodeURIComponent(id)}`, click: (event) => event.target.closest('dialog')?.close() }, title || id);
		const kind = whole ? of.title : (of.parts?.find((p) => p.name === part.join('/'))?.title ?? of.title);
		return h('li', {}, title || !may(of.read, id) ? link : nameLater(of, id, link), ` (${kind})`);
	};
	return (
		leading.length + others > 0 && [
			h('p', {}, 'These lead to it or use it now, and go on without it:'),
			h('ul', {}, leading.map(row), others > 0 && h('li', {}, leading.length > 0 ? plural(others, 'more object') : plural(others, 'object'))),
		]
	);
};

// past is a link to what the audit has about an object.
/** @param {Resource} resource */
const past = (resource, id) => {
	const audit = resources.get('auth/audit');
	return (
		audit &&
		audit !== resource &&
		takes(audit.list, 'about') &&
		may(audit.list) &&
		h('a', { class: 'button', href: `#/auth/audit?${new URLSearchParams({ about: `${resource.key}/${id}` })}` }, 'History')
	);
};

// redraw draws an object's page again, with the parts open or folded that were so, and the focus on this part, or on the object's own form.
const redraw = async (main, draw, focused) => {
	const open = new Map([...main.querySelectorAll('details.part')].map((d) => [d.dataset.path, d.open])),
		top = window.scrollY;
	await draw();
	if (!main.isConnected) return; // another page was opened meanwhile
	for (const part of main.querySelectorAll('details.part')) part.open = open.get(part.dataset.path) ?? part.open;
	const place = focused
		? main.querySelector(`details.part[data-path="${CSS.escape(focused.path)}"] > summary`)
		: main.querySelector('section.whole button[type="submit"]');
	place?.focus({ preventScroll: true });
	window.scrollTo(0, top);
};

// writtenElsewhere names the fields that a change of the object does not change: those for which its page has a part, its key, and what
// only a recursive change takes.
/** @param {Paged} resource */
const writtenElsewhere = (resource) => {
	const own = resource.schema.properties ?? {},
		sent = Object.keys(bodyOf(resource.service, resource.update).properties ?? {});
	const nested = resource.update?.parameters?.some((p) => p.name === 'recursive')
		? sent.filter((name) => !own[name] || resolve(resource.service, own[name]).readOnly)
		: [];
	return ['uuid', 'id', 'generate_login', ...nested, ...resource.parts.filter((p) => p.kind !== 'list').map((p) => p.name.split('/').at(-1))];
};

// linkOf returns the link that shows what a list has, if there is one.
/** @param {Paged} resource */
const linkOf = (resource, part) => part.kind === 'list' && resource.parts.find((p) => p.kind === 'link' && p.name === part.name);

// linked reports whether the page shows the one object of a part by a link already.
/** @param {Paged} resource */
const linked = (resource, part) => part.kind === 'shown' && resource.parts.some((p) => p.kind === 'link' && p.name === `${part.name}s`);

// typed is what was typed to add a link that was refused, by the link's path.
const typed = new Map();

// shownOf is what an object shows of a part; undefined, if it shows nothing of it.
const shownOf = (object, part) => {
	const inside = part.name.split('/').reduce((of, name) => of?.[name], object),
		own = attributesOf(part).find((name, i) => i < 4 && name in object);
	return inside ?? object[own];
};

// full reports whether something says anything: a list that has some, a destination, a forward that is on.
const full = (value) => {
	if (value == null || value === '' || value === false) return false;
	if (typeof value !== 'object') return true;
	if (Array.isArray(value)) return value.length > 0;
	return 'enabled' in value ? Boolean(value.enabled) : Object.entries(value).some(([name, v]) => name !== 'href' && full(v));
};

// has tells in a few words what an object shows of a part that is not opened; undefined, if it shows nothing of it.
const has = (object, part) => {
	const all = shownOf(object, part);
	if (all === undefined) return undefined;
	if (!full(all)) return 'none';
	if (!Array.isArray(all)) return (all.id ?? all.uuid) === undefined ? undefined : brief(all);
	const text = brief(all);
	return /[0-9a-f]{8}-[0-9a-f]{4}-/.test(text) ? String(all.length) : text || 'none'; // a name that nobody reads
};

// single reports whether an object has one of a part at most, which has no order.
const single = (object, part) => shownOf(object, part)?.length < 2;

// daily are the parts that one looks for, in this order, whether an object has anything of them or not.
const daily = ['forwards', 'services', 'fallbacks'];

// wide are the screens that have room for what an object has, beside its form.
const wide = () => matchMedia('(min-width: 1200px)').matches;

// section is one part of an object. It is fetched when it is opened.
export const section = (page) => {
	const { part } = page,
		box = h('div', {}, h('p', {}, 'Loading…')),
		summary = h('summary', { 'data-begin': may(part.put ?? part.post, page.id) && (part.kind === 'document' ? 'Set' : 'Add') }, part.title);
	// tell shows beside the title what the object has of the part; what it has nothing of is a line with which one begins.
	const tell = () => {
		const said = has(page.state.object, part);
		if (said === undefined) summary.removeAttribute('data-has');
		else summary.setAttribute('data-has', said);
		element.classList.toggle('none', said === 'none');
	};
	const draw = async () => {
		try {
			put(box, await contents[part.kind]({ ...page, changed }));
		} catch (problem) {
			put(box, trouble(problem, draw));
		}
	};
	// changed shows what a change has made of the part. If somebody else has changed the object meanwhile, the page is drawn anew.
	const changed = async (said) => {
		if (await page.renew(attributesOf(part))) {
			tell();
			await draw();
			summary.focus({ preventScroll: true });
		} else {
			await page.again(part);
		}
		say(said);
	};
	const element = h('details', { class: 'part', 'data-path': part.path, 'data-name': part.name, toggle: () => element.open && draw() }, summary, box);
	tell();
	element.open = wide() && (full(shownOf(page.state.object, part)) || daily.includes(part.name));
	return element;
};

// turned are an object and another one in the order in which a part's path names them.
const turned = (part, ...ids) => (part.reversed ? ids.reverse() : ids);
const at = (resource, part, ...ids) => resource.service.prefix + fill(part.path, ...turned(part, ...ids));

const contents = {
	// list shows what belongs to an object, such as its sessions, of which one can be ended.
	list: async ({ resource, part, id, changed }) => {
		const other = target(resource.service, part.name),
			{ service } = resource,
			[undo, undone] = undoing(`${service.name}/${part.name}`);
		const end = async (key) => {
			if (!(await ask(`${part.end.summary}?`, h('p', {}, 'This cannot be undone.'), undo))) return;
			try {
				await erase(service.prefix + fill(part.end.path, id, key));
				await changed(`${part.title}: one was ${undone}.`);
			} catch (problem) {
				say(trouble(problem), true);
			}
		};
		const ends = part.end &&
			may(part.end, id) && {
				all: '',
				one: (o) => h('button', { type: 'button', class: 'danger', 'aria-label': `${undo} ${brief(o)}`, click: () => end(idOf(part.parameter, o)) }, undo),
			};
		return pager(
			part.title,
			await listed(at(resource, part, id), part.get, part.items),
			(objects) => {
				if (objects.length === 0) return h('p', { class: 'quiet' }, 'There are none.');
				if (typeof objects[0] !== 'object')
					return h(
						'ul',
						{},
						objects.map((o) => h('li', {}, String(o))),
					);
				return table({
					service,
					schema: part.schema,
					columns: columnsOf(service, part.schema).filter((name) => !name.startsWith(`${resource.path.slice(1).replace(/s$/, '')}_`)), // which is this object
					objects,
					pick: ends,
					link: other?.read && ((o) => `#/${other.key}/${encodeURIComponent(idOf(other.parameter, o))}`),
				});
			},
			!takes(part.get, 'limit') || takes(part.get, 'search'),
		);
	},
	// shown is what nobody changes; some of it can be removed.
	shown: async ({ resource, part, id, changed }) => {
		const path = at(resource, part, id),
			{ data } = await call('GET', path);
		const remove = async () => {
			if (!(await ask(`${part.remove.summary}?`, h('p', {}, 'This cannot be undone.'), 'Remove'))) return;
			try {
				await erase(path);
				await changed(`${part.title}: removed.`);
			} catch (problem) {
				say(trouble(problem), true);
			}
		};
		return [
			all(resource.service, answer(resource.service, part.get), data),
			part.remove &&
				full(data) &&
				h('p', { class: 'actions' }, h('button', { type: 'button', class: 'danger', disabled: !may(part.remove, id), click: remove }, 'Remove')),
		];
	},
	document: async ({ resource, part, id, state, changed }) => {
		const path = at(resource, part, id),
			{ object: before, tag } = await read(path);
		return form({
			service: resource.service,
			schema: bodyOf(resource.service, part.put),
			key: keyOf(resource.service, part.path),
			tenant: tenantOf(state.object),
			inherits: true,
			locked: !may(part.put, id),
			before,
			version: { tag },
			latest: () => read(path),
			whole: true,
			send: async (body, version) => {
				await call('PUT', path, { body, headers: versioned(version) });
				await changed(`${part.title} saved.`);
			},
		});
	},
	// replaced is a list that has no version of its own: it is the object's.
	replaced: async ({ resource, part, id, state, changed }) => {
		const schema = bodyOf(resource.service, part.put),
			[name] = Object.keys(schema.properties ?? {});
		const path = resource.service.prefix + fill(resource.itemPath, id);
		const listIn = (o) => ({ [name]: part.name.split('/').reduce((value, word) => value?.[word], o) ?? o[name] ?? undefined });
		const latest = async () => {
			const now = await read(path);
			return { object: listIn(now.object), tag: now.tag };
		};
		return form({
			service: resource.service,
			schema,
			tenant: tenantOf(state.object),
			before: listIn(state.object),
			version: state,
			latest,
			whole: true,
			send: async (body, version) => {
				await call('PUT', at(resource, part, id), {
					body: schema.properties?.[name].type === 'array' ? { [name]: [], ...body } : body,
					headers: versioned(version),
				});
				await changed(`${part.title} saved.`);
			},
		});
	},
	// files are what calls hear of an object, each with a name: one hears, uploads and removes them one by one.
	files: async ({ resource, part, id, state, changed, outdated }) => {
		const files = shownOf(state.object, part) ?? [],
			place = h('p'),
			path = (name) => at(resource, part, id, name);
		const change = async (method, name, done, body = /** @type {any} */ (undefined)) => {
			try {
				await call(method, path(name), { body, headers: versioned(state.tag) });
				await changed(`${name} was ${done}.`);
			} catch (problem) {
				if (!problem.messages) throw problem;
				await outdated(problem, part);
			}
		};
		const remove = async (name) => {
			if (await ask(`Remove ${name}?`, h('p', {}, 'This cannot be undone.'), 'Remove')) await change('DELETE', name, 'removed');
		};
		const send = async (name, body) => {
			const there = files.some((one) => one.name === name);
			if (there && !(await ask(`Replace ${name}?`, h('p', {}, 'There is a file of this name already. This cannot be undone.'), 'Replace'))) return;
			await change('PUT', name, there ? 'replaced' : 'uploaded', body);
		};
		const button = (text, name, operation, click, kind = '') =>
			may(operation, id, name) && h('button', { type: 'button', class: kind, 'aria-label': `${text} ${name}`, click }, text);
		const one = ({ name }) =>
			h(
				'li',
				{},
				h('span', {}, name),
				button('Hear', name, part.get, () => hear(place, name, path(name), { headers: { Accept: '*/*' } })),
				button('Remove', name, part.remove, () => remove(name)),
			);
		const bare = (resolve(resource.service, resource.schema?.properties?.[part.name]?.items ?? {}).properties ?? {}).formats; // which tell the endings
		return [
			await pager(
				part.title,
				kept(files),
				(some, total) => (total > 0 ? h('ul', { class: 'links' }, some.map(one)) : h('p', { class: 'empty' }, 'There are none.')),
				true,
			),
			place,
			may(part.put, id) && h('p', { class: 'actions' }, upload('Upload', bare, send)),
		];
	},
	asked: async ({ resource, part, id, changed }) =>
		form({
			service: resource.service,
			schema: bodyOf(resource.service, part.post),
			whole: true,
			send: async (body) => {
				await call('POST', resource.service.prefix + part.path, { query: { [part.parameter]: id }, body });
				await changed(`${part.title}: done.`);
			},
		}),
	link: async ({ resource, part, id, state, changed, outdated }) => {
		const other = target(resource.service, part.parameter) ?? target(resource.service, part.name);
		const [source, searches] = await linkedTo(resource, part, id, state.object);
		// What a link tells of its own, such as how well an agent can something.
		const own = part.put.requestBody ? fields({ service: resource.service }, bodyOf(resource.service, part.put), undefined, []) : [];
		const tells = (o) => own.map(({ name, label }) => o[name] && `, ${(label ?? name).toLowerCase()} ${o[name]}`);
		let busy = false; // a second click would meet the version that the first one has made
		const change = async (method, path, done, text = '', body = /** @type {any} */ (undefined)) => {
			if (busy) return;
			busy = true;
			try {
				await call(method, path, { body, headers: part.reversed ? {} : versioned(state.tag) }); // which is of the object itself
				await changed(done);
			} catch (problem) {
				if (!problem.messages) throw problem;
				typed.set(at(resource, part, id, ''), text);
				await outdated(problem, part);
			} finally {
				busy = false;
			}
		};
		const one = (otherID) => at(resource, part, id, otherID);
		// end removes one link or, where there is no operation for one, all: an object that has several of them has no button.
		const end = (o, total) => {
			const otherID = idOf(part.parameter, o);
			const [operation, path] = part.remove ? [part.remove, one(otherID)] : [part.all, resource.service.prefix + fill(part.all?.path ?? '', id)];
			if (!operation || (!part.remove && total > 1)) return '';
			return h(
				'button',
				{
					type: 'button',
					'aria-label': `Remove ${brief(o)}`,
					disabled: !may(operation, ...turned(part, id, otherID)),
					click: () => change('DELETE', path, 'The link was removed.'),
				},
				'Remove',
			);
		};
		// nameOf is a link to an object: with its name, which the link may not tell.
		const nameOf = (o) => {
			const otherID = idOf(part.parameter, o),
				name = brief(o),
				link = h('a', { href: `#/${other.key}/${encodeURIComponent(otherID)}` }, name || String(otherID));
			return !name || name === String(otherID) ? nameLater(other, otherID, link) : link;
		};
		const attributes = { 'aria-label': `Add to ${part.title}`, placeholder: 'Type to find' };
		const chosen =
			other?.list && may(other.list)
				? picker(other, (o) => idOf(part.parameter, o), attributes, {
						makes: true,
						headers: state.object.tenant_uuid ? { 'Wazo-Tenant': state.object.tenant_uuid } : {},
					})
				: ((input) => ({ input, element: input, read: () => input.value }))(h('input', { ...attributes, autocomplete: 'off' }));
		chosen.input.value = typed.get(one('')) ?? '';
		typed.clear();
		return [
			await pager(
				part.title,
				source,
				(linked, total) =>
					total > 0
						? h(
								'ul',
								{ class: 'links' },
								linked.map((o) => h('li', {}, h('span', {}, other?.read ? nameOf(o) : brief(o), tells(o)), end(o, total))),
							)
						: h('p', { class: 'empty' }, 'There are none.'),
				searches,
			),
			h(
				'form',
				{
					method: 'post',
					class: 'add',
					submit: async (event) => {
						event.preventDefault();
						await settled(event.target);
						const value = chosen.read(),
							body = own.length > 0 ? valuesOf(own) : undefined;
						if (body instanceof Error) return undefined; // it is said beside the field
						if (value instanceof Error) say(value.message, true);
						else if (value) return change('PUT', one(value), 'The link was made.', chosen.input.value, body);
						return chosen.input.focus();
					},
				},
				chosen.element,
				own.length > 0 &&
					h(
						'div',
						{ class: 'fields' },
						own.map((f) => f.element),
					),
				h('button', { type: 'submit', disabled: !may(part.put, ...turned(part, id, undefined)) }, part.remove || part.all ? 'Add' : 'Change'),
			),
		];
	},
};

// attributesOf names the attributes in which an object can show a part.
const attributesOf = (part) => {
	const words = part.name.split('/'),
		last = words.at(-1);
	return [part.name.replaceAll('/', '_'), last, last.replace(/s$/, ''), part.name.replace(/s?\/|\//g, '_'), words[0]];
};

// linkedTo returns a source of the objects of a link, which are in the object itself or in the list beside it, and whether it can search.
const linkedTo = async (resource, part, of, object) => {
	if (part.source) return [part.source, true];
	const names = attributesOf(part).slice(0, 4),
		own = shownOf(object, part);
	if (own !== undefined) return [kept([own].flat().filter(Boolean)), true];
	const [id, key] =
		names
			.flatMap((name) => [
				[`${name}_uuid`, 'uuid'],
				[`${name}_id`, 'id'],
			])
			.find(([name]) => object[name] != null) ?? [];
	if (id) return [kept([{ [key]: object[id] }]), false];
	const beside = resource.parts.find((p) => p.kind === 'list' && p.name === part.name);
	return beside
		? [await listed(at(resource, beside, of), beside.get, beside.items), !takes(beside.get, 'limit') || takes(beside.get, 'search')]
		: [kept([]), false];
};

// itself is what a document's form calls by a name of its own: of one that is an object of a collection, such as the main phone number,
// the key of the object, which is sent as "phone_number_uuid".
/** @param {Resource} resource */
const itself = (resource, schema, object) =>
	Object.fromEntries(
		Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
			const { resource: other, by } = name in object ? {} : (referred(resource.service, name, resolve(resource.service, property)) ?? {});
			return other && resource.path.startsWith(other.path + '/') && object[by] != null ? [[name, object[by]]] : [];
		}),
	);

// document is the page of settings that exist once.
/** @param {Settings} resource */
export const document = async (main, resource) => {
	const path = resource.service.prefix + resource.path;
	const title = h('h1', { tabindex: '-1' }, resource.title);
	const schema = bodyOf(resource.service, resource.update);
	const latest = async () => {
		const now = await read(path);
		return { ...now, object: { ...now.object, ...itself(resource, schema, now.object) } };
	};
	let object, tag;
	try {
		({ object, tag } = await latest());
	} catch (problem) {
		if (problem.status !== 404) {
			put(main, crumbs(resource, false), title, trouble(problem));
			return;
		}
	}
	const some = Object.entries(object ?? {}).some(([name, value]) => name !== 'tenant_uuid' && value != null);
	const remove = async () => {
		if (!(await ask(`Delete: ${resource.title}?`, h('p', {}, 'This cannot be undone.')))) return;
		try {
			await call('DELETE', path, { headers: versioned(tag) });
		} catch (problem) {
			if (!problem.messages) throw problem;
			if (problem.status !== 412) return say(trouble(problem), true);
			await document(main, resource);
			return say('Somebody else has changed this since you opened it. It was not deleted: this is how it is now.', true);
		}
		await document(main, resource);
		return say(`${resource.title}: deleted.`);
	};
	put(
		main,
		crumbs(resource, false),
		resource.remove && some
			? h(
					'header',
					{ class: 'title' },
					title,
					h(
						'button',
						{
							type: 'button',
							class: 'danger',
							disabled: !may(resource.remove),
							title: may(resource.remove) ? '' : `It takes ${resource.remove.access}: ask ${whom()}`,
							click: remove,
						},
						'Delete',
					),
				)
			: title,
		!may(resource.update) ? h('p', { class: 'denied' }, `You may see this, and not change it. To be allowed it, ask ${whom()}.`) : '',
		some ? '' : h('p', { class: 'empty' }, 'Nothing is set yet.'),
		form({
			service: resource.service,
			schema,
			before: object,
			version: { tag },
			latest,
			whole: true,
			locked: !may(resource.update),
			send: async (body, version) => {
				await call('PUT', path, { body, headers: versioned(version) });
				await document(main, resource);
				say('Saved.');
				main.querySelector('button[type="submit"]').focus({ preventScroll: true });
			},
		}),
	);
};
