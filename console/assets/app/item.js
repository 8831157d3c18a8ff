// The page of one object: its fields, its parts and its links.
import { call } from './api.js';
import { bodyOf, fill, idOf, keyOf, may, properties, target } from './definitions.js';
import { ask, brief, h, lead, put, say, words } from './dom.js';
import { form, refusal } from './form.js';
import { columnsOf, table } from './list.js';
import { picker } from './picker.js';

const trouble = (problem) => {
  if (!problem.messages) throw problem;
  return h('div', { class: 'error', role: 'alert' }, problem.messages.map((m) => h('p', {}, m)), refusal(problem));
};

// facts shows what only the service writes.
const facts = (resource, object) => {
  const shown = properties(resource.service, resource.schema ?? {}, resource.list)
    .filter(([name, p]) => p.readOnly && name !== 'links' && object[name] != null && brief(object[name]) !== '');
  return shown.length > 0 && h('details', { class: 'facts' }, h('summary', {}, 'Details'),
    h('dl', {}, shown.map(([name]) => [h('dt', {}, words(name)), h('dd', {}, brief(object[name]))])));
};

export const create = (main, resource) => {
  put(main, 
    h('p', { class: 'crumbs' }, h('a', { href: `#/${resource.key}` }, resource.title)),
    h('h1', { tabindex: '-1' }, 'New'),
    may(resource.create) ? '' : h('p', { class: 'denied' }, `Your token does not have the access ${resource.create.access}: the gateway will refuse this.`),
    form({ service: resource.service, schema: bodyOf(resource.service, resource.create), list: resource.list, key: keyOf(resource.service, resource.itemPath), action: 'Create', send: async (body) => {
      const { data } = await call('POST', resource.service.prefix + resource.path, { body });
      const id = idOf(resource.parameter, data ?? {});
      lead(resource.read && id !== undefined ? `#/${resource.key}/${encodeURIComponent(id)}` : `#/${resource.key}`, `${brief(data) || 'It'} was created.`);
    } }));
};

export const show = async (main, resource, id) => {
  const path = resource.service.prefix + fill(resource.itemPath, id);
  let object, tag;
  try {
    const { data, headers } = await call('GET', path);
    [object, tag] = [data, headers.get('ETag')];
  } catch (problem) {
    put(main, h('p', { class: 'crumbs' }, h('a', { href: `#/${resource.key}` }, resource.title)), h('h1', { tabindex: '-1' }, 'Not shown'), trouble(problem));
    return;
  }
  const again = () => show(main, resource, id);
  const remove = async () => {
    if (!await ask(`Delete ${brief(object)}?`, h('p', {}, 'This cannot be undone.'))) return;
    try {
      await call('DELETE', path);
      lead(`#/${resource.key}`, `${brief(object)} was deleted.`);
    } catch (problem) {
      say(trouble(problem), true);
    }
  };
  const update = resource.update && may(resource.update, id);
  put(main, 
    h('p', { class: 'crumbs' }, h('a', { href: `#/${resource.key}` }, resource.title)),
    h('header', { class: 'title' }, h('h1', { tabindex: '-1' }, brief(object) || id),
      resource.remove && h('button', { type: 'button', class: 'danger', disabled: !may(resource.remove, id), title: may(resource.remove, id) ? '' : `It takes ${resource.remove.access}`, click: remove }, 'Delete')),
    facts(resource, object),
    resource.update ? [
      !update && h('p', { class: 'denied' }, 'You may see this, and not change it.'),
      h('section', {}, form({ service: resource.service, schema: bodyOf(resource.service, resource.update), list: resource.list, key: keyOf(resource.service, resource.itemPath), before: object, hidden: writtenElsewhere(resource), send: async (body) => {
        if (Object.keys(body).length === 0) return say('Nothing was changed.');
        const answer = await call(resource.update.method, path, { body, headers: tag ? { 'If-Match': tag } : {} });
        await again();
        return say(answer.status === 204 || answer.status === 200 ? 'Saved.' : 'Done.');
      } })),
    ] : h('dl', {}, Object.entries(object).filter(([, value]) => brief(value) !== '').map(([name, value]) => [h('dt', {}, words(name)), h('dd', {}, typeof value === 'object' ? h('pre', {}, JSON.stringify(value, null, 1)) : brief(value))])));
  const shown = (resource.parts ?? []).filter((part) => may(part.get ?? part.put, id) && !linkOf(resource, part));
  main.append(...shown.map((part) => section(resource, part, id, object, again)));
};

// writtenElsewhere names the fields for which the object's page has a part.
const writtenElsewhere = (resource) => (resource.parts ?? []).filter((p) => p.kind !== 'list').map((p) => p.name.split('/').at(-1));

// linkOf returns the link that shows what a list has, if there is one.
const linkOf = (resource, part) => part.kind === 'list' && resource.parts.find((p) => p.kind === 'link' && p.name === part.name);

// section is one part of an object. It is fetched when it is opened.
const section = (resource, part, id, object, again) => {
  const box = h('div', {}, h('p', {}, 'Loading…'));
  const element = h('details', { class: 'part', toggle: async () => {
    if (!element.open) return;
    try {
      put(box, await contents[part.kind](resource, part, id, object, again));
    } catch (problem) {
      put(box, trouble(problem));
    }
  } }, h('summary', {}, part.title), box);
  return element;
};

const at = (resource, part, ...values) => resource.service.prefix + fill(part.path, ...values);

// list shows what belongs to an object, with a button for each when it can be removed.
const list = async (resource, part, id) => {
  const { data } = await call('GET', at(resource, part, id));
  const objects = data[part.items], other = target(resource.service, part.name);
  if (objects.length === 0) return h('p', { class: 'empty' }, 'There are none.');
  return table({ columns: columnsOf(resource.service, part.schema), objects, link: other?.read && ((o) => `#/${other.key}/${encodeURIComponent(idOf(other.parameter, o))}`) });
};

const contents = {
  list,
  shown: async (resource, part, id) => h('pre', {}, JSON.stringify((await call('GET', at(resource, part, id))).data, null, 1)),
  document: async (resource, part, id) => {
    const box = h('div');
    const draw = async () => {
      const { data, headers } = await call('GET', at(resource, part, id)), tag = headers.get('ETag');
      put(box, form({ service: resource.service, schema: bodyOf(resource.service, part.put), key: keyOf(resource.service, part.path), inherits: true, before: data, whole: true, send: async (body) => {
        await call('PUT', at(resource, part, id), { body, headers: tag ? { 'If-Match': tag } : {} });
        await draw();
        say(`${part.title} saved.`);
      } }));
    };
    await draw();
    return box;
  },
  replaced: async (resource, part, id, object, again) => {
    const schema = bodyOf(resource.service, part.put), name = Object.keys(schema.properties)[0];
    const before = { [name]: part.name.split('/').reduce((value, word) => value?.[word], object) ?? object[name] ?? [] };
    return form({ service: resource.service, schema, before, whole: true, send: async (body) => {
      await call('PUT', at(resource, part, id), { body: { [name]: [], ...body } });
      await again();
      say(`${part.title} saved.`);
    } });
  },
  link: async (resource, part, id, object, again) => {
    const other = target(resource.service, part.parameter) ?? target(resource.service, part.name);
    const linked = await linkedTo(resource, part, id, object);
    const change = async (method, otherID, done) => {
      try {
        await call(method, at(resource, part, id, otherID));
        await again();
        say(done);
      } catch (problem) {
        say(trouble(problem), true);
      }
    };
    const attributes = { 'aria-label': `Add to ${part.title}` };
    const chosen = other && may(other.list) ? picker(other, (o) => idOf(part.parameter, o), attributes)
      : ((input) => ({ input, element: input, read: () => input.value }))(h('input', { ...attributes, autocomplete: 'off' }));
    return [
      linked.length > 0 ? h('ul', { class: 'links' }, linked.map((o) => h('li', {},
        other?.read ? h('a', { href: `#/${other.key}/${encodeURIComponent(idOf(other.parameter, o))}` }, brief(o)) : brief(o),
        part.remove && h('button', { type: 'button', disabled: !may(part.remove, id, idOf(part.parameter, o)), click: () => change('DELETE', idOf(part.parameter, o), 'The link was removed.') }, 'Remove')))) : h('p', { class: 'empty' }, 'There are none.'),
      h('form', { method: 'post', class: 'add', submit: (event) => {
        event.preventDefault();
        const value = chosen.read();
        if (value instanceof Error) say(value.message, true);
        else if (value) change('PUT', value, 'The link was made.');
      } }, chosen.element, h('button', { type: 'submit', disabled: !may(part.put, id) }, 'Add')),
    ];
  },
};

// linkedTo finds the objects of a link: in the object itself, or in the list beside it.
const linkedTo = async (resource, part, id, object) => {
  const last = part.name.split('/').at(-1), names = [part.name.replaceAll('/', '_'), last, last.replace(/s$/, ''), part.name.replace(/s?\/|\//g, '_')];
  const own = names.find((name) => name in object);
  if (own) return [object[own]].flat().filter(Boolean);
  const beside = resource.parts.find((p) => p.kind === 'list' && p.name === part.name);
  return beside ? (await call('GET', at(resource, beside, id))).data[beside.items] : [];
};

// document is the page of settings that exist once.
export const document = async (main, resource) => {
  const path = resource.service.prefix + resource.path;
  const title = h('h1', { tabindex: '-1' }, resource.title);
  let data, tag;
  try {
    const { data: found, headers } = await call('GET', path);
    [data, tag] = [found, headers.get('ETag')];
  } catch (problem) {
    if (problem.status !== 404) {
      put(main, title, trouble(problem));
      return;
    }
  }
  put(main, title,
    !may(resource.update) ? h('p', { class: 'denied' }, 'You may see this, and not change it.') : '',
    form({ service: resource.service, schema: bodyOf(resource.service, resource.update), before: data, whole: true, send: async (body) => {
      await call('PUT', path, { body, headers: tag ? { 'If-Match': tag } : {} });
      await document(main, resource);
      say('Saved.');
    } }));
};
