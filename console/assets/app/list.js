// The page of a collection: search, order and pages are the server's.
import { call } from './api.js';
import { bodyOf, fill, idOf, may, properties } from './definitions.js';
import { ask, brief, h, later, put, say, words } from './dom.js';
import { refusal } from './form.js';

const size = 25;
const wanted = ['at', 'name', 'label', 'username', 'firstname', 'lastname', 'exten', 'number', 'context', 'lines', 'extensions', 'voicemail', 'destination',
  'members', 'user', 'emails', 'email', 'service', 'action', 'resource', 'object', 'type', 'protocol', 'feature', 'actor_uuid', 'client_id', 'created_at', 'expires_at', 'remote_addr',
  'user_agent', 'current', 'mobile', 'acl', 'enabled', 'read_only', 'description', 'uuid', 'id'];

// columnsOf picks the columns that tell the objects of a collection apart.
export const columnsOf = (service, schema, list, most = 6) => {
  const all = properties(service, schema, list).filter(([, p]) => !p.writeOnly).map(([name]) => name);
  const first = wanted.filter((name) => all.includes(name));
  const columns = (first.some((name) => name !== 'uuid' && name !== 'id') ? first.filter((name) => name !== 'uuid' && name !== 'id') : first).slice(0, most);
  return columns.length > 0 ? columns : all.slice(0, 5);
};

const orderOf = (resource) => resource.list.parameters?.find((p) => p.name === 'order')?.schema?.enum ?? [];
const takes = (resource, name) => resource.list.parameters?.some((p) => p.in === 'query' && p.name === name);

// table shows objects. Link returns the address of an object's page, or nothing. Extra returns more cells for a row.
export const table = ({ columns, objects, link, sort, pick }) => h('div', { class: 'scroll' }, h('table', {},
  h('thead', {}, h('tr', {}, pick && h('th', { class: 'pick' }, pick.all), columns.map((name) => h('th', { scope: 'col', 'aria-sort': sort?.state(name) }, sort?.can(name)
    ? h('button', { type: 'button', class: 'plain', click: () => sort.by(name) }, words(name), { ascending: ' ↑', descending: ' ↓' }[sort.state(name)] ?? '')
    : words(name))))),
  h('tbody', {}, objects.map((object) => {
    const named = columns.find((name) => brief(object[name]) !== '') ?? columns[0];
    return h('tr', {}, pick && h('td', { class: 'pick' }, pick.one(object)), columns.map((name) => {
      const text = brief(object[name]), to = name === named && link?.(object);
      return h('td', { 'data-label': words(name) }, to ? h('a', { href: to }, text || '(unnamed)') : text);
    }));
  }))));

export const show = async (main, resource, query) => {
  const columns = columnsOf(resource.service, resource.schema, resource.list, 9);
  // What only happened, such as sessions, comes with the newest first.
  const when = !columns.some((name) => ['name', 'label', 'firstname', 'exten'].includes(name)) && ['at', 'created_at'].find((name) => orderOf(resource).includes(name));
  const state = { search: query.get('search') ?? '', order: query.get('order') ?? (when || ''), direction: query.get('direction') ?? (when && !query.has('order') ? 'desc' : 'asc'), page: Number(query.get('page') ?? 1), recurse: query.get('recurse') ?? '' };
  const picked = new Map();
  const base = `#/${resource.key}`;
  const go = (change) => {
    if (!rows.isConnected) return undefined; // what was typed last, and then another page was opened
    Object.assign(state, change);
    const kept = new URLSearchParams(Object.entries(state).filter(([name, value]) => value && !(name === 'page' && value === 1) && !(name === 'direction' && !state.order)));
    history.replaceState(null, '', `${base}${kept.size > 0 ? '?' + kept : ''}`);
    return fetchPage();
  };
  const rows = h('div', { 'aria-live': 'polite', 'aria-busy': 'true' }), pages = h('nav', { class: 'pages', 'aria-label': 'Pages' }), bulk = h('div', { class: 'bulk', hidden: true });
  let asked;

  const fetchPage = async () => {
    asked?.abort();
    asked = new AbortController();
    rows.setAttribute('aria-busy', 'true');
    try {
      const { data } = await call('GET', resource.service.prefix + resource.path, { signal: asked.signal, query: {
        search: state.search, order: state.order, direction: state.order && state.direction, recurse: state.recurse,
        ...(takes(resource, 'limit') && { limit: size, offset: (state.page - 1) * size }),
      } });
      const last = lastPage(data);
      if (state.page > last) return go({ page: last }); // the rows of this page are gone
      draw(data);
    } catch (problem) {
      if (problem.name === 'AbortError') return undefined;
      if (!problem.messages) throw problem;
      put(rows, h('div', { class: 'error', role: 'alert' }, problem.messages.map((m) => h('p', {}, m)), refusal(problem)));
      put(pages);
    }
    rows.setAttribute('aria-busy', 'false');
    return undefined;
  };

  const foundIn = (data) => (state.search ? data.filtered : data.total) ?? data.total ?? data[resource.items].length;
  const lastPage = (data) => Math.max(1, Math.ceil(foundIn(data) / size));

  const draw = (data) => {
    const objects = data[resource.items], found = foundIn(data), last = lastPage(data);
    put(rows, objects.length > 0 ? table({
      columns: columns.filter((name) => name === state.order || objects.some((object) => brief(object[name]) !== '')), objects,
      link: resource.itemPath && resource.read ? (object) => `${base}/${encodeURIComponent(idOf(resource.parameter, object))}` : undefined,
      sort: { can: (name) => orderOf(resource).includes(name), by: (name) => go({ order: name, direction: state.order === name && state.direction === 'asc' ? 'desc' : 'asc', page: 1 }),
        state: (name) => (state.order === name ? { asc: 'ascending', desc: 'descending' }[state.direction] : undefined) },
      pick: resource.remove && { all: pickAll(objects), one: (object) => pickOne(object) },
    }) : h('p', { class: 'empty' }, state.search ? `Nothing has "${state.search}" in it.` : 'There is nothing here yet.'));
    put(pages, 
      h('span', {}, takes(resource, 'limit') ? `${found.toLocaleString()} in all, page ${state.page} of ${last}` : `${found.toLocaleString()} in all`),
      h('button', { type: 'button', disabled: state.page <= 1, click: () => go({ page: state.page - 1 }) }, 'Previous'),
      h('button', { type: 'button', disabled: !takes(resource, 'limit') || state.page >= last, click: () => go({ page: state.page + 1 }) }, 'Next'));
  };

  const id = (object) => idOf(resource.parameter, object);
  const pickOne = (object) => {
    const box = h('input', { type: 'checkbox', 'aria-label': `Choose ${brief(object)}`, change: () => {
      if (box.checked) picked.set(id(object), object);
      else picked.delete(id(object));
      offer();
    } });
    box.checked = picked.has(id(object));
    return box;
  };
  const pickAll = (objects) => {
    const box = h('input', { type: 'checkbox', 'aria-label': 'Choose all of this page', change: () => {
      for (const object of objects) box.checked ? picked.set(id(object), object) : picked.delete(id(object));
      for (const other of rows.querySelectorAll('td.pick input')) other.checked = box.checked;
      offer();
    } });
    return box;
  };
  const switchable = resource.update && 'enabled' in (bodyOf(resource.service, resource.update).properties ?? {});
  const offer = () => {
    bulk.hidden = picked.size === 0;
    put(bulk, `${picked.size} chosen: `,
      switchable && h('button', { type: 'button', disabled: !may(resource.update), click: () => each('enabled', (path) => call('PUT', path, { body: { enabled: true } })) }, 'Enable'),
      switchable && h('button', { type: 'button', disabled: !may(resource.update), click: () => each('disabled', (path) => call('PUT', path, { body: { enabled: false } })) }, 'Disable'),
      h('button', { type: 'button', class: 'danger', disabled: !may(resource.remove), click: async () => {
        if (await ask(`Delete ${picked.size} of ${resource.title}?`, h('ul', {}, [...picked.values()].slice(0, 10).map((o) => h('li', {}, brief(o))), picked.size > 10 && h('li', {}, `and ${picked.size - 10} more`)))) await each('deleted', (path) => call('DELETE', path));
      } }, 'Delete'));
  };
  const each = async (done, run) => {
    const failed = [];
    let n = 0;
    for (const [key, object] of picked) {
      say(`${++n} of ${picked.size}…`);
      try {
        await run(resource.service.prefix + fill(resource.itemPath, key));
        picked.delete(key);
      } catch (problem) {
        if (!problem.messages) throw problem;
        failed.push(`${brief(object)}: ${problem.message}`);
      }
    }
    say(failed.length > 0 ? `${n - failed.length} were ${done}, ${failed.length} were not. ${failed.slice(0, 3).join(' ')}` : `${n} were ${done}.`, failed.length > 0);
    offer();
    await fetchPage();
  };

  const search = h('input', { type: 'search', id: 'search', value: state.search, placeholder: 'Search', 'aria-label': `Search ${resource.title}`, autocomplete: 'off', input: later(() => go({ search: search.value, page: 1 })) });
  const below = h('input', { type: 'checkbox', id: 'recurse', change: () => go({ recurse: below.checked ? 'true' : '', page: 1 }) });
  below.checked = state.recurse === 'true';
  put(main, 
    h('header', { class: 'title' }, h('h1', { tabindex: '-1' }, resource.title),
      resource.create && (may(resource.create)
        ? h('a', { class: 'button primary', href: `${base}/+new` }, 'New')
        : h('span', { class: 'denied', title: `It takes the access ${resource.create.access}` }, 'You may not create any')),
      resource.key === 'confd/users' && may(resource.create) && h('a', { class: 'button', href: '#/telephone' }, 'New telephone user')),
    h('div', { class: 'tools' }, takes(resource, 'search') && search, takes(resource, 'recurse') && h('label', {}, below, ' Tenants below too')),
    bulk, rows, pages);
  await fetchPage();
};
