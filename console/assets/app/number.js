// The field of a number: it offers those that are free, says by what one is taken, and extends the ranges of its context.
import { call } from './api.js';
import { fill, may, mayDo, operation, resources, whom } from './definitions.js';
import { brief, fresh, h, later, plural, put } from './dom.js';
import { fields } from './fields.js';
import { asksFirst, objectBy } from './picker.js';
import { nameLater } from './shown.js';

const at = (resource, ...keys) => resource.service.prefix + (keys.length > 0 ? fill(resource.itemPath, ...keys) : resource.path);

// holds reports whether a range has a number, as the gateway decides it.
const holds = ({ start, end, did_length: digits = 0 }, exten) => {
	const counted = digits > 0 && digits < exten.length ? exten.slice(-digits) : exten;
	return counted.length === start.length && start <= counted && counted <= (end || start);
};

// firstOf returns the first numbers of some ranges, and how many there are in all.
const firstOf = (ranges, most) => {
	const first = ranges.flatMap(({ start, end }) =>
		Array.from({ length: Math.min(most, Number(end) - Number(start) + 1) }, (_, i) => String(Number(start) + i).padStart(start.length, '0')),
	);
	return { first: first.slice(0, most), all: ranges.reduce((n, { start, end }) => n + Number(end) - Number(start) + 1, 0) };
};

// takenBy returns what has a number, as a link to it, if anything has.
export const takenBy = async (exten, context) => {
	const extensions = resources.get('confd/extensions'),
		users = resources.get('confd/users');
	if (!may(extensions?.list)) return undefined;
	const { data } = await call('GET', at(extensions), { query: { exten, context, limit: 1 } });
	const [found] = data.items;
	if (!found) return undefined;
	const link = (key, id, name) => {
		const of = resources.get(key),
			element = h('a', { href: `#/${key}/${encodeURIComponent(id)}` }, name || String(id));
		return name || !of || !may(of.read) ? element : nameLater(of, id, element);
	};
	if (found.lines.length > 0) {
		const owner = may(users?.list) && (await call('GET', at(users), { query: { exten, context, limit: 1 } })).data.items[0];
		return owner ? link('confd/users', owner.uuid, brief(owner)) : link('confd/lines', found.lines[0].id, found.lines[0].name);
	}
	const kind = ['group', 'incall', 'conference', 'outcall', 'parking_lot', 'queue'].find((name) => found[name]);
	if (!kind) return undefined; // nothing has it: it is used
	const key = `confd/${kind.replace('_', '')}s`;
	return link(
		key,
		found[kind].uuid ?? found[kind].id,
		kind === 'incall' ? `incoming number ${exten}` : found[kind].name && !found[kind].uuid ? found[kind].name : '',
	);
};

// number is a field that reads { exten, context }, or nothing if it is left empty. Type is the kind of context in which the number is; of names
// its ranges there ("user_ranges"), if numbers of this kind have any. Covers are the first words of the paths that are about it. Spelled is the
// number, or the pattern of numbers, that what is typed stands for. Of the field, needs are the changes without which what has the number cannot
// be made.
export const number = async ({
	type,
	of = '',
	label = 'Number',
	required = true,
	note = '',
	covers = ['extensions'],
	fresh: named,
	spelled = (typed) => typed,
}) => {
	const contexts = /** @type {Paged} */ (resources.get('confd/contexts')),
		{ service } = contexts;
	const {
		data: { items },
	} = await call('GET', at(contexts), { query: { type, limit: 100 } });
	// Where there is no context for such numbers, the first number makes one: its name is that of what the first operation of the save answers.
	const anew = items.length === 0 && may(contexts.create) && mayDo('create_bulk') && { name: '{0.name}', label: named, type, ...(of && { [of]: [] }) },
		first = items.find((c) => of && c[of].length > 0) ?? items[0] ?? anew;
	let chosen; // the context that was asked about last, as it is
	const box = h('div', { class: 'number' }),
		offers = h('p', { class: 'offers', id: fresh('offers') });
	let context, exten, offered;

	const lookUp = async () => {
		if (anew) return anew;
		const name = context.read();
		if (typeof name !== 'string' || name === '') return undefined;
		if (chosen?.name !== name) chosen = await objectBy(contexts, 'name', name).catch(() => undefined);
		return chosen;
	};
	const kind = of?.replace(/_ranges$/, '').replace('conference_room', 'conference');
	// offer shows the free numbers of the context, and fills in the next one unless another was typed.
	const offer = async () => {
		const one = await lookUp(),
			ranges = operation('list_contexts_range'),
			free = one && one !== anew && kind && kind !== 'incall' && ranges && may(ranges, one.id, kind);
		put(offers);
		if (!free) return;
		const { data } = await call('GET', service.prefix + fill(ranges.path, one.id, kind)).catch(() => ({ data: { items: [] } }));
		if (chosen !== one) return; // another was chosen meanwhile
		const { first: some, all } = firstOf(data.items, 5);
		if (exten.input.value === '' || exten.input.value === offered) exten.input.value = offered = some[0] ?? '';
		const others = some.slice(1).map((n) => h('button', { type: 'button', class: 'plain', 'aria-label': `Take ${n}`, click: () => take(n) }, n));
		put(
			offers,
			all === 0 && `${brief(one)} has no free number for this.`,
			all === 1 && 'This is the last free number.',
			all > 1 && [`${plural(all, 'number')} free, also `, others.flatMap((b, i) => [i > 0 && ', ', b])],
		);
	};
	const take = (n) => {
		exten.input.value = offered = n;
		exten.refuse('');
	};
	let wrong, // what the look-up has found, with what one can do
		added; // the context that the number is added to: the carrier has chosen it, so that it is no slip
	const check = async () => {
		const typed = exten.input.value.trim(),
			value = spelled(typed),
			one = value !== '' && (await lookUp()),
			owner = one && one !== anew && (await takenBy(value, one.name).catch(() => undefined)),
			outside = one && !owner && of && /^\d{1,16}$/.test(value) && !one[of].some((r) => holds(r, value)),
			joins = outside && (one === anew || (kind === 'incall' && may(contexts.update, one.id) && mayDo('create_bulk')));
		if (typed !== exten.input.value.trim()) return; // another was typed meanwhile
		added = joins ? one : undefined;
		if (one && one === anew) put(offers, `It is the first number of its kind. With it comes the dialling area “${named}”.`);
		else if (kind === 'incall') put(offers, joins && `${value} is new: with it, it becomes one of the numbers that ${brief(one)} has for this.`);
		wrong = owner
			? [`${typed || 'This'} is taken by `, owner, '.']
			: outside && !joins
				? [
						`${value} is outside of the numbers that ${brief(one)} has for this. `,
						may(contexts.update, one.id) &&
							[[value, value], ...hundred(one, value)].map(([start, end]) => [
								h('button', { type: 'button', click: () => extend(one, start, end) }, `Add ${start === end ? start : `${start} to ${end}`} to them, and go on`),
								' ',
							]),
					]
				: undefined;
	};
	// hundred are the first and the last of a hundred numbers, if the context has none of them for anything: the next ones are offered then.
	const hundred = (one, value) => {
		const ends = ['00', '99'].map((last) => value.slice(0, -2) + last),
			others = Object.entries(one).flatMap(([name, ranges]) => (name.endsWith('_ranges') ? ranges : []));
		const free = others.every(({ start, end }) => start.length !== value.length || (end || start) < ends[0] || start > ends[1]);
		return kind !== 'incall' && value.length > 2 && free ? [ends] : [];
	};
	const range = (start, end) => ({ start, end, ...(of === 'incall_ranges' && { did_length: start.length }) });
	// extended is the change of a context by which it has some more numbers.
	const extended = async (one, start, end) => {
		const { data, headers } = await call('GET', at(contexts, one.id));
		return { method: 'PUT', path: fill(contexts.itemPath, one.id), body: { [of]: [...data[of], range(start, end)] }, if_match: headers.get('ETag') };
	};
	// begun makes the first context, with the number and the hundred around it.
	const begun = (value) => ({
		method: 'POST',
		path: contexts.path,
		body: { label: named, type, ...(added && { [of]: [range(...(hundred(anew, value)[0] ?? [value, value]))] }) },
	});
	const extend = async (one, value, end) => {
		try {
			const { path, body, if_match: tag } = await extended(one, value, end);
			await call('PUT', service.prefix + path, { body, headers: { 'If-Match': tag } });
			chosen = undefined;
			exten.refuse('');
			box.closest('form').requestSubmit();
		} catch (problem) {
			if (!problem.messages) throw problem;
			exten.refuse(problem.message);
		}
	};
	if (!first) put(box, h('p', { class: 'denied' }, `There is no dialling area for these numbers yet: ask ${whom()} to make one.`));
	else {
		[exten, context] = fields(
			{ service, makes: true },
			{
				required: [required && 'exten', 'context'].filter(Boolean),
				properties: {
					exten: { type: 'string', title: label, description: note },
					context: { type: 'string', title: 'Dialling area', 'x-ref': 'contexts.name', 'x-among': { type } },
				},
			},
			{ context: first.name },
			anew ? ['context'] : [],
		).sort((a) => (a.name === 'exten' ? -1 : 1));
		exten.input.setAttribute('inputmode', 'tel');
		exten.input.setAttribute('aria-describedby', `${exten.input.getAttribute('aria-describedby')} ${offers.id}`);
		asksFirst(exten.input, check);
		if (kind === 'incall' || anew)
			exten.input.addEventListener(
				'input',
				later(() => exten.input.isConnected && check()),
			);
		context?.input.addEventListener('change', () => offer());
		if (context) context.element.hidden = items.length === 1; // there is nothing to choose
		put(box, exten.element, context?.element, offers);
		await offer();
	}
	return {
		name: 'number',
		element: box,
		needs: async () => {
			const value = exten?.input.value.trim();
			if (anew) return spelled(value) === '' ? [] : [begun(value)];
			return added ? [await extended(added, value, value)] : [];
		},
		refuse: () => {
			exten?.refuse('');
			context?.refuse('');
		},
		find: (path) => (exten && covers.includes(path[0]) ? (path.at(-1) === 'context' ? (context ?? exten) : exten) : undefined),
		read: () => {
			const refused = (field, ...text) => {
				field.refuse(...text);
				return Object.assign(new Error(String(text[0])), { said: true });
			};
			if (!first) return required ? new Error('There is no dialling area for these numbers yet.') : undefined;
			const value = spelled(exten.input.value.trim());
			if (value === '') return required ? refused(exten, 'A number is needed.') : undefined;
			const name = anew ? anew.name : context.read();
			if (name instanceof Error || !name) return refused(context, name?.message ?? 'A number is in a dialling area: choose one.');
			return wrong ? refused(exten, ...wrong) : { exten: value, context: name };
		},
	};
};
