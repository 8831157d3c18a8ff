// Rights explained: the editor of a policy, who may do something, and why something was refused.
import { call, erase, me } from './api.js';
import { allows, explain, fault, instances, matches } from './acl.js';
import { bodyOf, fill, may, mayDo, operations, resources, whom } from './definitions.js';
import { ask, h, later, lead, literal, plural, put, say } from './dom.js';
import { form, trouble } from './form.js';
import { section } from './item.js';
import { picker, settled } from './picker.js';
import { finder, starter } from './roles.js';
import { crumbs } from './shown.js';

const auth = () => [...resources.values()].find((r) => r.service.name === 'auth')?.service;

// concrete puts a word that nobody names in the place of each parameter.
const concrete = (access) => access.replace(/\{\w+\}/g, 'x');

const split = (patterns) => [patterns.filter((p) => !p.startsWith('!')), patterns.filter((p) => p.startsWith('!')).map((p) => p.slice(1))];

// stands reports whether a pattern, without its !, stands for an operation on some objects.
/** @type {(pattern: string, operation: Operation) => boolean} */
const stands = (pattern, { access }) => Boolean(access) && instances(pattern, access).length > 0;

// reach lists the operations for which a list of patterns may be enough.
const reach = (patterns) => {
	const [grants, denials] = split(patterns);
	return operations.filter(({ access }) => access && grants.some((p) => instances(p, access).some((one) => !denials.some((d) => matches(d, one)))));
};

// taken lists what an edit of a policy takes away: operations, each with an access of it that is lost. What it denies now, it denies to
// whoever has the policy, wherever else they have it from.
const taken = (before, after) => {
	const removed = split(before.filter((p) => !after.includes(p)))[0],
		[, had] = split(before),
		denied = split(after)[1].filter((d) => !had.includes(d));
	return operations
		.filter((o) => o.access)
		.flatMap((o) => {
			const lost =
				removed.flatMap((p) => instances(p, o.access)).find((one) => allows(before, one) && !allows(after, one)) ??
				denied.flatMap((d) => instances(d, o.access)).find((one) => !had.some((d) => matches(d, one)));
			return lost ? [{ ...o, lost }] : [];
		});
};

// editor is a list of patterns, each with what it says and what it would match among the operations that exist.
const editor = (patterns) => {
	const list = h('ol', { class: 'patterns' });
	const rows = [];
	const total = h('p', { 'aria-live': 'polite' });
	const count = () => {
		const found = reach(rows.map((row) => row.input.value.trim()).filter(Boolean));
		put(total, `Altogether ${found.length} of ${operations.filter((o) => o.access).length} operations.`);
	};
	const add = (value = '') => {
		const about = h('p', { class: 'about', 'aria-live': 'polite' }),
			box = h('ul');
		let found = [];
		const fillBox = () =>
			shown.open &&
			put(
				box,
				found.slice(0, 60).map((o) => h('li', {}, h('b', {}, o.method), ' ', h('code', {}, o.service.prefix + o.path), ' ', o.summary)),
				found.length > 60 && h('li', {}, `and ${found.length - 60} more`),
			);
		const summary = h('summary'),
			shown = h('details', { hidden: true, toggle: fillBox }, summary, box);
		const draw = () => {
			const pattern = input.value.trim(),
				wrong = pattern !== '' && fault(pattern) !== '';
			about.textContent = pattern === '' ? '' : explain(pattern);
			about.classList.toggle('wrong', wrong);
			found = pattern === '' || wrong ? [] : operations.filter((o) => stands(pattern.replace(/^!/, ''), o));
			shown.hidden = pattern === '' || wrong;
			put(summary, found.length === 0 ? 'No operation of this gateway' : plural(found.length, 'operation'));
			fillBox();
		};
		const typed = later(() => {
			draw();
			count();
		}, 120);
		const input = h('input', {
			value,
			spellcheck: 'false',
			autocomplete: 'off',
			class: 'code',
			'aria-label': 'Pattern',
			placeholder: 'confd.users.*.read',
			input: typed,
		});
		const row = {
			input,
			remove: () => {
				rows.splice(rows.indexOf(row), 1);
				row.element.remove();
			},
			element: h(
				'li',
				{},
				h(
					'div',
					{ class: 'pattern' },
					input,
					h(
						'button',
						{
							type: 'button',
							click: () => {
								row.remove();
								count();
							},
						},
						'Remove',
					),
				),
				about,
				shown,
			),
		};
		rows.push(row);
		list.append(row.element);
		draw();
		return input;
	};
	// begin adds patterns, in the place of those that are empty.
	const begin = (some) => {
		for (const row of rows.filter((one) => one.input.value.trim() === '')) row.remove();
		for (const pattern of some) add(pattern);
		count();
	};
	begin(patterns);
	if (patterns.length === 0) add();
	return {
		element: h(
			'fieldset',
			{ class: 'editor' },
			h('legend', {}, 'What it allows'),
			h(
				'p',
				{},
				'Each line is a pattern: words between dots. ',
				h('code', {}, '*'),
				' is any one word, ',
				h('code', {}, '#'),
				' one or more, ',
				h('code', {}, 'me'),
				' the user themselves. ',
				h('code', {}, '!'),
				' in front denies, and a denial always wins.',
			),
			list,
			finder((pattern) => begin([pattern])),
			h('p', {}, h('button', { type: 'button', click: () => add().focus() }, 'Add a pattern')),
			total,
		),
		read: () => rows.map((row) => row.input.value.trim()).filter(Boolean),
		begin,
	};
};

// policy is the page of one policy, or of a new one.
/** @param {Resource} resource */
export const policy = async (main, resource, id) => {
	const { service } = resource,
		path = id && service.prefix + fill(resource.itemPath, id);
	const latest = async () => {
		const { data, headers } = await call('GET', path);
		return { object: data, tag: headers.get('ETag') };
	};
	let before, tag;
	if (id) {
		try {
			({ object: before, tag } = await latest());
		} catch (problem) {
			put(
				main,
				crumbs(resource),
				h('h1', { tabindex: '-1' }, 'Not shown'),
				trouble(problem, () => policy(main, resource, id)),
			);
			return;
		}
	}
	const versioned = (version) => (version ? { 'If-Match': version } : {});
	const schema = bodyOf(service, before ? resource.update : resource.create);
	const own = editor(before?.acl ?? []);
	const patterns = { ...own, name: 'acl', label: 'What it allows', before: before?.acl, refuse: () => {}, find: () => undefined };
	const send = async (body, version) => {
		if (before) {
			if (Object.keys(body).length === 0) return say('Nothing was changed.');
			if (body.acl && !(await confirmed(before, body.acl))) {
				say('Nothing was changed.');
				return false;
			}
			await call('PUT', path, { body, headers: versioned(version) });
			await policy(main, resource, id);
			main.querySelector('button[type="submit"]')?.focus({ preventScroll: true });
			return say('Saved. Tokens that are in use have the new rights already.');
		}
		const { data } = await call('POST', service.prefix + resource.path, { body: { ...body, acl: body.acl ?? [] } });
		return lead(`#/${resource.key}/${data.uuid}`, `The policy ${data.name} was created.`);
	};
	const filled = form({
		service,
		schema,
		list: resource.list,
		before,
		version: { tag },
		latest: before && latest,
		hidden: ['acl', 'uuid'],
		more: [patterns],
		action: before ? 'Save' : 'Create',
		locked: before && (before.read_only || !may(resource.update, id)),
		send,
	});
	put(
		main,
		crumbs(resource),
		h(
			'header',
			{ class: 'title' },
			h('h1', { tabindex: '-1' }, before?.name ?? 'New policy'),
			before &&
				h(
					'button',
					{
						type: 'button',
						class: 'danger',
						disabled: before.read_only || !may(resource.remove, id),
						click: async () => {
							if (!(await ask(`Delete the policy ${before.name}?`, await losses(before, [])))) return;
							try {
								const there = await erase(path, { headers: versioned(tag) });
								lead(`#/${resource.key}`, `The policy ${before.name} was ${there ? '' : 'already '}deleted.`);
							} catch (problem) {
								if (problem.status === 412) await policy(main, resource, id);
								say(
									problem.status === 412
										? 'Somebody else has changed this policy since you opened it. It was not deleted: this is how it is now.'
										: trouble(problem),
									true,
								);
							}
						},
					},
					'Delete',
				),
		),
		before?.read_only
			? h('p', { class: 'denied' }, 'This policy belongs to the system, or to a tenant above: it cannot be changed here.')
			: before && !may(resource.update, id)
				? h('p', { class: 'denied' }, 'You may see this, and not change it.')
				: !before && !may(resource.create)
					? h('p', { class: 'denied' }, `Your token does not have the access ${resource.create?.access}: the gateway will refuse this.`)
					: '',
		!before &&
			starter(({ name, acl }) => {
				own.begin(acl);
				const field = /** @type {HTMLInputElement | null} */ (filled.querySelector('[id^="name"]'));
				if (field && !field.value) field.value = name;
			}),
		filled,
		before && usedBy(resource, before),
	);
};

// usedBy are the parts of a policy's page for who has it by themselves, and for the groups whose members have it. Its links are theirs.
const usedBy = (resource, object) => {
	const kinds = ['auth/groups', 'auth/users'].flatMap((key) => /** @type {any} */ (resources.get(key)) ?? []).filter((r) => may(r.list));
	const parts = kinds.map((r) =>
		section({
			resource,
			id: object.uuid,
			state: { object },
			part: {
				...r.parts.find((p) => p.kind === 'link' && p.name === 'policies'),
				name: r.path.slice(1),
				title: r.title,
				parameter: r.parameter,
				reversed: true,
				source: async (page) => {
					const { data } = await call('GET', r.service.prefix + r.path, { query: { ...page, policy_uuid: object.uuid } });
					return { objects: data.items, total: data.filtered };
				},
			},
			renew: async () => true, // the policy stays as it is
			outdated: async (problem) => say(trouble(problem), true),
		}),
	);
	for (const part of parts) part.open = true;
	return h('section', { id: 'used-by' }, h('h2', {}, 'Used by'), parts);
};

// losses tells what an edit takes away, and from whom: from those who hold it through this policy alone and, what it denies now, from all
// who have the policy.
const losses = async (before, acl) => {
	const lost = taken(before.acl, acl),
		denies = split(acl.filter((p) => !before.acl.includes(p)))[1],
		names = new Map();
	const every = Math.ceil(lost.length / 48),
		asked = lost.filter((_, i) => i % every === 0);
	let others = asked.length < lost.length;
	const list = async (path, query) => {
		const { data } = await call('GET', auth()?.prefix + path, { query: { ...query, recurse: 'true', limit: 1000 } });
		others ||= (data.filtered ?? data.total) > data.items.length;
		return data.items;
	};
	try {
		const owners = new Set((denies.length > 0 ? await list('/users', { has_policy_uuid: before.uuid }) : []).map((user) => user.uuid));
		await Promise.all(
			asked.map(async ({ lost: access }) => {
				const denied = denies.some((d) => matches(d, access));
				for (const holder of await list('/access/holders', { access })) {
					if (denied ? owners.has(holder.user_uuid) : holder.through.every((t) => t.policy_uuid === before.uuid))
						names.set(holder.user_uuid, { name: holder.username ?? holder.user_uuid, lost: (names.get(holder.user_uuid)?.lost ?? 0) + 1 });
				}
			}),
		);
	} catch (problem) {
		if (!problem.messages) throw problem; // who may not ask is warned without names
	}
	const some = [...names.values()].map(({ name }) => name).sort(),
		all = [...names.values()].every((one) => one.lost === asked.length);
	return h(
		'div',
		{},
		h(
			'p',
			{},
			lost.length === 0 ? 'No operation of this gateway is lost.' : `It takes away ${plural(lost.length, 'operation')}, altogether or on some objects:`,
		),
		lost.length > 0 &&
			h(
				'ul',
				{},
				lost.slice(0, 8).map((o) => h('li', {}, h('code', {}, o.lost === concrete(o.access) ? o.access : o.lost), ' ', o.summary)),
				lost.length > 8 && h('li', {}, `and ${lost.length - 8} more`),
			),
		some.length > 0 &&
			h(
				'p',
				{},
				h('b', {}, `${some.slice(0, 10).join(', ')}${some.length > 10 ? ` and ${some.length - 10} more` : ''}${others ? ', and perhaps others,' : ''}`),
				` will not be able to do ${all ? 'this' : 'some of this'} any more.`,
			),
		some.length === 0 && others && h('p', {}, 'So many users may do this that nobody is named here.'),
	);
};

const confirmed = async (before, acl) => {
	const taken = before.acl.filter((p) => !p.startsWith('!') && !acl.includes(p)).length > 0 || acl.some((p) => p.startsWith('!') && !before.acl.includes(p));
	return !taken || ask('This takes something away', await losses(before, acl), 'Save');
};

const through = (sources) =>
	sources.length === 0
		? ''
		: h(
				'ul',
				{},
				sources.map((s) =>
					h(
						'li',
						{},
						h('code', {}, s.pattern),
						' in the policy ',
						h('a', { href: `#/auth/policies/${s.policy_uuid}` }, s.policy_name),
						s.group_uuid ? [' through the group ', h('a', { href: `#/auth/groups/${s.group_uuid}` }, s.group_name)] : ' of the user',
					),
				),
			);

// asked is a field of a question.
const asked = (id, label, ...content) => h('div', { class: 'field' }, h('label', { for: id }, label), content);

// question shows a form with a question, which run answers in box.
const question = (main, title, hint, run, fields, box) => {
	const submit = (event) => {
		event.preventDefault();
		run();
	};
	put(
		main,
		h('h1', { tabindex: '-1' }, title),
		h('form', { method: 'post', class: 'question', submit }, fields, h('button', { type: 'submit', class: 'primary' }, 'Ask')),
		h('p', { class: 'quiet' }, hint),
		box,
	);
};

// who tells who has an access.
export const who = async (main, query) => {
	const box = h('div', { 'aria-live': 'polite' });
	const names = h(
		'datalist',
		{ id: 'accesses' },
		[...new Set(operations.map((o) => o.access).filter(Boolean))].sort().map((value) => h('option', { value })),
	);
	const input = h('input', {
		id: 'access',
		name: 'access',
		class: 'code',
		required: true,
		list: 'accesses',
		value: query.get('access') ?? '',
		placeholder: 'confd.voicemails.5.delete',
		spellcheck: 'false',
	});
	const below = h('input', { type: 'checkbox', id: 'below' });
	below.checked = query.get('recurse') === 'true';
	const run = async () => {
		if (!input.value) return;
		history.replaceState(null, '', `#/who?${new URLSearchParams({ access: input.value, ...(below.checked && { recurse: 'true' }) })}`);
		const access = concrete(input.value),
			recurse = below.checked ? 'true' : '';
		const found = h('div'),
			more = h('button', { type: 'button', click: () => show() }, 'More');
		let shown = 0;
		const show = async () => {
			more.disabled = true;
			try {
				const { data } = await call('GET', `${auth()?.prefix}/access/holders`, { query: { access, recurse, offset: shown } });
				const above = data.above > 0 && h('p', { class: 'quiet' }, `${data.above} more of tenants above, who may act here.`);
				if (shown === 0) put(box, h('p', {}, explain(access).replace(/^May/, `${plural(data.total, 'user')} may`)), above, found, h('p', {}, more));
				found.append(
					...data.items.map((holder) =>
						h(
							'section',
							{ class: 'holder' },
							h('h2', {}, h('a', { href: `#/auth/users/${holder.user_uuid}` }, holder.username ?? holder.user_uuid)),
							through(holder.through),
						),
					),
				);
				shown += data.items.length;
				more.hidden = data.items.length === 0 || shown >= data.total;
				more.disabled = false;
			} catch (problem) {
				put(box, trouble(problem));
			}
		};
		await show();
	};
	question(
		main,
		'Who may do this?',
		'An access is what an operation takes; the API explorer tells it of each.',
		run,
		[asked('access', 'Access', input, names), h('label', {}, below, ' Tenants below too')],
		box,
	);
	await run();
};

// guess answers from what this page knows, for a user who may not ask the gateway: the definitions, and the patterns of the own token.
const guess = (method, path) => {
	const shape = (o) => new RegExp('^' + literal(o.service.prefix + o.path).replace(/\\\{\w+\\\}/g, '([^/]+)') + '/?$');
	const found = operations.filter((o) => o.method === method && shape(o).test(path)).sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
	if (!found) return h('p', {}, 'No operation of this gateway is known for this request. Is the path complete?');
	if (!found.access) return h('p', {}, 'This operation asks for no token.');
	const [, ...values] = (path.match(shape(found)) ?? []).map(decodeURIComponent),
		access = found.access.replace(/\{\w+\}/g, () => values.shift());
	const denial = me?.acl.find((p) => p.startsWith('!') && matches(p.slice(1), access, me)),
		grant = me?.acl.find((p) => !p.startsWith('!') && matches(p, access, me));
	const allowed = !denial && grant;
	return [
		h('p', { class: allowed ? 'verdict good' : 'verdict bad' }, allowed ? 'Your token allows it' : 'Refused'),
		h('p', {}, `${found.summary}: it takes the access `, h('code', {}, access), '.'),
		h(
			'p',
			{},
			denial
				? ['Your token has the pattern ', h('code', {}, denial), ', which denies it.']
				: grant
					? ['Your token has the pattern ', h('code', {}, grant), '.']
					: 'No pattern of your token stands for it.',
		),
		h(
			'p',
			{},
			allowed
				? `If it was refused all the same, another rule decides, such as what only the master tenant may do: ask ${whom()}.`
				: `To be allowed it, ask ${whom()}.`,
		),
		mayDo('list_access_holders') && h('p', {}, h('a', { href: `#/who?${new URLSearchParams({ access })}` }, 'Who may do this?')),
	];
};

// why tells what decides about a request.
export const why = async (main, query) => {
	const box = h('div', { 'aria-live': 'polite' });
	const method = h(
		'select',
		{ id: 'method' },
		['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH'].map((m) => h('option', { value: m, selected: m === query.get('method') }, m)),
	);
	const path = h('input', {
		id: 'path',
		class: 'code',
		required: true,
		value: query.get('path') ?? '',
		placeholder: '/api/confd/1.1/users',
		spellcheck: 'false',
	});
	const users = resources.get('auth/users'),
		attributes = { id: 'user', placeholder: me?.username, 'aria-describedby': 'user-error' };
	const user =
		users?.list && may(users.list)
			? picker(users, (u) => u.uuid, attributes, { before: query.get('user_uuid') ?? '' })
			: ((input) => ({ input, element: input, read: () => input.value }))(
					h('input', { ...attributes, value: query.get('user_uuid') ?? '', spellcheck: 'false' }),
				);
	const unknown = h('span', { class: 'error', id: 'user-error', role: 'alert' });
	const run = async () => {
		if (!path.value) return;
		await settled(main);
		const other = user.read();
		put(unknown, other instanceof Error && other.message);
		if (other instanceof Error) return user.input.focus();
		const question = { method: method.value, path: path.value, ...(other && { user_uuid: other }) };
		history.replaceState(null, '', `#/why?${new URLSearchParams(question)}`);
		try {
			const { data } = await call('GET', `${auth()?.prefix}/explain`, { query: question });
			put(
				box,
				h('p', { class: data.allowed ? 'verdict good' : 'verdict bad' }, data.allowed ? 'Allowed' : 'Refused'),
				data.public
					? h('p', {}, 'This operation asks for no token.')
					: h('p', {}, 'It takes the access ', h('code', {}, data.required_access), '. ', explain(data.required_access).replace(/^May/, 'Who has it may')),
				data.pattern
					? h('p', {}, 'What decides is the pattern ', h('code', {}, data.pattern), ': ', explain(data.pattern))
					: !data.public &&
							h('p', {}, data.allowed ? 'The patterns that the user holds stand for all of it, together.' : 'No pattern that the user holds matches it.'),
				through(data.through ?? []),
				data.refusal && h('p', {}, `${data.refusal}.`),
				data.required_access && h('p', {}, h('a', { href: `#/who?${new URLSearchParams({ access: data.required_access })}` }, 'Who may do this?')),
			);
		} catch (problem) {
			put(box, problem.status === 403 && !other ? guess(method.value, path.value) : trouble(problem));
		}
	};
	question(
		main,
		'Why was I refused?',
		'What was asked, as the gateway has refused it. The answer names the pattern that decides, and where it comes from.',
		run,
		[asked('method', 'Method', method), asked('path', 'Path', path), asked('user', 'Another user', user.element, unknown)],
		box,
	);
	await run();
};
