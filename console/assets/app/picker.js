// A field in which one picks an object by its name, and which sends what identifies the object.
import { call, me, tenant } from './api.js';
import { asking, fill, may, takes, whom } from './definitions.js';
import { brief, fresh, h, later, put, say } from './dom.js';

// objectBy reads the object that has a value of an attribute, or of its key; undefined, if it cannot be asked for.
/** @param {Collection} resource */
export const objectBy = async (resource, by, value, options = {}) => {
	const path = resource.service.prefix;
	if (!by) return may(resource.read, value) ? (await call('GET', path + fill(resource.itemPath, value), options)).data : undefined;
	if (!takes(resource.list, by) || !may(resource.list)) return undefined;
	return (await call('GET', path + resource.path, { ...options, query: { [by]: value, limit: 1 } })).data[resource.items][0];
};

const identifies = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text); // digits may be the name of one and the id of another

// told are the names that this page has shown for what is sent, where that is no name for people; spoken writes them into a message.
const told = new Map();
export const spoken = (message) => [...told].reduce((text, [sent, name]) => text.replaceAll(sent, name), message);

// seeks are what inputs ask before they are read: a picker looks for what was typed so fast that no suggestion has come.
const seeks = new WeakMap();
export const asksFirst = (input, ask) => seeks.set(input, ask);

// settled waits until the inputs inside of an element know what they ask, such as whether there is what was typed in them.
export const settled = (element) => Promise.all([...element.querySelectorAll('input')].map((input) => seeks.get(input)?.()));

// apart names objects so that none of them is called as another: where a name does not tell, the number of a telephone does or, without any, the
// key.
export const apart = (objects, keyOf) => {
	const nameOf = (object) => brief(object) || String(keyOf(object)),
		called = new Map(); // the keys of what has a name
	for (const object of objects) called.set(nameOf(object), (called.get(nameOf(object)) ?? new Set()).add(keyOf(object)));
	return objects.map((object) => {
		const name = nameOf(object),
			numbers = brief([object, ...(object.lines ?? [])].flatMap((of) => of.extensions ?? []));
		return { object, name: called.get(name).size === 1 || numbers === name ? name : `${name} (${numbers || keyOf(object)})` };
	});
};

// gets says how one gets an object of a kind of which there is none.
const gets = (resource) => (may(resource.create) ? [h('a', { href: `#/${resource.key}` }, resource.title), ' has them.'] : `Ask ${whom()} for one.`);

// inside returns what has an attribute anywhere in an object.
const inside = (object, by) =>
	Object.values(object).flatMap((v) =>
		Array.isArray(v) ? v.flatMap((one) => (one?.[by] === undefined ? inside(one ?? {}, by) : one)) : v && typeof v === 'object' ? inside(v, by) : [],
	);

const most = 30; // that are suggested

// picker suggests objects of a resource, which the server searches, among those that a query leaves. valueOf says what is sent for one;
// before is what was sent until now, and preset an object to begin with; by is the attribute that is sent, if that is no key of the objects.
// Enter takes the only object that has a part of its name typed. Read returns an Error for a name that no object has,
// unless any text may be sent. Makes says that a new object may be made for it; within is the attribute by
// which what is picked is found inside of the objects, as the surrogates of filters are.
/** @type {(resource: Collection, valueOf: (object: any) => any, attributes: any, options?: PickerOptions) => Picker} */
export const picker = (
	resource,
	valueOf,
	attributes,
	{ before, preset, by, free = false, query = {}, headers = {}, stays = false, makes = false, within = '' } = {},
) => {
	const values = new Map(); // by what is shown
	const learn = ({ object, name }) => {
		const value = valueOf(object),
			shown = [undefined, value].includes(values.get(name)) ? name : `${name} (${value})`;
		values.set(shown, value);
		if (String(value).length > 16) told.set(String(value), brief(object) || name);
		return shown;
	};
	const learnAll = (objects) => apart(objects, valueOf).map(learn);
	const list = h('datalist', { id: fresh('choices') });
	const input = h('input', {
		...attributes,
		type: 'text',
		list: list.id,
		value: preset ? learnAll([preset])[0] : (before ?? ''),
		autocomplete: 'off',
		spellcheck: 'false',
	});
	const ask = async (query) => (await call('GET', resource.service.prefix + resource.path, { query, headers, stays })).data[resource.items];
	let all; // that is inside of objects, as it was asked for once
	const among = async (text) => {
		all ??= ask({ limit: 1000 }).catch((problem) => {
			all = undefined;
			throw problem;
		});
		const found = (await all).flatMap((object) =>
			inside(object, within).map((one) => ({ name: brief(one) ? `${brief(object)}: ${brief(one)}` : one[within], [within]: one[within] })),
		);
		const each = [...new Map(found.map((one) => [one[within], one])).values()];
		return learnAll(each)
			.filter((name) => name.toLowerCase().includes(text.toLowerCase()))
			.slice(0, most);
	};
	const search = async (text) => (within ? among(text) : learnAll(await ask({ ...query, ...asking(resource, ['lines', by]), limit: most, search: text })));
	const none = h('small', { class: 'without', role: 'status' });
	const suggest = async () => {
		if (!input.isConnected) return; // the page was left
		const text = values.has(input.value) ? '' : input.value,
			found = await search(text);
		put(
			list,
			found.map((value) => h('option', { value })),
		);
		if (text === '' && !free) put(none, found.length === 0 && ['There is none yet. ', button ? '' : gets(resource)]);
	};
	const quietly = () => suggest().catch(() => put(list));
	// anew makes an object, and takes it.
	const anew = async () => {
		const made = await (await import('./make.js')).make(resource, input.value.trim(), query);
		input.focus();
		if (!made) return;
		[input.value] = learnAll([made]);
		put(none);
		for (const name of ['input', 'change']) input.dispatchEvent(new Event(name, { bubbles: true }));
	};
	// A new object is of the tenant that the page acts in.
	const elsewhere = ![undefined, tenant || me?.tenant].includes(headers['Wazo-Tenant'] ?? undefined);
	const button =
		makes &&
		!elsewhere &&
		may(resource.create) &&
		h('button', { type: 'button', class: 'plain new', 'aria-label': `New … (${resource.title})`, hidden: input.value !== '', click: anew }, 'New …');
	for (const name of ['input', 'focus'])
		input.addEventListener(name, () => {
			if (button) button.hidden = values.has(input.value);
		});
	const known = (text) => text === '' || text === String(before ?? '') || values.has(text) || identifies(text);
	let trouble = '';
	asksFirst(input, async () => {
		const text = input.value.trim();
		trouble = '';
		if (!known(text))
			await search(text).catch((problem) => {
				trouble = problem.message;
			});
	});
	input.addEventListener('focus', quietly, { once: true });
	input.addEventListener('input', later(quietly));
	input.addEventListener('keydown', async (event) => {
		const text = input.value.trim();
		if (event.key !== 'Enter' || attributes.form !== undefined || free || known(text)) return;
		event.preventDefault();
		const found = await search(text).catch(() => []); // the form tells what is wrong
		if (input.value.trim() !== text) return;
		if (found.length !== 1 || found[0] === text) return input.form?.requestSubmit();
		[input.value] = found;
		input.dispatchEvent(new Event('change'));
	});
	if (within && before != null) {
		search('').then(
			() => {
				const name = [...values.keys()].find((one) => values.get(one) === before);
				if (name && input.value === String(before)) input.value = name;
			},
			() => {},
		);
	} else if (before != null && before !== '' && !preset) {
		objectBy(resource, by, before, { headers, stays }).then(
			(found) => {
				if (found && input.value === String(before)) [input.value] = learnAll([found]);
			},
			() => {},
		); // it stays as it is sent
	}
	return {
		input,
		element: button ? h('div', { class: 'picked' }, input, list, button, none) : [input, list, none],
		shows: (text) => values.has(text),
		search,
		read: () => {
			const text = input.value.trim();
			if (text === '') return undefined;
			return values.get(text) ?? (free || known(text) ? text : new Error(trouble || `There is no "${text}" here: choose one of the list.`));
		},
	};
};

// several are objects that one picks one after the other, of those that a query leaves, and puts in an order: Enter takes what was typed, if one
// object alone is meant. Those of preset are taken to begin with. Its read returns what valueOf says of each.
/** @type {(resource: Collection, valueOf: (object: any) => any, attributes: any, options?: { query?: any, preset?: any[] }) => Control} */
export const several = (resource, valueOf, attributes, { query, preset = [] } = {}) => {
	const { input, element, shows, search, read } = picker(
		resource,
		valueOf,
		{
			placeholder: 'Type to find',
			form: '', // Enter adds, and does not send the form
			...attributes,
		},
		{ query, makes: true },
	);
	const taken = preset.map((one) => ({ name: brief(one), value: valueOf(one) }));
	const list = h('ol', { class: 'several' });
	const draw = (focused) => {
		put(
			list,
			taken.map((one, i) => {
				const move = (by) => {
					taken.splice(i, 1);
					taken.splice(i + by, 0, one);
					draw([i + by, by]);
				};
				const button = (label, text, by, click, disabled = false) =>
					h('button', { type: 'button', 'aria-label': `${label}: ${one.name}`, 'data-by': by, disabled, click }, text);
				const remove = () => {
					taken.splice(i, 1);
					draw();
					input.focus();
				};
				return h(
					'li',
					{},
					h('span', {}, one.name),
					button('Up', '↑', -1, () => move(-1), i === 0),
					button('Down', '↓', 1, () => move(1), i === taken.length - 1),
					button('Remove', '×', 0, remove),
				);
			}),
		);
		list.hidden = taken.length === 0;
		const [at, by] = focused ?? [];
		if (focused) (list.children[at].querySelector(`[data-by="${by}"]:enabled`) ?? list.children[at].querySelector('button:enabled')).focus();
	};
	const take = () => {
		const value = read();
		if (value === undefined || value instanceof Error) return;
		if (!taken.some((one) => one.value === value)) taken.push({ name: input.value.trim(), value });
		input.value = '';
		draw();
	};
	input.addEventListener('input', (event) => {
		if (event.inputType !== 'insertText' && shows(input.value)) take(); // one of the list was chosen
	});
	input.addEventListener('keydown', async (event) => {
		if (event.key !== 'Enter') return;
		const text = input.value.trim();
		if (text === '') return;
		try {
			const found = shows(text) ? [text] : await search(text);
			if (input.value.trim() !== text) return;
			if (found.length === 1) [input.value] = found;
			if (found.length === 1) take();
			else say(found.length === 0 ? `There is no "${text}" here.` : `There are several with "${text}": type more, or choose one of the list.`, true);
		} catch (problem) {
			if (!problem.messages) throw problem;
			say(problem.message, true);
		}
	});
	draw();
	return {
		input,
		element: [list, element],
		read: () => {
			const last = read();
			return last instanceof Error
				? last
				: [...taken.map((one) => one.value), ...(last === undefined || taken.some((one) => one.value === last) ? [] : [last])];
		},
	};
};
