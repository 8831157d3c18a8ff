// What is done with several objects of a list at once: they are ticked, and deleted, switched, or given another value of an attribute.
import { Refused, call, erase } from './api.js';
import { alone, answer, bodyOf, fill, idOf, labelOf, may, operation, properties, resolve, takes, undoing } from './definitions.js';
import { ask, brief, h, plural, put, say, tick } from './dom.js';
import { form } from './form.js';

const atOnce = 100; // operations of one request

const were = (n) => `${n} ${n === 1 ? 'was' : 'were'}`;

// chooser ticks objects of a list, and offers what can be done with them, if anything can. Again shows the list anew.
/** @param {Collection} resource */
export const chooser = (resource, columns, again) => {
	const { service } = resource,
		// What goes with much else is deleted on its own page, which tells what.
		remove = resource.remove && !answer(service, resource.remove).properties?.objects && may(resource.remove),
		update = resource.update && may(resource.update),
		body = update ? bodyOf(service, resource.update) : {};
	const changeable = properties(service, body, resource.list).filter(([name, p]) => !p.readOnly && !p['x-fixed'] && !p.deprecated && name !== 'links');
	if (!remove && changeable.length === 0) return undefined;
	const picked = new Map(),
		element = h('div', { class: 'bulk', hidden: true });
	const id = (object) => idOf(resource.parameter, object);

	const box = (label, change) => {
		const input = h('input', { type: 'checkbox', 'aria-label': label, change: () => change(input.checked) });
		return input;
	};
	const choose = (object, chosen) => (chosen ? picked.set(id(object), object) : picked.delete(id(object)));
	const one = (object) => {
		const input = box(`Choose ${brief(object)}`, (chosen) => {
			choose(object, chosen);
			offer();
		});
		input.checked = picked.has(id(object));
		return input;
	};
	// pick returns the boxes for a page of the list.
	const pick = (objects) => {
		const boxes = new Map(objects.map((object) => [object, one(object)]));
		return {
			one: (object) => boxes.get(object),
			all: box('Choose all of this page', (chosen) => {
				for (const [object, input] of boxes) {
					choose(object, chosen);
					input.checked = chosen;
				}
				offer();
			}),
		};
	};

	// asRead returns the header for a change of an object as the list shows it. It refuses if the object has changed since.
	const asRead = async (path, key, object) => {
		if (!may(resource.read, key)) return {};
		const { data, headers } = await call('GET', path),
			tag = headers.get('ETag');
		const other = columns.find((name) => brief(data[name]) !== brief(object[name]));
		if (other) throw new Refused(412, ['It has changed since it was listed: choose it again.'], { method: 'GET', path });
		return tag ? { 'If-Match': tag } : {};
	};
	const each = async (done, run) => {
		const failed = [],
			chosen = [...picked];
		let n = 0;
		for (const [key, object] of chosen) {
			say(`${++n} of ${chosen.length}…`);
			try {
				const path = service.prefix + fill(resource.itemPath, key);
				await run(path, await asRead(path, key, object));
				picked.delete(key);
			} catch (problem) {
				if (!problem.messages) throw problem;
				failed.push(`${brief(object)}: ${problem.message}`);
				if (problem.status === 412) picked.delete(key);
			}
		}
		say(
			failed.length > 0 ? `${were(n - failed.length)} ${done}, ${were(failed.length)} not. ${failed.slice(0, 3).join(' ')}` : `${were(n)} ${done}.`,
			failed.length > 0,
		);
		offer();
		await again();
	};

	const [undo, undone] = undoing(resource.key);
	const removeAll = async () => {
		const more = takes(resource.remove, 'recursive') && tick(alone);
		const those = h(
			'ul',
			{},
			[...picked.values()].slice(0, 10).map((o) => h('li', {}, brief(o))),
			picked.size > 10 && h('li', {}, `and ${picked.size - 10} more`),
		);
		if (!(await ask(picked.size === 1 ? `${undo} this one?` : `${undo} these ${picked.size}?`, [those, more && more.element], undo))) return;
		await each(undone, (path, headers) => erase(path, { query: { recursive: more && more.ticked() ? 'true' : '' }, headers }));
	};
	// give changes all by one request, if their service can: then all of them are changed, or none.
	const give = async (values, done) => {
		const bulk = operation('create_bulk');
		if (bulk?.service !== service || !may(bulk)) return each(done, (path, headers) => call('PUT', path, { body: values, headers }));
		const chosen = [...picked],
			operations = [];
		if (chosen.length > atOnce) return say(`At most ${atOnce} can be changed at once.`, true);
		try {
			for (const [key, object] of chosen) {
				const path = fill(resource.itemPath, key);
				const { 'If-Match': tag = null } = await asRead(service.prefix + path, key, object);
				operations.push({ method: 'PUT', path, body: values, if_match: tag });
			}
			await call('POST', service.prefix + bulk.path, { body: { operations } });
		} catch (problem) {
			if (!problem.messages) throw problem;
			const one = chosen[operations.length]; // which could not be read
			if (one && problem.status === 412) picked.delete(one[0]);
			const parts = problem.parts.filter(({ path }) => path[0] === 'operations');
			const told = one
				? problem.messages.map((text) => `${brief(one[1])}: ${text}`)
				: parts.length > 0
					? parts.map(({ path: [, at], detail }) => `${brief(chosen[at][1])}: ${detail}`)
					: problem.messages;
			say(['None was changed.', ...told.slice(0, 3)].join(' '), true);
			offer();
			return again();
		}
		picked.clear();
		say(`${were(chosen.length)} ${done}.`);
		offer();
		return again();
	};

	// change asks for one attribute, and the value that all are to have. Without one they have that of a new object, or none.
	const change = () => {
		const place = h('div'),
			label = (name) => labelOf(resolve(service, body.properties?.[name]), name);
		const show = (name) => {
			const { default: usual = null } = resolve(service, bodyOf(service, resource.create).properties?.[name] ?? body.properties?.[name]);
			put(
				place,
				name &&
					form({
						service,
						schema: { properties: { [name]: body.properties?.[name] ?? {} } },
						action: `Change ${plural(picked.size, 'object')}`,
						send: (sent) => give({ [name]: name in sent ? sent[name] : usual }, 'changed'),
					}),
			);
		};
		const which = h(
			'select',
			{ 'aria-label': 'What to change', change: () => show(which.value) },
			h('option', { value: '' }, 'What to change'),
			changeable.map(([name]) => h('option', { value: name }, label(name))),
		);
		put(element, which, h('button', { type: 'button', click: () => offer() }, 'Cancel'), place);
		which.focus();
	};

	const button = (text, click, kind = '') => h('button', { type: 'button', class: kind, click }, text);
	const offer = () => {
		element.hidden = picked.size === 0;
		put(
			element,
			`${picked.size} chosen: `,
			changeable.some(([name]) => name === 'enabled') && [
				button('Enable', () => give({ enabled: true }, 'enabled')),
				button('Disable', () => give({ enabled: false }, 'disabled')),
			],
			changeable.length > 0 && button('Change…', change),
			remove && button(undo, removeAll, 'danger'),
		);
	};
	return { element, pick };
};
