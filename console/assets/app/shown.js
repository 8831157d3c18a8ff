// How values are shown to people who read them: names for ids, words for values, tables for lists.
import {
	answer,
	idOf,
	kindOf,
	labelOf,
	may,
	operations,
	properties,
	referred as namedBy,
	resolve,
	resources,
	saidOf,
	sectionOf,
	services,
	target,
} from './definitions.js';
import { own, tenant } from './api.js';
import { brief, broken, h, moment, put, same, words } from './dom.js';
import { objectBy } from './picker.js';
import { forget, whose } from './whose.js';

// found are the objects that something on this page refers to, by where they are.
const found = new Map();
export const forgetNames = () => {
	found.clear();
	forget();
};

// Who has changed something may be of the tenant above, which is one's own: such an object has a name here, and no page.
const seek = (resource, value, by) => {
	const key = [resource.key, by, value].join(' ');
	const above = () => (tenant && !by ? objectBy(resource, by, value, { headers: own() }).then((object) => object && { ...object, above: true }) : undefined);
	if (!found.has(key))
		found.set(
			key,
			objectBy(resource, by, value)
				.catch(above)
				.catch(() => undefined),
		);
	return found.get(key);
};

// referred returns what a value names, if one may read it.
const referred = (service, name, schema) => {
	const { resource, by } = namedBy(service, name, schema) ?? {};
	const other = resource && !('name' in (resource.schema?.properties ?? {})) ? (twin(resource) ?? resource) : resource;
	return other?.read && may(other.read) ? { resource: other, by: /^(id|uuid)$/.test(by) ? undefined : by } : undefined;
};

// heading returns how people read the name of an attribute of which the value is shown: of what names an object, its name is.
export const heading = (service, name, schema, label = labelOf(schema, name)) => (referred(service, name, schema) ? label.replace(/ (ID|UUID)$/, '') : label);

// nameLater is a text that the name of an object replaces as soon as it is known.
/** @param {Resource} resource */
export const nameLater = (resource, id, element = h('span', {}, String(id))) => {
	seek(resource, id).then((object) => {
		if (object && brief(object)) put(element, broken(brief(object)));
		if (object?.above) element.removeAttribute('href');
	});
	return element;
};

// crumbs tell where a page is: in a part of the console and, of an object, below the list of its like.
/** @param {Resource} resource */
export const crumbs = (resource, below = true) =>
	h('p', { class: 'crumbs' }, sectionOf(resource.service), below && [' › ', h('a', { href: `#/${resource.key}` }, resource.title)]);

const linkTo = (resource, id, ...text) => h('a', { href: `#/${resource.key}/${encodeURIComponent(id)}` }, text);

// named is a link to an object of which one knows the key, or another attribute: with its name, as soon as it is known.
const named = ({ resource, by = '' }, value) => {
	if (!by) return nameLater(resource, value, linkTo(resource, value, String(value)));
	const element = h('span', {}, String(value));
	seek(resource, value, by).then((object) => {
		if (object) put(element, linkTo(resource, idOf(resource.parameter, object), brief(object)));
	});
	return element;
};

// labelled shows objects of a resource with the names that they have for people, where what refers to them tells other names, or ids alone.
const labelled = (service, name, content) => {
	const items = [content].flat(),
		bare = (item) => item && typeof item === 'object' && brief(item) === String(item.uuid ?? item.id);
	const resource =
		items.length > 0 && items.every((item) => bare(item) || (item?.name && !item.label && (item.uuid ?? item.id))) ? target(service, name) : undefined;
	if (!resource?.read || !may(resource.read) || !(resource.schema?.properties?.label || items.every(bare))) return undefined;
	const told = items.slice(0, 3).flatMap((item, i) => [i > 0 && ', ', nameLater(resource, idOf(resource.parameter, item), h('span', {}, brief(item)))]);
	return h('span', {}, told, items.length > 3 && ` and ${items.length - 3} more`);
};

// twin returns the resource of another service whose object has the same UUID, and a name: a tenant of the telephony is one of the gateway.
/** @param {Resource} resource */
export const twin = (resource) =>
	[...resources.values()].find(
		(other) =>
			other !== resource &&
			other.path === resource.path &&
			other.itemPath &&
			may(other.read) &&
			/uuid$/.test(other.parameter) &&
			'name' in (other.schema?.properties ?? {}),
	);

// random are the kinds of objects whose names are chosen at random, where nobody says another.
const random = ['confd/endpoints/sip', 'confd/lines'];

// done shows what an entry of the audit tells by the words of the definition: the operation, the kind of what it has changed, and the
// changed objects themselves. Of these the entry has what they were, or are; it also names those that are gone.
const done = {
	'services.name': (_, name) => services.filter((s) => s.name === name).map(sectionOf)[0],
	'operations.id': (entry, id) => operations.find((o) => o.service.name === entry.service && o.operationId === id)?.summary,
	'operations.path': (entry) => {
		const { of, part } = about(entry);
		return of && [of.title, part && (of.parts?.find((p) => p.name === part)?.title ?? words(part)).toLowerCase()].filter(Boolean).join(': ');
	},
	'operations.keys': (entry, keys) => {
		const { of, part, parameters = [] } = about(entry),
			values = String(keys).split('/');
		if (!of) return undefined;
		const now = entry.after ?? entry.before,
			name = !part && now && typeof now === 'object' ? brief(now) : '';
		if (name && name !== String(keys) && values.length === 1) {
			const link = entry.after && of.read && may(of.read, keys) && linkTo(of, keys, name);
			if (!random.includes(of.key) || now.label) return link || name;
			return h('span', {}, link || name, ' ', whose(now.name, h('small')));
		}
		const kinds = values.length === 1 ? [of] : parameters.map((parameter, i) => (i === 0 ? of : target(of.service, parameter)));
		if (kinds.length !== values.length) return undefined;
		return h(
			'span',
			{},
			values.flatMap((value, i) => [i > 0 && ', ', kinds[i]?.read && may(kinds[i].read, value) ? named({ resource: kinds[i] }, value) : value]),
		);
	},
};

// about tells what an entry of the audit is about: a resource, the part of its objects, if it is one, and the parameters of the part's path.
const about = ({ service, resource, object }) => {
	const path = String(resource).split('/'),
		at = path.map((_, i) => path.length - i).find((n) => resources.has([service, ...path.slice(0, n)].join('/')));
	if (!at) return {};
	const of = resources.get([service, ...path.slice(0, at)].join('/'));
	const parameters = operations
		.filter((o) => o.service.name === service && o.path.replace(/\/\{\w+\}/g, '') === `/${resource}`)
		.map((o) => [...o.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
		.find((all) => all.length === String(object).split('/').length);
	return { of, part: path.slice(at).join('/'), parameters };
};

// value shows one value of an attribute, in a few words. Object is what has the attribute.
export const value = (service, name, schema, content, object) => {
	if (content == null || content === '') return '';
	if (typeof content === 'boolean') return h('span', { class: brief(content) }, brief(content));
	if ((schema?.enum || schema?.['x-enum-labels']) && typeof content === 'string') return saidOf(schema, content);
	if (object && done[schema?.['x-ref']]) {
		const said = done[schema['x-ref']](object, content) ?? (schema['x-ref'] === 'operations.id' ? words(content) : String(content));
		return h('span', { title: String(content), class: schema['x-ref'] === 'services.name' && 'whole' }, said);
	}
	if (schema?.format === 'date-time' && typeof content === 'string') return h('time', { datetime: content }, moment(content));
	const other = typeof content !== 'object' && referred(service, name, schema);
	if (other) return named(other, content);
	const people = typeof content === 'object' && labelled(service, name, content);
	if (people) return people;
	if (schema?.discriminator && typeof content === 'object') return told(service, schema, content);
	if (Array.isArray(content) && content.some((item) => item && typeof item === 'object' && !brief(item))) return `${content.length}`;
	if (typeof content === 'object' && !Array.isArray(content) && !brief(content)) {
		const lists = Object.values(content).filter(Array.isArray),
			count = Object.keys(content).length;
		return lists.length > 0 ? brief(lists.flat()) : schema?.additionalProperties && count > 0 ? `${count}` : '';
	}
	return brief(content);
};

// told returns what an object of one of several kinds is, in words: its kind and its names or, without any, its numbers.
export const told = (service, schema, content, outer = []) => {
	const by = schema.discriminator?.propertyName;
	if (!by || !schema.discriminator.mapping[content[by]]) return brief(content);
	const kind = kindOf(service, schema, content[by]),
		known = [...outer, by];
	if (kind.schema.discriminator) return `${kind.said}: ${told(service, kind.schema, content, known).replace(/^./, (letter) => letter.toLowerCase())}`;
	const rest = Object.entries(content).filter(
		([name, v]) => !known.includes(name) && name !== 'href' && !/_(id|uuid)$/.test(name) && ['string', 'number'].includes(typeof v) && v !== '',
	);
	const said = (name, v) => ((p) => (p.enum ? saidOf(p, v) : v))(resolve(service, kind.schema.properties?.[name]));
	const names = rest.filter(([name, v]) => typeof v === 'string' && !(name.endsWith('_name') && content[name.replace(/name$/, 'label')]));
	const numbers = rest
		.filter(([, v]) => typeof v === 'number')
		.map(([name, v]) => `${labelOf(resolve(service, kind.schema.properties?.[name]), name).toLowerCase()} ${v}`);
	return [kind.said, names.length > 0 ? names.map(([name, v]) => said(name, v)).join(' ') : numbers.join(', ')].filter(Boolean).join(': ');
};

// meant is what told tells, with links to what it names by a number alone.
const meant = (service, schema, content) => {
	const text = told(service, schema, content),
		kind = kindOf(service, schema, content[schema.discriminator.propertyName]).schema;
	const others = text.includes(': ')
		? []
		: Object.entries(content)
				.map(([name, v]) => [referred(service, name, resolve(service, kind.properties?.[name])), v])
				.filter(([other, v]) => other && v != null);
	return others.length > 0 ? h('span', {}, text, ': ', named(...others[0])) : text;
};

// state shows what the audit has of an object, before or after a change, as the pages of its kind do; of what there is of both, what differs.
const state = (entry, content, other) => {
	const { of, part } = about(entry),
		plain = (v) => v && typeof v === 'object' && !Array.isArray(v);
	if (!of || !plain(content)) return undefined;
	const { service } = of,
		get = of.parts?.find((p) => p.name === part && p.kind !== 'list')?.get;
	const schema = part ? answer(service, get) : (of.schema ?? answer(service, of.read));
	if (!schema.properties)
		return h(
			'dl',
			{},
			Object.entries(content).map(([name, v]) => [h('dt', {}, words(name)), h('dd', {}, members(target(service, name), v))]),
		);
	const changed = plain(other) ? Object.fromEntries(Object.entries(content).filter(([name, v]) => !same(v, other[name]))) : content;
	return changed === content
		? all(service, schema, content)
		: [all(service, schema, changed), h('details', {}, h('summary', {}, 'With what stayed the same'), all(service, schema, content))];
};

// members shows the keys that the audit has of what a change has put together, such as "12 (priority 0)", by the names of what they are of.
const members = (resource, content) => {
	const one = (text) => {
		const [, key, rest] = String(text).match(/^(\S+)(.*)$/s) ?? [];
		return key && resource?.read && may(resource.read, key) ? [named({ resource }, key), rest] : brief(text);
	};
	if (!Array.isArray(content)) return one(content);
	return content.length > 0
		? h(
				'ul',
				{},
				content.map((item) => h('li', {}, one(item))),
			)
		: 'none';
};

// all shows a value as a whole: the attributes of an object, and lists as tables.
export const all = (service, schema, content) => {
	const resolved = resolve(service, schema);
	if (content?.[resolved.discriminator?.propertyName ?? ''] in (resolved.discriminator?.mapping ?? {})) return meant(service, resolved, content);
	if (Array.isArray(content)) {
		if (content.length === 0) return 'none';
		if (content.every((item) => item && typeof item === 'object' && !Array.isArray(item))) {
			const items = resolve(service, resolved.items);
			const columns = [...new Set(content.flatMap((item) => Object.keys(item)))].filter(
				(name) => name !== 'links' && content.some((item) => value(service, name, {}, item[name]) !== ''),
			);
			return h(
				'div',
				{ class: 'scroll' },
				h(
					'table',
					{},
					h(
						'thead',
						{},
						h(
							'tr',
							{},
							columns.map((name) => h('th', { scope: 'col' }, heading(service, name, resolve(service, items.properties?.[name])))),
						),
					),
					h(
						'tbody',
						{},
						content.map((item) =>
							h(
								'tr',
								{},
								columns.map((name) => {
									const inner = resolve(service, items.properties?.[name]);
									return h('td', { 'data-label': heading(service, name, inner) }, h('div', {}, value(service, name, inner, item[name], item)));
								}),
							),
						),
					),
				),
			);
		}
		return h(
			'ul',
			{},
			content.map((item) => h('li', {}, Array.isArray(item) ? item.join(' = ') : brief(item))),
		);
	}
	if (content && typeof content === 'object') {
		const entries = Object.entries(content).filter(([name, v]) => name !== 'links' && v != null && v !== '' && !(Array.isArray(v) && v.length === 0));
		if (entries.length === 0) return 'nothing';
		const changed = resolve(service, resolved.properties?.object)['x-ref'] === 'operations.keys'; // by an entry of the audit
		return h(
			'dl',
			{},
			entries.map(([name, v]) => {
				const inner = resolve(service, resolved.properties?.[name] ?? resolved.additionalProperties);
				return [
					h('dt', {}, heading(service, name, inner, labelOf(resolved.properties?.[name] && inner, name))),
					h(
						'dd',
						{},
						(changed && /^(before|after)$/.test(name) && state(content, v, content[name === 'after' ? 'before' : 'after'])) ||
							(v && typeof v === 'object' ? all(service, inner, v) : value(service, name, inner, v, content)),
					),
				];
			}),
		);
	}
	return brief(content);
};

// facts are the attributes of an object that only the service writes.
/** @param {Resource} resource */
export const facts = (resource, object) => {
	const shown = properties(resource.service, resource.schema ?? {}, resource.list).filter(
		([name, p]) => p.readOnly && name !== 'links' && object[name] != null && value(resource.service, name, p, object[name]) !== '',
	);
	return (
		shown.length > 0 &&
		h(
			'details',
			{ class: 'facts' },
			h('summary', {}, 'Details'),
			h(
				'dl',
				{},
				shown.map(([name, p]) => [h('dt', {}, heading(resource.service, name, p)), h('dd', {}, value(resource.service, name, p, object[name], object))]),
			),
		)
	);
};

// titled returns the name of an object, or its id, which the name of its twin replaces as soon as that is known.
/** @param {Resource} resource */
export const titled = (resource, object, id) => {
	const schema = (name) => resolve(resource.service, resource.schema?.properties?.[name]),
		said = Object.keys(object).find((name) => schema(name)['x-ref'] === 'operations.id');
	const name = said ? value(resource.service, said, schema(said), object[said], object).textContent : brief(object),
		title = h('h1', { tabindex: '-1' }, broken(name || String(id)));
	const other = (!name || name === object.uuid) && object.uuid && twin(resource);
	return other ? nameLater(other, object.uuid, title) : title;
};
