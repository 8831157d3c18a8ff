// A field in which one picks an object by its name, and which sends what identifies the object.
import { call } from './api.js';
import { fill, may, takes } from './definitions.js';
import { brief, fresh, h, later, put } from './dom.js';

// objectBy reads the object that has a value of an attribute, or of its key; undefined, if it cannot be asked for.
/** @param {Collection} resource */
export const objectBy = async (resource, by, value, headers = {}) => {
	const path = resource.service.prefix;
	if (!by) return may(resource.read, value) ? (await call('GET', path + fill(resource.itemPath, value), { headers })).data : undefined;
	if (!takes(resource.list, by) || !may(resource.list)) return undefined;
	return (await call('GET', path + resource.path, { query: { [by]: value, limit: 1 }, headers })).data[resource.items][0];
};

const identifies = (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text); // digits may be the name of one and the id of another

// told are the names that this page has shown for what is sent, where that is no name for people; spoken writes them into a message.
const told = new Map();
export const spoken = (message) => [...told].reduce((text, [sent, name]) => text.replaceAll(sent, name), message);

// seeks are the pickers by their inputs: each looks for what was typed so fast that no suggestion has come.
const seeks = new WeakMap();

// settled waits until the pickers inside of an element know what was typed in them, if there is such an object.
export const settled = (element) => Promise.all([...element.querySelectorAll('input')].map((input) => seeks.get(input)?.()));

// picker suggests objects of a resource, which the server searches, among those that a query leaves. valueOf says what is sent for one;
// before is what was sent until now, and preset an object to begin with; by is the attribute that is sent, if that is no key of the objects.
// Its read returns an Error for a name that no object has, unless any text may be sent.
/** @type {(resource: Collection, valueOf: (object: any) => any, attributes: any, options?: PickerOptions) => Control} */
export const picker = (resource, valueOf, attributes, { before, preset, by, free = false, query = {}, headers = {} } = {}) => {
	const values = new Map(); // by what is shown
	const learn = (object) => {
		const name = brief(object) || String(valueOf(object));
		const shown = [undefined, valueOf(object)].includes(values.get(name)) ? name : `${name} (${valueOf(object)})`;
		values.set(shown, valueOf(object));
		if (String(valueOf(object)).length > 16) told.set(String(valueOf(object)), name);
		return shown;
	};
	const list = h('datalist', { id: fresh('choices') });
	const input = h('input', {
		...attributes,
		type: 'text',
		list: list.id,
		value: preset ? learn(preset) : (before ?? ''),
		autocomplete: 'off',
		spellcheck: 'false',
	});
	const search = async (text) =>
		(await call('GET', resource.service.prefix + resource.path, { query: { ...query, limit: 30, search: text }, headers })).data[resource.items].map(learn);
	const suggest = async () => {
		if (!input.isConnected) return; // the page was left
		put(
			list,
			(await search(values.has(input.value) ? '' : input.value)).map((value) => h('option', { value })),
		);
	};
	const quietly = () => suggest().catch(() => put(list));
	const known = (text) => text === '' || text === String(before ?? '') || values.has(text) || identifies(text);
	let trouble = '';
	seeks.set(input, async () => {
		const text = input.value.trim();
		trouble = '';
		if (!known(text))
			await search(text).catch((problem) => {
				trouble = problem.message;
			});
	});
	input.addEventListener('focus', quietly, { once: true });
	input.addEventListener('input', later(quietly));
	if (before != null && before !== '' && !preset) {
		objectBy(resource, by, before, headers).then(
			(found) => {
				if (found && input.value === String(before)) input.value = learn(found);
			},
			() => {},
		); // it stays as it is sent
	}
	return {
		input,
		element: [input, list],
		read: () => {
			const text = input.value.trim();
			if (text === '') return undefined;
			return values.get(text) ?? (free || known(text) ? text : new Error(trouble || `There is no "${text}" here: choose one of the list.`));
		},
	};
};
