// The controls of forms: each has one value, which its read returns (undefined: leave it out; an Error: it cannot be read).
import { may, mayDo, referred, saidOf, target } from './definitions.js';
import { brief, h, put } from './dom.js';
import { picker } from './picker.js';

// clock is a moment that one chooses by the clock of this place.
export const clock = (before, attributes) => {
	const at = new Date(before ?? ''),
		here = Number.isNaN(at.getTime()) ? '' : new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
	const input = h('input', { ...attributes, type: 'datetime-local', value: here });
	return {
		input,
		element: input,
		read: () => (input.validity.badInput ? new Error('This is no whole date and time.') : input.value ? new Date(input.value).toISOString() : undefined),
	};
};

export const text = (name, schema, before, attributes) => {
	const secret = (schema.writeOnly && /password|secret/.test(name)) || /^((old|new)_)?password$/.test(name);
	const long = schema.maxLength > 1000 && !secret && !/(^|_)(name|id|number)$/.test(name); // such are of one line, however long
	const type = attributes.type ?? (secret ? 'password' : schema.format === 'email' ? 'email' : 'text');
	const input = h(long ? 'textarea' : 'input', {
		...attributes,
		...(!long && { type }),
		value: before ?? '',
		spellcheck: 'false', // no maxlength: it would cut what is pasted, and say nothing
		autocomplete: secret ? 'new-password' : 'off',
		...(long && { rows: 2 }),
	});
	const first = input.value; // which a browser may show otherwise than it is
	return {
		input,
		element: input,
		read: () => {
			const value = input.value;
			if (input.validity.badInput) return new Error('This is no number.');
			if (value === first) return before ?? undefined;
			if (value === '') return schema.nullable || type === 'number' ? null : '';
			return type === 'number' ? Number(value) : value;
		},
	};
};

// offered returns the resource whose objects a field names, and by which of their attributes, if one can list them. In a list, such as
// "users", the items' own id does.
export const offered = (context, name, schema) => {
	const own = /^(id|uuid)$/.test(name) && context.of && !schema['x-ref'];
	const found = own ? { resource: target(context.service, context.of, name), by: name, own } : referred(context.service, name, schema);
	return may(found?.resource?.list) ? found : undefined;
};

// reference is what names another object, which one picks by its name for people.
export const reference = (context, { resource, by, own = false }, schema, before, attributes) => {
	const key = /^(id|uuid)$/.test(by),
		within = !key && !(by in (resource.schema?.properties ?? {})) ? by : '',
		known = own && before != null && brief(context.item) !== String(before) && (context.item.label || !resource.schema?.properties?.label) && context.item;
	const headers = context.tenant ? { 'Wazo-Tenant': context.tenant } : {};
	const { read, ...rest } = picker(resource, (object) => object[by], attributes, {
		before,
		preset: known || undefined,
		within,
		by: key ? undefined : by,
		free: schema.type === 'string' && schema.format !== 'uuid' && !schema['x-among'],
		query: schema['x-among'],
		headers,
		makes: context.makes && !within,
	});
	if (schema['x-ref'] === 'sounds.path' && mayDo('get_sounds_files')) {
		const place = h('span'); // few forms have sounds
		import('./hear.js').then(({ heard }) => put(place, heard(rest.input, read, headers)));
		rest.element = [rest.element, place];
	}
	return {
		...rest,
		read: () => {
			const value = read();
			if (value === undefined) return before == null ? undefined : schema.nullable ? null : '';
			return schema.type === 'integer' && !(value instanceof Error) ? Number(value) : value;
		},
	};
};

// bound locks a box, and takes its tick away, while it does not count: while none of what its schema names beside it (x-when) has one of the
// values there. Where it begins to count, it is as it is by default.
export const bound = (box, schema, place) => {
	const counts = () =>
		Object.entries(schema['x-when']).some(([path, values]) => values.includes(place.querySelector(`[data-name="${path.split('.').at(-1)}"]`)?.value));
	let counted = true;
	const follow = () => {
		const now = counts();
		if (now !== counted) Object.assign(box, { checked: now && schema.default, disabled: !now, title: now ? '' : 'There is none for this kind' });
		counted = now;
	};
	place.addEventListener('change', follow);
	follow();
};

export const toggle = (schema, before, attributes) => {
	const { required, ...rest } = attributes;
	const input = h('input', { ...rest, type: 'checkbox' });
	input.checked = before ?? schema.default ?? false;
	const first = input.checked;
	return { input, element: input, read: () => (before == null && input.checked === first ? undefined : input.checked) };
};

export const choice = (schema, before, attributes) => {
	const none = schema.nullable || !attributes.required,
		values = schema.enum.filter((value) => value !== null);
	if (before != null && !values.includes(before)) values.push(before); // which is not offered any more
	const input = h(
		'select',
		attributes,
		none && h('option', { value: '' }, schema.default == null ? '—' : `— (${saidOf(schema, schema.default)})`),
		values.map((value) => h('option', { value, selected: value === before }, value === '' ? 'none' : saidOf(schema, value))),
	);
	return {
		input,
		element: input,
		read: () => (input.value === '' ? (before == null ? undefined : null) : values.find((value) => String(value) === input.value)),
	};
};

export const lines = (before, attributes) => {
	const input = h('textarea', { ...attributes, rows: Math.min(8, Math.max(2, (before ?? []).length)), spellcheck: 'false', value: (before ?? []).join('\n') });
	input.classList.add('code');
	const first = input.value;
	return {
		input,
		element: [input, h('small', {}, 'One on each line.')],
		read: () =>
			before && input.value === first
				? before
				: input.value
						.split('\n')
						.map((line) => line.trim())
						.filter(Boolean),
	};
};

// numbers are whole numbers, with commas between them.
export const numbers = (before, attributes) => {
	const input = h('input', { ...attributes, type: 'text', autocomplete: 'off', value: (before ?? []).join(', ') });
	return {
		input,
		element: input,
		read: () => {
			const words = input.value.match(/[^\s,]+/g) ?? [];
			if (words.length === 0 && before == null) return undefined;
			return words.every((word) => /^-?\d+$/.test(word)) ? words.map(Number) : new Error('Numbers are needed, with commas between them.');
		},
	};
};

// pairs are names and values: "name = value" on each line.
export const pairs = (before, attributes) => {
	const first = (before ?? []).map(([name, value]) => `${name} = ${value}`).join('\n');
	const { input } = lines([], attributes);
	input.value = first;
	input.rows = Math.min(8, Math.max(2, (before ?? []).length));
	return {
		input,
		element: [input, h('small', {}, 'One on each line: name = value.')],
		read: () => {
			if (input.value === first) return before;
			const all = input.value
				.split('\n')
				.filter((line) => line.trim() !== '')
				.map(
					(line) =>
						line
							.match(/^([^=]*)=(.*)$/)
							?.slice(1)
							.map((word) => word.trim()) ?? line,
				);
			const wrong = all.find((pair) => typeof pair === 'string');
			return wrong === undefined ? all : new Error(`"${wrong}" has no = between a name and a value.`);
		},
	};
};

// texts reports whether a value is a map of texts.
export const texts = (value) =>
	value != null && Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every((text) => typeof text === 'string');

// named are texts by their names, such as options: they are edited as pairs are.
export const named = (before, attributes) => {
	const { read, ...rest } = pairs(before && Object.entries(before), attributes);
	return {
		...rest,
		read: () => {
			const value = read();
			if (!Array.isArray(value)) return value;
			const twice = value.find(([name], at) => value.some(([other], i) => i < at && other === name));
			return twice ? new Error(`There is another "${twice[0]}".`) : Object.fromEntries(value);
		},
	};
};

// raw is for what no schema describes: JSON.
export const raw = (before, attributes) => {
	const first = before === undefined ? '' : JSON.stringify(before, null, 1);
	const input = h('textarea', { ...attributes, class: 'code', rows: 3, spellcheck: 'false', value: first });
	return {
		input,
		element: input,
		read: () => {
			if (input.value === first) return before;
			if (input.value.trim() === '') return undefined;
			try {
				return JSON.parse(input.value);
			} catch {
				return new Error('This is no JSON.');
			}
		},
	};
};
