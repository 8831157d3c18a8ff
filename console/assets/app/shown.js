// How values are shown to people who read them: names for ids, words for values, tables for lists.
import { call } from './api.js';
import { fill, idOf, kindOf, labelOf, may, properties, resolve, resources, saidOf, target } from './definitions.js';
import { brief, h } from './dom.js';

// names are those of objects that something on this page refers to, by their paths.
const names = new Map();
export const forgetNames = () => names.clear();

const nameOf = (resource, id) => {
  const path = resource.service.prefix + fill(resource.itemPath, id);
  if (!names.has(path)) names.set(path, call('GET', path).then(({ data }) => brief(data), () => ''));
  return names.get(path);
};

// referred returns the resource whose object an attribute names by its id, if one may read it.
const referred = (service, name, schema) => {
  if (!/_(id|uuid)$/.test(name)) return undefined;
  const resource = target(service, schema?.['x-ref'] ?? name);
  const other = resource && !('name' in (resource.schema?.properties ?? {})) ? twin(resource) ?? resource : resource;
  return other?.read && may(other.read) ? other : undefined;
};

// nameLater is a text that the name of an object replaces as soon as it is known.
export const nameLater = (resource, id, element = h('span', {}, String(id))) => {
  nameOf(resource, id).then((name) => { if (name) element.textContent = name; });
  return element;
};

// named is a link to an object of which one knows the id: with its name, as soon as it is known.
const named = (resource, id) => nameLater(resource, id, h('a', { href: `#/${resource.key}/${encodeURIComponent(id)}` }, String(id)));

// twin returns the resource of another service whose object has the same UUID, and a name: a tenant of the telephony is one of the gateway.
export const twin = (resource) => [...resources.values()].find((other) => other !== resource && other.path === resource.path && other.read && may(other.read) &&
  /uuid$/.test(other.parameter) && 'name' in (other.schema?.properties ?? {}));

// value shows one value of an attribute, in a few words.
export const value = (service, name, schema, content) => {
  if (content == null || content === '') return '';
  if (schema?.enum && typeof content === 'string') return saidOf(schema, content);
  const other = typeof content !== 'object' && referred(service, name, schema);
  if (other) return named(other, content);
  if (schema?.discriminator && typeof content === 'object') return told(service, schema, content);
  if (Array.isArray(content) && content.some((item) => item && typeof item === 'object' && !brief(item))) return `${content.length}`;
  if (typeof content === 'object' && !Array.isArray(content) && !brief(content)) {
    const lists = Object.values(content).filter(Array.isArray), count = Object.keys(content).length;
    return lists.length > 0 ? brief(lists.flat()) : schema?.additionalProperties && count > 0 ? `${count}` : '';
  }
  return brief(content);
};

// told returns what an object of one of several kinds is, in words: its kind and its names.
export const told = (service, schema, content) => {
  const by = schema.discriminator?.propertyName;
  if (!by || !schema.discriminator.mapping[content[by]]) return brief(content);
  const kind = kindOf(service, schema, content[by]);
  if (kind.schema.discriminator) return told(service, kind.schema, content);
  const rest = Object.entries(content).filter(([name, v]) => name !== by && name !== 'href' && !/_(id|uuid)$/.test(name) && ['string', 'number'].includes(typeof v) && v !== '');
  return [kind.said, rest.map(([, v]) => v).join(' ')].filter(Boolean).join(': ');
};

// all shows a value as a whole: the attributes of an object, and lists as tables.
export const all = (service, schema, content) => {
  const resolved = resolve(service, schema);
  if (Array.isArray(content)) {
    if (content.length === 0) return 'none';
    if (content.every((item) => item && typeof item === 'object' && !Array.isArray(item))) {
      const items = resolve(service, resolved.items);
      const columns = [...new Set(content.flatMap((item) => Object.keys(item)))].filter((name) => name !== 'links' && content.some((item) => value(service, name, {}, item[name]) !== ''));
      return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, columns.map((name) => h('th', { scope: 'col' }, labelOf(resolve(service, items.properties?.[name]), name))))),
        h('tbody', {}, content.map((item) => h('tr', {}, columns.map((name) => {
          const inner = resolve(service, items.properties?.[name]);
          return h('td', { 'data-label': labelOf(inner, name) }, h('div', {}, value(service, name, inner, item[name])));
        }))))));
    }
    return h('ul', {}, content.map((item) => h('li', {}, Array.isArray(item) ? item.join(' = ') : brief(item))));
  }
  if (content && typeof content === 'object') {
    const entries = Object.entries(content).filter(([name, v]) => name !== 'links' && v != null && v !== '' && !(Array.isArray(v) && v.length === 0));
    if (entries.length === 0) return 'nothing';
    return h('dl', {}, entries.map(([name, v]) => {
      const inner = resolve(service, resolved.properties?.[name] ?? resolved.additionalProperties);
      return [h('dt', {}, labelOf(resolved.properties?.[name] && inner, name)), h('dd', {}, v && typeof v === 'object' ? all(service, inner, v) : value(service, name, inner, v))];
    }));
  }
  return brief(content);
};

// facts are the attributes of an object that only the service writes.
export const facts = (resource, object) => {
  const shown = properties(resource.service, resource.schema ?? {}, resource.list)
    .filter(([name, p]) => p.readOnly && name !== 'links' && object[name] != null && value(resource.service, name, p, object[name]) !== '');
  return shown.length > 0 && h('details', { class: 'facts' }, h('summary', {}, 'Details'),
    h('dl', {}, shown.map(([name, p]) => [h('dt', {}, labelOf(p, name)), h('dd', {}, value(resource.service, name, p, object[name]))])));
};

// titled returns the name of an object, or its id, which the name of its twin replaces as soon as that is known.
export const titled = (resource, object, id) => {
  const name = brief(object), title = h('h1', { tabindex: '-1' }, name || id);
  const other = (!name || name === object.uuid) && object.uuid && twin(resource);
  return other ? nameLater(other, object.uuid, title) : title;
};
