// Where calls go from an object: a tree that one walks, of which a branch is read when it is opened.
import { call } from './api.js';
import { fill, labelOf, leadsOn, may, referred, resolve, resources } from './definitions.js';
import { brief, h, put } from './dom.js';
import { trouble } from './form.js';
import { takenBy } from './number.js';
import { nameLater, told } from './shown.js';

const deepest = 12; // a branch below is on the page of its object

const forwards = { unconditional: 'Always', busy: 'When busy', noanswer: 'Without an answer' };

// branches are the ways that calls take from an object: when, and a destination, or an object of a kind, or a text.
/** @type {(resource: Resource, object: any) => any[]} */
const branches = ({ service, schema = {} }, object) => {
	const destinations = (of, inside) =>
		Object.entries(of ?? {})
			.filter(([name, value]) => name.endsWith('destination') && value)
			.map(([name, destination]) => {
				const when = labelOf(resolve(service, resolve(service, inside).properties?.[name]), name).replace(/ ?destination$/i, '');
				return { when: when || 'To', destination };
			});
	const { schedules = [], choices = [], exceptional_periods: exceptions = [], forwards: sent = {}, members = {} } = object;
	return [
		...schedules.map((one) => ({ when: 'By the hours of', key: 'confd/schedules', one })),
		...Object.entries(forwards).flatMap(([name, when]) => (sent[name]?.enabled ? [{ when, text: `forwarded to ${sent[name].destination}` }] : [])),
		...choices.map(({ exten, destination }) => ({ when: `Key ${exten}`, destination })),
		...(members.agents ?? []).map((one) => ({ when: 'Rings', key: 'confd/agents', one, ends: true })),
		...(members.users ?? []).map((one) => ({ when: 'Rings', key: 'confd/users', one, ends: true })),
		...(members.extensions ?? []).map((one) => ({ when: 'Rings', text: one.exten })),
		...destinations(object, schema),
		...exceptions.map(({ destination }) => ({ when: 'On exceptional days', destination })),
		...destinations(object.fallbacks, resolve(service, schema.properties?.fallbacks)),
	];
};

// kindOf returns the schema of what a destination is, of which another attribute may tell a kind of its own.
const kindOf = (service, schema, content) => {
	const by = schema.discriminator && schema.discriminator.mapping[content[schema.discriminator.propertyName]];
	return by ? kindOf(service, resolve(service, { $ref: by }), content) : schema;
};

// objectOf returns the kind and the key of the object that a destination leads to, if it is one.
const objectOf = (service, destination) => {
	const kind = kindOf(service, resolve(service, { $ref: '#/components/schemas/Destination' }), destination);
	const [found] = (kind.required ?? []).flatMap((name) => {
		const { resource, by } = referred(service, name, resolve(service, kind.properties?.[name])) ?? {};
		return resource?.read && /^(id|uuid)$/.test(by) ? [{ resource, id: destination[name] }] : [];
	});
	return found;
};

const keysOf = (resource, object) => [object.id, object.uuid].filter((id) => id != null).map((id) => `${resource.key}/${id}`);

// limb shows one branch; above are the objects that lead to it. Of a way without forks all is shown at once.
const limb = (service, { when, destination, key, one, text, ends = false }, above, only) => {
	const found = key ? { resource: resources.get(key), id: one.uuid ?? one.id } : destination && objectOf(service, destination);
	const { resource, id } = found ?? {};
	const name = text ?? (key ? brief(one) : told(service, resolve(service, { $ref: '#/components/schemas/Destination' }), destination)),
		seen = resource && may(resource.read, id),
		link = seen ? h('a', { href: `#/${resource.key}/${encodeURIComponent(id)}` }, name || String(id)) : h('span', {}, name);
	const shown = [h('span', { class: 'quiet' }, `${when}: `), seen && (!name || name === String(id)) ? nameLater(resource, id, link) : link];
	if (resource && above.includes(`${resource.key}/${id}`))
		return h('li', {}, shown, h('span', { class: 'quiet' }, ' – back to where it was already: a circle'));
	const number = destination?.type === 'extension';
	if (ends || (!number && !(seen && leadsOn(resource))) || above.length > 2 * deepest) return h('li', {}, shown);
	const box = h('div', { hidden: true });
	const draw = async () => {
		try {
			if (number) put(box, h('p', {}, (await takenBy(destination.exten, destination.context)) ?? 'Nothing has this number.'));
			else put(box, grown(resource, (await call('GET', resource.service.prefix + fill(resource.itemPath, id))).data, above));
		} catch (problem) {
			put(box, trouble(problem, draw));
		}
	};
	const follow = () => {
		box.hidden = !box.hidden;
		put(button, box.hidden ? '▸' : '▾');
		button.setAttribute('aria-expanded', String(!box.hidden));
		if (!box.hidden) draw();
	};
	const button = h('button', { type: 'button', class: 'plain', 'aria-expanded': 'false', 'aria-label': `Follow: ${when}: ${name}`, click: follow }, '▸');
	if (only) follow();
	return h('li', {}, button, shown, box);
};

// grown are the branches of an object.
const grown = (resource, object, above) => {
	const all = branches(resource, object),
		now = [...above, ...keysOf(resource, object)];
	return all.length > 0
		? h(
				'ul',
				{ class: 'tree' },
				all.map((one) => limb(resource.service, one, now, all.length === 1)),
			)
		: h('p', { class: 'quiet' }, 'Calls end here.');
};

// show puts the tree of an object in its place.
/** @type {(place: any, resource: Paged, object: any) => void} */
export const show = (place, resource, object) => {
	put(place, grown(resource, object, []));
};
