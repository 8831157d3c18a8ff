// Whose an endpoint is: the name that Asterisk has of it is chosen at random, mostly, and tells people nothing.
import { call } from './api.js';
import { may, resources } from './definitions.js';
import { brief, h, put } from './dom.js';

const known = new Map(), // the links of names, or null where nobody has one
	few = 5; // names for which nothing but them is asked
let wanted = new Set(),
	asking;

export const forget = () => known.clear();

const link = (key, id, text) => [`#/${key}/${encodeURIComponent(id)}`, text];

const listed = async (key, query) => {
	const resource = /** @type {Resource} */ (resources.get(key));
	if (!may(resource?.list)) return [];
	return (await call('GET', resource.service.prefix + resource.path, { query })).data.items;
};

// ask looks the wanted names up: some by themselves, and many among all telephones.
const ask = async () => {
	const names = [...wanted],
		fields = 'id,name,users,extensions';
	wanted = new Set();
	asking = undefined;
	const [trunks, ...lines] = await Promise.all([
		listed('confd/trunks', { limit: 100, fields: 'id,endpoint_sip' }),
		...(names.length > few ? [listed('confd/lines', { limit: 1000, fields })] : names.map((name) => listed('confd/lines', { name, limit: 1, fields }))),
	]);
	for (const name of names) known.set(name, null);
	for (const { id, name, users, extensions } of lines.flat()) {
		const [user] = users;
		if (user) known.set(name, link('confd/users', user.uuid, [brief(user), brief(extensions)].filter(Boolean).join(', ')));
		else if (extensions.length > 0) known.set(name, link('confd/lines', id, brief(extensions)));
	}
	for (const { id, endpoint_sip: sip } of trunks) if (sip?.label) known.set(sip.name, link('confd/trunks', id, sip.label));
};

// whose is a text, such as the name of an endpoint, that the name of who has the endpoint replaces as soon as it is known, with a link there. What
// it was is told where one points at it.
export const whose = (name, element = h('span', {}, name)) => {
	const tell = () => {
		const [href, text] = known.get(name) ?? [];
		if (href) put(element, h('a', { href, title: name }, text));
	};
	if (known.has(name)) tell();
	else if (name) {
		wanted.add(name);
		asking ??= Promise.resolve().then(ask);
		asking.then(tell, () => {}); // it stays as it is
	}
	return element;
};
