// The fields of forms, which are made from the schemas of the definitions: controls with what people read of them, and those inside of others.
import { bound, choice, clock, lines, named, numbers, offered, pairs, raw, reference, text, texts, toggle } from './controls.js';
import { kindOf, labelOf, properties, resolve, sectionOf, services } from './definitions.js';
import { brief, fresh, h, later, put, same, turner, words } from './dom.js';
import { value as shown } from './shown.js';
import { textsOf, week } from './week.js';

// hint says what may be entered: what the definition has for people, unless it is the label again ("The first name."), and the limits that
// it does not tell. Other fields that it names are called as the form shows them.
const hint = (context, name, schema) => {
	const limits = [];
	if (schema.minimum !== undefined && schema.minimum > 0) limits.push(`at least ${schema.minimum}`);
	if (schema.maximum !== undefined && schema.maximum < 2 ** 31 - 1) limits.push(`at most ${schema.maximum}`);
	if (schema.maxLength !== undefined && schema.maxLength < 64) limits.push(`up to ${schema.maxLength} characters`);
	if (
		schema.default !== undefined &&
		schema.default !== null &&
		!['object', 'boolean'].includes(typeof schema.default) &&
		schema.default !== '' &&
		!schema.enum
	)
		limits.push(`${schema.default} by default`);
	const label = labelOf(schema, name);
	const text = limits.join(', ');
	const description = saidFor(schema)
		.replaceAll('`', '')
		.replace(/\bnull\b/gi, (word) => (word === 'Null' ? 'Empty' : 'empty'))
		.replace(/(?<![{\w])[a-z]+(_[a-z0-9]+)+\b/g, (other) =>
			context.beside?.[other] ? `“${labelOf(resolve(context.service, context.beside[other]), other)}”` : other,
		);
	const again = description.toLowerCase() === `the ${label.toLowerCase()}.`;
	return [!again && description, text && text.charAt(0).toUpperCase() + text.slice(1) + '.'].filter(Boolean).join(' ');
};

// ranges are the parts of a pattern's set of characters that have a name; the longer ones come first.
const ranges = [
	['a-zA-Z', 'letters'],
	['A-Za-z', 'letters'],
	['A-Z', 'capital letters'],
	['a-z', 'small letters'],
	['0-9', 'digits'],
	[' ', 'spaces'],
];

// spelt adds to the refusal of a text what it may have, if its pattern is one set of characters: "Only letters and digits."
const spelt = (text, pattern) => {
	const [, set, least, most] = (/^Must match /.test(text) && pattern?.match(/^\^(?: \*)?\[([^\]\\^]+)\](?:\{(\d+),(\d+)\}|[+*])(?: \*)?\$$/)) || [];
	if (!set) return text;
	const parts = [];
	let signs = set;
	for (const [range, name] of ranges) {
		if (!signs.includes(range)) continue;
		parts.push(name);
		signs = signs.replace(range, '');
	}
	if (signs) parts.push([...signs].join(' '));
	const last = parts.pop();
	const told = `${text} Only ${[parts.join(', '), last].filter(Boolean).join(' and ')}${most ? `, from ${least} to ${most} of them` : ''}`;
	return told.endsWith('.') ? told : told + '.'; // which may be the last of the signs
};

// saidFor returns what people read about a field.
const saidFor = (schema) => schema['x-help'] ?? schema.description ?? '';

// field returns an input for a value of a schema: its element, read (undefined: leave it out; an Error: it cannot be read), refuse, which
// shows what the gateway says about it, and find, which returns the innermost field that a message is about. Before is the value until now.
/** @returns {Field} */
const field = (context, name, schema, before, required, fixed = false) => {
	const other = offered(context, name, schema)?.resource;
	const note =
		other && (!saidFor(schema) || /^(The (id|uuid|name|number) of (an?|the) [\w ]+|Its (id|uuid|number))\.$/i.test(saidFor(schema)))
			? ''
			: hint(context, name, schema);
	const said = /^(id|uuid)$/.test(name) && other ? other.title.replace(/s$/, '') : labelOf(schema, name).replace(other ? / (ID|UUID)$/ : /$^/, '');
	return labelled(name, said, (attributes) => controlFor(context, name, schema, before, attributes), { note, required, schema, fixed, had: before != null });
};

// labelled makes a field of a control, which make returns for the attributes of its input. Had says that it shows a value from the beginning.
/** @type {(name: string, said: string, make: (attributes: any) => Control, options?: Labelled) => Field} */
export const labelled = (name, said, make, { note: about = '', required = false, schema = {}, fixed = false, had = false } = {}) => {
	const id = fresh(name),
		error = h('span', { class: 'error', id: `${id}-error` });
	const describedby = [about && `${id}-hint`, `${id}-error`].filter(Boolean).join(' ');
	const control = make({ id, 'data-name': name, 'aria-describedby': describedby, required });
	if (fixed && control.input) control.input.disabled = true;
	const label = said + (required && control.input?.type !== 'checkbox' ? ' *' : ''); // a box is always filled in
	const note = about && h('small', { id: `${id}-hint` }, about);
	// Text may go on with what one can do about it.
	const refuse = (text, ...more) => {
		put(error, spelt(text, schema.pattern), more);
		control.input?.setAttribute('aria-invalid', String(text !== ''));
		if (text && control.input) control.input.focus();
	};
	const find = (path) => (path[0] === name ? (control.find?.(path.slice(1)) ?? self) : undefined);
	const self = { name, label: said, required, schema, input: control.input, first: had ? control.read() : undefined, read: control.read, refuse, find };
	if (control.group) {
		control.input?.setAttribute('aria-label', label);
		return { ...self, element: h('fieldset', {}, h('legend', {}, label), note, control.element, error) };
	}
	const row =
		control.input?.type === 'checkbox'
			? h('div', { class: 'field check' }, control.element, h('label', { for: id }, label), note, error)
			: h('div', { class: 'field' }, h('label', { for: id }, label), control.element, note, error);
	return { ...self, element: row };
};

// among returns the innermost of some fields that a path leads to.
export const among = (inputs, path) => inputs.reduce((found, input) => found ?? input.find(path), undefined);

/** @returns {Control} */
const controlFor = (context, name, schema, before, attributes) => {
	if (schema.enum && schema.enum.length > 1) return choice(schema, before, attributes);
	if (schema.discriminator) return variants({ ...context, of: undefined }, schema, before, attributes);
	if (schema.format === 'moment') return clock(before, attributes);
	if (schema.type === 'boolean' && schema.nullable && schema.default === undefined) {
		return choice({ ...schema, enum: [true, false], 'x-enum-labels': { true: 'Yes', false: 'No' } }, before, attributes);
	}
	if (schema.type === 'boolean') return toggle(schema, before, attributes);
	const other = offered(context, name, schema);
	if (other) return reference(context, other, schema, before, attributes);
	if (schema.type === 'integer' || schema.type === 'number')
		return text(name, schema, before, {
			...attributes,
			type: 'number',
			step: schema.type === 'integer' ? 1 : 'any',
			min: schema.minimum,
			max: schema.maximum > 2 ** 31 ? undefined : schema.maximum,
		});
	if (schema.type === 'string') return text(name, schema, before, attributes);
	if (schema.type === 'array') {
		const items = resolve(context.service, schema.items);
		if (items.properties?.week_days && !items.properties.destination && textsOf(before ?? [])) return week(before, attributes);
		if (items.type === 'array' && resolve(context.service, items.items).type === 'string') return pairs(before, attributes);
		if (items.type === 'integer') return numbers(before, attributes);
		return items.type === 'string'
			? lines(before, attributes)
			: items.properties
				? many({ ...context, of: name }, once(items), before, labelOf(schema, name))
				: raw(before, attributes);
	}
	if (schema.properties && Object.keys(schema.properties).length > 0) return group({ ...context, of: name }, schema, before);
	const entries = resolve(context.service, schema.additionalProperties);
	if (entries.properties) return keyed({ ...context, of: undefined }, entries, before);
	if (entries.type === 'string' || (texts(schema.example) && texts(before ?? {}))) return named(before, attributes);
	return raw(before, attributes);
};

// switchFirst puts what switches the rest on before that.
const switchFirst = (inside) => inside.sort((a, b) => Number(b.name === 'enabled') - Number(a.name === 'enabled')).map((f) => f.element);

// group is an object inside of another, whose fields lay puts in their places.
const group = (context, schema, before, lay = switchFirst) => {
	const inside = fields({ ...context, list: undefined, item: before }, schema, before, []);
	return {
		group: true,
		find: (path) => among(inside, path),
		element: lay(inside),
		read: () => {
			const value = valuesOf(inside, {});
			return value instanceof Error ? value : Object.keys(value).length > 0 || before ? { ...kept(context, schema, before), ...value } : undefined;
		},
	};
};

// kept is what an object had and its form does not show: it is sent as it was, but for what only the service writes.
const kept = (context, schema, before) => {
	const written = properties(context.service, schema)
		.filter(([, p]) => !p.readOnly)
		.map(([name]) => name);
	return Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => written.includes(name)));
};

// once is a schema of items that are picked once: by their UUIDs alone, if their numbers could be sent too.
const once = (schema) => {
	const { id, ...rest } = schema.properties ?? {};
	return id && rest.uuid && !(schema.required ?? []).includes('id') ? { ...schema, properties: rest } : schema;
};

// picksFirst puts what one picks before what one says of it.
const picksFirst = (inside) => inside.sort((a, b) => Number(/^(uu)?id$/.test(b.name)) - Number(/^(uu)?id$/.test(a.name))).map((f) => f.element);

const size = 25;

// many is a list of objects. Of a long one a page is shown, and the fields of the others are not made before they are.
const many = (context, schema, before, title) => {
	const list = h('div', { class: 'many' }),
		pages = h('nav', { class: 'pages', 'aria-live': 'polite', 'aria-label': `Pages of ${title}` });
	const search = h('input', {
		type: 'search',
		placeholder: 'Search',
		'aria-label': `Search ${title}`,
		autocomplete: 'off',
		input: later(() => turn(1)),
		keydown: (event) => {
			if (event.key === 'Enter') event.preventDefault();
		},
	}); // it saves nothing
	const tools = h('div', { class: 'tools' }, search);
	const ordered = !('priority' in (schema.properties ?? {})); // which says it otherwise
	let page = 1;
	const row = (value, made = value === undefined) => {
		let inside;
		const self = {
			// a row that was just added is found by any search
			has: (text) => made || brief(value).toLowerCase().includes(text),
			find: (path) => {
				self.show();
				return inside.find(path);
			},
			read: () => (inside ? (inside.read() ?? {}) : kept(context, schema, value)),
			show: () => {
				if (!self.element?.isConnected) turn(Math.ceil((shown().indexOf(self) + 1) / size) || turnTo(self));
			},
			draw: () => {
				if (!inside) {
					inside = group(context, schema, value, picksFirst);
					const press = (label, text, click) => h('button', { type: 'button', 'aria-label': `${label} ${brief(value)}`.trim(), click }, text);
					const move = (by, pressed) => {
						const at = rows.indexOf(self);
						rows.splice(at + by, 0, ...rows.splice(at, 1));
						turn(Math.ceil((shown().indexOf(self) + 1) / size));
						(pressed.disabled ? self.moves.find((one) => !one.disabled) : pressed)?.focus();
					};
					const remove = () => {
						rows.splice(rows.indexOf(self), 1);
						turn(page);
						button.focus();
					};
					self.moves = ordered ? [press('Up', '↑', (event) => move(-1, event.currentTarget)), press('Down', '↓', (event) => move(1, event.currentTarget))] : [];
					self.element = h('div', { class: 'row' }, inside.element, h('div', { class: 'moves' }, self.moves, press('Remove', '×', remove)));
				}
				return self.element;
			},
		};
		return self;
	};
	const rows = (before ?? []).map((value) => row(value));
	const shown = () => {
		const text = search.value.trim().toLowerCase();
		return text ? rows.filter((r) => r.has(text)) : rows;
	};
	// turnTo ends the search, and returns the page of a row.
	const turnTo = (one) => {
		search.value = '';
		return Math.ceil((rows.indexOf(one) + 1) / size);
	};
	const turn = (to) => {
		const chosen = shown(),
			last = Math.max(1, Math.ceil(chosen.length / size));
		page = Math.min(to, last);
		put(
			list,
			chosen.slice((page - 1) * size, page * size).map((r) => r.draw()),
		);
		for (const r of rows) r.moves?.forEach((one, down) => (one.disabled = r === (down ? rows.at(-1) : rows[0])));
		pages.hidden = tools.hidden = rows.length <= size && !search.value;
		if (pages.hidden) return put(pages);
		return put(pages, turner(chosen.length, search.value, page, last, turn));
	};
	const button = h(
		'button',
		{
			type: 'button',
			click: () => {
				const added = row();
				rows.push(added);
				turn(turnTo(added));
				added.element.querySelector('input, select, textarea')?.focus();
			},
		},
		'Add one',
	);
	turn(1);
	return {
		group: true,
		find: ([at, ...path]) => rows[at]?.find(path),
		element: [tools, list, pages, button],
		read: () => {
			const values = [];
			for (const one of rows) {
				const value = one.read();
				if (value instanceof Error) {
					one.show();
					one.read(); // says it again, and has the focus
					return value;
				}
				values.push(value);
			}
			return values.length === 0 && !before?.length ? undefined : values;
		},
	};
};

// keyed is a map of objects, such as function keys by their positions: a table with a row for each, in the order of the keys. What is
// inherited is shown as it is; changed here, it is one's own.
const keyed = (context, schema, before) => {
	const columns = properties(context.service, schema)
		.filter(([name, p]) => !p.readOnly && name !== 'inherited')
		.sort(([, a], [, b]) => Number(a.type === 'boolean') - Number(b.type === 'boolean') || Number(!a.discriminator) - Number(!b.discriminator));
	const title = words(context.key ?? 'key'),
		rows = [];
	const body = h('tbody');
	const number = (row) => Number(row.key.value);
	const cell = (label, ...content) => h('td', { 'data-label': label }, content);
	const remove = (row) => {
		const at = rows.indexOf(row);
		rows.splice(at, 1);
		row.element.remove();
		(rows[Math.min(at, rows.length - 1)]?.element.querySelector('button') ?? button).focus();
	};
	const add = (key, value, after) => {
		const id = fresh('row'),
			error = h('span', { class: 'error', id: `${id}-error` });
		const row = {
			key: h('input', { id, class: 'short', inputmode: 'numeric', 'aria-label': title, 'aria-describedby': `${id}-error`, autocomplete: 'off', value: key }),
		};
		row.refuse = (text) => {
			error.textContent = text;
			row.key.setAttribute('aria-invalid', String(text !== ''));
			if (text) row.key.focus();
		};
		row.cells = columns.map(([name, property]) => inCell(context, name, property, value?.[name], (schema.required ?? []).includes(name)));
		const drop = h('button', { type: 'button', click: () => remove(row) }, 'Remove');
		const label = () => {
			for (const c of row.cells) c.label(`${c.title}, ${title.toLowerCase()} ${row.key.value}`);
			drop.setAttribute('aria-label', `Remove ${title.toLowerCase()} ${row.key.value}`);
		};
		row.key.addEventListener('input', label);
		label();
		row.element = h(
			'tr',
			{},
			cell(title, h('div', {}, row.key, error)),
			row.cells.map((c) => cell(c.title, c.element)),
			cell('', drop),
		);
		columns.forEach(([, property], i) => property['x-when'] && bound(row.cells[i].input, property, row.element));
		row.read = () => valuesOf(row.cells, undefined);
		rows.push(row);
		after ? after.replaceWith(row.element) : body.append(row.element);
		return row;
	};
	const addInherited = (key, value) => {
		const element = h(
			'tr',
			{},
			cell(title, key),
			columns.map(([name, p]) => cell(labelOf(p, name), h('span', {}, shown(context.service, name, p, value[name])))),
			cell(
				'',
				h(
					'button',
					{
						type: 'button',
						title: 'It comes from a template',
						'aria-label': `Change here: ${title.toLowerCase()} ${key}`,
						click: () => {
							inherited.delete(key);
							add(key, value, element).cells[0].focus();
						},
					},
					'Change here',
				),
			),
		);
		inherited.add(key);
		body.append(element);
	};
	const inherited = new Set();
	for (const [key, value] of Object.entries(before ?? {})) context.inherits && value.inherited ? addInherited(key, value) : add(key, value);
	const button = h(
		'button',
		{
			type: 'button',
			click: () => {
				const last = Math.max(0, ...rows.map(number).filter(Number.isFinite), ...[...inherited].map(Number).filter(Number.isFinite));
				add(String(last + 1)).cells[0].focus();
			},
		},
		`Add a ${title.toLowerCase()}`,
	);
	const table = h(
		'div',
		{ class: 'scroll' },
		h(
			'table',
			{ class: 'keyed' },
			h(
				'thead',
				{},
				h(
					'tr',
					{},
					h('th', { scope: 'col' }, title),
					columns.map(([name, p]) => h('th', { scope: 'col' }, labelOf(p, name))),
					h('td', {}, ' '),
				),
			),
			body,
		),
	);
	return {
		group: true,
		element: [table, button],
		find: ([key, ...path]) => {
			const row = rows.find((r) => r.key.value === key);
			return row && (among(row.cells, path) ?? row);
		},
		read: () => {
			const values = {};
			for (const row of rows) {
				const key = row.key.value.trim();
				row.refuse('');
				const wrong = key === '' ? 'It is missing.' : key in values ? `There is another ${title.toLowerCase()} ${key}.` : '';
				const value = wrong ? new Error(wrong) : row.read();
				if (wrong) row.refuse(wrong);
				if (value instanceof Error) return value;
				values[key] = value;
			}
			return values;
		},
	};
};

// inCell is a field in a cell of a table, which gets its label later.
const inCell = (context, name, schema, before, required) => {
	const id = fresh(name),
		error = h('span', { class: 'error', id: `${id}-error` });
	const control = controlFor(context, name, schema, before, { id, 'aria-describedby': `${id}-error`, required });
	const self = {
		name,
		title: labelOf(schema, name),
		read: control.read,
		input: control.input,
		element: h('div', {}, control.element, error),
		find: (path) => (path[0] === name ? (control.find?.(path.slice(1)) ?? self) : undefined),
		focus: () => control.input?.focus(),
		label: (text) => control.input?.setAttribute('aria-label', text),
		refuse: (text) => {
			error.textContent = text;
			control.input?.setAttribute('aria-invalid', String(text !== ''));
			if (text) control.input?.focus();
		},
	};
	return self;
};

// line lays the fields of one kind beside it: the one that it must have without a label, since the kind tells what it is, and the others where one
// asks for them.
const line = (inside) => {
	const first = inside.filter((f) => f.required),
		others = inside.filter((f) => !f.required),
		[only] = first.length === 1 ? first : [];
	if (only?.input?.placeholder === '') only.input.placeholder = only.label.replace(/ \*$/, '');
	only?.element.classList.add('bare');
	return [
		...first.map((f) => f.element),
		others.length > 0 &&
			h(
				'details',
				{ class: 'more', open: first.length === 0 || others.some((f) => f.before) },
				h('summary', {}, 'More'),
				others.map((f) => f.element),
			),
	];
};

// variants is an object of which one property, such as type, says what else it has.
const variants = (context, schema, before, attributes, outer = []) => {
	const name = schema.discriminator.propertyName,
		kinds = schema.discriminator.mapping,
		told = [...outer, name];
	const box = h('div', { class: 'to' });
	const input = h(
		'select',
		{ ...attributes, 'data-name': name },
		h('option', { value: '' }, '—'),
		Object.keys(kinds).map((kind) => h('option', { value: kind, selected: before?.[name] === kind }, kindOf(context.service, schema, kind).said)),
	);
	let inside;
	const show = () => {
		const kind = input.value;
		put(box);
		inside = undefined;
		if (!kind) return undefined;
		const value = before?.[name] === kind ? before : undefined;
		const found = resolve(context.service, { $ref: kinds[kind] });
		const id = fresh('kind');
		inside = found.discriminator
			? variants(context, found, value, { id }, told)
			: group(
					context,
					{ ...found, properties: Object.fromEntries(Object.entries(found.properties ?? {}).filter(([key]) => !told.includes(key))) },
					value,
					line,
				);
		put(box, found.discriminator && h('label', { for: id, class: 'unseen' }, words(found.discriminator.propertyName)), inside.element);
		return undefined;
	};
	input.addEventListener('change', () => {
		show();
		box.querySelector('input[list]')?.dispatchEvent(new Event('focus')); // it says at once if there is none to choose
	});
	show();
	return {
		group: true,
		input,
		element: h('div', { class: 'to' }, input, box),
		find: (message) => inside?.find?.(message),
		read: () => {
			if (!input.value) return before ? null : undefined;
			const value = inside.read();
			return value instanceof Error ? value : { ...value, [name]: input.value };
		},
	};
};

// filters are fields for those parameters of a list that people can choose a value of: of what names another object, of an attribute that has
// few values, and of a time. Set are their values until now, by their names; changed is called with those that they have then.
/** @param {Collection} resource */
export const filters = (resource, set, changed) => {
	const { service, schema, list } = resource;
	const choosable = (name, property, format) => {
		if (format === 'date-time') return { type: 'string', format: 'moment' };
		if (property['x-ref'] === 'services.name')
			return { enum: services.map((s) => s.name), 'x-enum-labels': Object.fromEntries(services.map((s) => [s.name, sectionOf(s)])) };
		if (property.enum?.length > 1) return { enum: property.enum.filter((value) => value !== null), 'x-enum-labels': property['x-enum-labels'] };
		if (property.type === 'boolean') return { enum: ['true', 'false'], 'x-enum-labels': { true: 'Yes', false: 'No' } };
		return offered({ service }, name, property)?.resource.read && { type: 'string', 'x-ref': property['x-ref'] };
	};
	const made = (list.parameters ?? [])
		.filter((p) => p.in === 'query' && p.schema?.type !== 'array')
		.map(({ name, schema: own }) => {
			const property = resolve(service, schema?.properties?.[name]),
				asked = choosable(name, property, own?.format);
			return asked && field({ service }, name, { ...asked, title: property.title }, set[name]);
		})
		.filter((one) => !!one);
	if (made.length === 0) return false;
	const element = h(
		'details',
		{ class: 'filters' },
		h('summary', {}, 'Filters'),
		h(
			'div',
			{
				class: 'question',
				change: () => {
					const values = {};
					for (const one of made) {
						const value = one.read();
						one.refuse(value instanceof Error ? value.message : '');
						if (value != null && !(value instanceof Error)) values[one.name] = value;
					}
					changed(values);
				},
			},
			made.map((one) => one.element),
		),
	);
	element.open = Object.keys(set).length > 0;
	return element;
};

// fieldless tells of what no form has a field: what only the service writes, what clients should not send, the key that stands for an object
// that is there, a UUID that a client may choose, and, of an object that is there, what is taken on create alone and never shown.
const fieldless = (name, p, before) =>
	p.readOnly || p.deprecated || p['x-key'] || name === 'links' || (p['x-fixed'] && (p.format === 'uuid' || (before && p.writeOnly)));

// fields makes the inputs of an object's properties. What never changes can be read alone.
export const fields = (context, schema, before, hidden) => {
	const inside = { ...context, beside: schema.properties };
	return properties(context.service, schema, context.list)
		.filter(([name, property]) => !hidden.includes(name) && !fieldless(name, property, before))
		.map(([name, property]) => {
			const required = (schema.required ?? []).includes(name) || (!before && property['x-or'] !== undefined);
			return { before: before?.[name], ...field(inside, name, property, before?.[name], required, before && property['x-fixed']) };
		});
};

// valuesOf reads all fields. With a whole object as before, it returns only what has changed: neither what reads as it did at first.
export const valuesOf = (inputs, before) => {
	const body = {};
	for (const input of inputs) {
		input.refuse('');
		const value = input.read();
		if (value instanceof Error) {
			if (!('said' in value)) input.refuse(value.message); // the innermost field says it, and has the focus
			return Object.assign(value, { said: true });
		}
		if (value !== undefined && !(before && input.name in before && (same(value, before[input.name]) || same(value, input.first)))) body[input.name] = value;
	}
	return body;
};
