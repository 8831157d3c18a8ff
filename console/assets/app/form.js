// Forms that are made from the schemas of the definitions.
import { call } from './api.js';
import { kindOf, labelOf, may, properties, resolve, saidOf, target } from './definitions.js';
import { brief, fresh, h, later, literal, put, same, words } from './dom.js';
import { merged } from './merge.js';
import { picker } from './picker.js';
import { value as shown } from './shown.js';

// hint says what may be entered: the description, unless it is the label again ("The first name."), and the limits that it does not tell.
const hint = (name, schema) => {
  const limits = [];
  if (schema.minimum !== undefined && schema.minimum > 0) limits.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined && schema.maximum < 2 ** 31 - 1) limits.push(`at most ${schema.maximum}`);
  if (schema.maxLength !== undefined && schema.maxLength < 64) limits.push(`up to ${schema.maxLength} characters`);
  if (schema.default !== undefined && schema.default !== null && !['object', 'boolean'].includes(typeof schema.default) && schema.default !== '' && !schema.enum) limits.push(`${schema.default} by default`);
  const label = labelOf(schema, name);
  const text = limits.join(', ');
  const description = schema.description?.replaceAll('`', '').replace(/ ?On create null stands for the default; an update refuses it\./, '') ?? ''; // of no use here
  const again = description.toLowerCase() === `the ${label.toLowerCase()}.`;
  return [!again && description, text && text.charAt(0).toUpperCase() + text.slice(1) + '.'].filter(Boolean).join(' ');
};

// field returns an input for a value of a schema: its element, read (undefined: leave it out; an Error: it cannot be read), refuse, which
// shows what the gateway says about it, and find, which returns the innermost field that a message is about. Before is the value until now.
const field = (context, name, schema, before, required) => {
  const other = referred(context, name, schema), id = fresh(name), about = other ? '' : hint(name, schema);
  const error = h('span', { class: 'error', id: `${id}-error` });
  const describedby = [about && `${id}-hint`, `${id}-error`].filter(Boolean).join(' ');
  const control = controlFor(context, name, schema, before, { id, 'aria-describedby': describedby, required });
  const said = /^(id|uuid)$/.test(name) && other ? other.title.replace(/s$/, '') : labelOf(schema, name).replace(other ? / (ID|UUID)$/ : /$^/, '');
  const label = said + (required ? ' *' : '');
  const note = about && h('small', { id: `${id}-hint` }, about);
  const refuse = (text) => {
    error.textContent = text;
    control.input?.setAttribute('aria-invalid', String(text !== ''));
    if (text && control.input) control.input.focus();
  };
  const find = (message) => control.find?.(message) ?? (names(message, name) ? self : undefined);
  const self = { name, label: said, schema, read: control.read, refuse, find };
  if (control.group) {
    control.input?.setAttribute('aria-label', label);
    return { ...self, element: h('fieldset', {}, h('legend', {}, label), note, control.element, error) };
  }
  const row = control.input?.type === 'checkbox'
    ? h('div', { class: 'field check' }, control.element, h('label', { for: id }, label), note, error)
    : h('div', { class: 'field' }, h('label', { for: id }, label), control.element, note, error);
  return { ...self, element: row };
};

// names reports whether a message is about a field of this name.
const names = (message, name) => new RegExp(`(^|['"\\s])${literal(name)}(['":\\s.[]|$)`).test(message);

// among returns the first that fields find for a message.
const among = (inputs, message) => inputs.reduce((found, input) => found ?? input.find(message), undefined);

const controlFor = (context, name, schema, before, attributes) => {
  if (schema.enum && schema.enum.length > 1) return choice(schema, before, attributes);
  if (schema.discriminator) return variants({ ...context, of: undefined }, schema, before, attributes);
  if (schema.type === 'boolean') return toggle(schema, before, attributes);
  const other = referred(context, name, schema);
  if (other) return reference(other, name, schema, before, attributes);
  if (schema.type === 'integer' || schema.type === 'number') return text(context, name, schema, before, { ...attributes, type: 'number', step: schema.type === 'integer' ? 1 : 'any', min: schema.minimum, max: schema.maximum > 2 ** 31 ? undefined : schema.maximum });
  if (schema.type === 'string') return text(context, name, schema, before, attributes);
  if (schema.type === 'array') {
    const items = resolve(context.service, schema.items);
    if (items.type === 'array' && resolve(context.service, items.items).type === 'string') return pairs(before, attributes);
    return items.type === 'string' ? lines(before, attributes) : items.properties ? many({ ...context, of: name }, items, before) : raw(before, attributes);
  }
  if (schema.properties && Object.keys(schema.properties).length > 0) return group({ ...context, of: name }, schema, before);
  const entries = resolve(context.service, schema.additionalProperties);
  if (entries.properties) return keyed({ ...context, of: undefined }, entries, before);
  return raw(before, attributes);
};

const text = (context, name, schema, before, attributes) => {
  const secret = schema.writeOnly && /password|secret/.test(name) || /^((old|new)_)?password$/.test(name);
  const long = schema.maxLength > 1000 && !secret;
  const type = attributes.type ?? (secret ? 'password' : schema.format === 'email' ? 'email' : 'text');
  const input = h(long ? 'textarea' : 'input', {
    ...attributes, ...(!long && { type }), value: before ?? '', maxlength: schema.maxLength, spellcheck: 'false',
    autocomplete: secret ? 'new-password' : 'off', ...(long && { rows: 2 }),
  });
  const element = secret ? input : suggest(context, schema, input);
  return {
    input, element,
    read: () => {
      const value = input.value;
      if (value === '') return before == null ? undefined : schema.nullable ? null : type === 'number' ? undefined : '';
      return type === 'number' ? Number(value) : value;
    },
  };
};

// referred returns the resource whose objects a field names by their ids, if one can list them. In a list, such as "users", the items' own
// id does.
const referred = (context, name, schema) => {
  const own = /^(id|uuid)$/.test(name) && context.of;
  if (!own && !/_(id|uuid)$/.test(name) || schema['x-ref']?.includes('.')) return undefined;
  const resource = target(context.service, schema['x-ref'] ?? (own || name), name);
  return may(resource?.list) ? resource : undefined;
};

// reference is the id of another object, which one picks by its name.
const reference = (resource, name, schema, before, attributes) => {
  const { read, ...rest } = picker(resource, (object) => (/uuid$/.test(name) ? object.uuid : object.id), attributes, { before });
  return { ...rest, read: () => {
    const value = read();
    if (value === undefined) return before == null ? undefined : schema.nullable ? null : '';
    return schema.type === 'integer' && !(value instanceof Error) ? Number(value) : value;
  } };
};

// suggest lists the names that a field may have: those of the objects that it refers to.
const suggest = (context, schema, input) => {
  const [from, by] = (schema['x-ref'] ?? '').split('.');
  const resource = by && target(context.service, from);
  if (!resource) return input;
  const list = h('datalist', { id: `${input.id}-list` });
  input.setAttribute('list', list.id);
  const fetchSome = async () => {
    if (!input.isConnected) return; // the page was left
    const { data } = await call('GET', resource.service.prefix + resource.path, { query: { limit: 30, search: input.value } });
    put(list, data[resource.items].map((item) => h('option', { value: item[by] }, item.label && item.label !== item[by] ? item.label : brief(item))));
  };
  const quietly = () => fetchSome().catch(() => put(list));
  input.addEventListener('focus', quietly, { once: true });
  input.addEventListener('input', later(quietly));
  return [input, list];
};

const toggle = (schema, before, attributes) => {
  const { required, ...rest } = attributes;
  const input = h('input', { ...rest, type: 'checkbox' });
  input.checked = before ?? schema.default ?? false;
  const first = input.checked;
  return { input, element: input, read: () => (before == null && input.checked === first ? undefined : input.checked) };
};

const choice = (schema, before, attributes) => {
  const none = schema.nullable || !attributes.required;
  const input = h('select', attributes, none && h('option', { value: '' }, schema.default == null ? '—' : `— (${saidOf(schema, schema.default)})`),
    schema.enum.filter((value) => value !== null).map((value) => h('option', { value, selected: value === before }, value === '' ? 'none' : saidOf(schema, value))));
  return {
    input, element: input,
    read: () => (input.value === '' ? (before == null ? undefined : null) : schema.enum.find((value) => String(value) === input.value)),
  };
};

const lines = (before, attributes) => {
  const input = h('textarea', { ...attributes, rows: Math.min(8, Math.max(2, (before ?? []).length)), spellcheck: 'false', value: (before ?? []).join('\n') });
  input.classList.add('code');
  return { input, element: [input, h('small', {}, 'One on each line.')], read: () => input.value.split('\n').map((line) => line.trim()).filter(Boolean) };
};

// pairs are names and values: "name = value" on each line.
const pairs = (before, attributes) => {
  const first = (before ?? []).map(([name, value]) => `${name} = ${value}`).join('\n');
  const { input } = lines([], attributes);
  input.value = first;
  input.rows = Math.min(8, Math.max(2, (before ?? []).length));
  return {
    input, element: [input, h('small', {}, 'One on each line: name = value.')],
    read: () => {
      if (input.value === first) return before;
      const all = input.value.split('\n').filter((line) => line.trim() !== '').map((line) => line.match(/^([^=]*)=(.*)$/)?.slice(1).map((word) => word.trim()) ?? line);
      const wrong = all.find((pair) => typeof pair === 'string');
      return wrong === undefined ? all : new Error(`"${wrong}" has no = between a name and a value.`);
    },
  };
};

// raw is for what no schema describes: JSON.
const raw = (before, attributes) => {
  const first = before === undefined ? '' : JSON.stringify(before, null, 1);
  const input = h('textarea', { ...attributes, class: 'code', rows: 3, spellcheck: 'false', value: first });
  return {
    input, element: input,
    read: () => {
      if (input.value === first) return before;
      if (input.value.trim() === '') return undefined;
      try {
        return JSON.parse(input.value);
      } catch {
        return new Error('This is no JSON.');
      }
    },
  };
};

// group is an object inside of another.
const group = (context, schema, before) => {
  const inside = fields(context, schema, before ?? {}, []);
  return { group: true, find: (message) => among(inside, message), element: inside.map((f) => f.element), read: () => {
    const value = valuesOf(inside, {});
    return value instanceof Error ? value : Object.keys(value).length > 0 || before ? { ...kept(context, schema, before), ...value } : undefined;
  } };
};

// kept is what an object had and its form does not show: it is sent as it was, but for what only the service writes.
const kept = (context, schema, before) => {
  const written = properties(context.service, schema).filter(([, p]) => !p.readOnly).map(([name]) => name);
  return Object.fromEntries(Object.entries(before ?? {}).filter(([name]) => written.includes(name)));
};

const many = (context, schema, before) => {
  const rows = [];
  const list = h('div', { class: 'many' });
  const add = (value) => {
    const row = group(context, schema, value);
    row.element = h('div', { class: 'row' }, row.element, h('button', { type: 'button', click: () => {
      rows.splice(rows.indexOf(row), 1);
      row.element.remove();
    } }, 'Remove'));
    rows.push(row);
    list.append(row.element);
  };
  for (const value of before ?? []) add(value);
  return {
    group: true, find: (message) => among(rows, message),
    element: [list, h('button', { type: 'button', click: () => add() }, 'Add one')],
    read: () => {
      const values = rows.map((row) => row.read() ?? {});
      return values.find((value) => value instanceof Error) ?? (values.length === 0 && !before?.length ? undefined : values);
    },
  };
};

// keyed is a map of objects, such as function keys by their positions: a table with a row for each, in the order of the keys. What is
// inherited is shown as it is; changed here, it is one's own.
const keyed = (context, schema, before) => {
  const columns = properties(context.service, schema).filter(([name, p]) => !p.readOnly && name !== 'inherited')
    .sort(([, a], [, b]) => (a.type === 'boolean') - (b.type === 'boolean') || !a.discriminator - !b.discriminator);
  const title = words(context.key ?? 'key'), rows = [];
  const body = h('tbody');
  const number = (row) => Number(row.key.value);
  const cell = (label, ...content) => h('td', { 'data-label': label }, content);
  const remove = (row) => {
    const at = rows.indexOf(row);
    rows.splice(at, 1);
    row.element.remove();
    (rows[Math.min(at, rows.length - 1)]?.element.querySelector('button') ?? button).focus();
  };
  const add = (key, value, after) => {
    const id = fresh('row'), error = h('span', { class: 'error', id: `${id}-error` });
    const row = { key: h('input', { id, class: 'short', inputmode: 'numeric', 'aria-label': title, 'aria-describedby': `${id}-error`, autocomplete: 'off', value: key }) };
    row.refuse = (text) => {
      error.textContent = text;
      row.key.setAttribute('aria-invalid', String(text !== ''));
      if (text) row.key.focus();
    };
    row.cells = columns.map(([name, property]) => inCell(context, name, property, value?.[name], (schema.required ?? []).includes(name)));
    const drop = h('button', { type: 'button', click: () => remove(row) }, 'Remove');
    const label = () => {
      for (const c of row.cells) c.label(`${c.title}, ${title.toLowerCase()} ${row.key.value}`);
      drop.setAttribute('aria-label', `Remove ${title.toLowerCase()} ${row.key.value}`);
    };
    row.key.addEventListener('input', label);
    label();
    row.element = h('tr', {}, cell(title, h('div', {}, row.key, error)), row.cells.map((c) => cell(c.title, c.element)), cell('', drop));
    row.read = () => valuesOf(row.cells, undefined);
    rows.push(row);
    after ? after.replaceWith(row.element) : body.append(row.element);
    return row;
  };
  const addInherited = (key, value) => {
    const element = h('tr', {}, cell(title, key), columns.map(([name, p]) => cell(labelOf(p, name), h('span', {}, shown(context.service, name, p, value[name])))),
      cell('', h('button', { type: 'button', title: 'It comes from a template', 'aria-label': `Change here: ${title.toLowerCase()} ${key}`, click: () => {
        inherited.delete(key);
        add(key, value, element).cells[0].focus();
      } }, 'Change here')));
    inherited.add(key);
    body.append(element);
  };
  const inherited = new Set();
  for (const [key, value] of Object.entries(before ?? {})) context.inherits && value.inherited ? addInherited(key, value) : add(key, value);
  const button = h('button', { type: 'button', click: () => {
    const last = Math.max(0, ...rows.map(number).filter(Number.isFinite), ...[...inherited].map(Number).filter(Number.isFinite));
    add(String(last + 1)).cells[0].focus();
  } }, `Add a ${title.toLowerCase()}`);
  const table = h('div', { class: 'scroll' }, h('table', { class: 'keyed' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, title),
    columns.map(([name, p]) => h('th', { scope: 'col' }, labelOf(p, name))), h('td', {}, ' '))), body));
  return {
    group: true, element: [table, button],
    find: (message) => {
      const row = rows.find((r) => message.includes(`'${r.key.value}': {`)) ?? rows.find((r) => about(r.read(), message));
      return row && (among(row.cells, message) ?? row);
    },
    read: () => {
      const values = {};
      for (const row of rows) {
        const key = row.key.value.trim();
        row.refuse('');
        const wrong = key === '' ? 'It is missing.' : key in values ? `There is another ${title.toLowerCase()} ${key}.` : '';
        const value = wrong ? new Error(wrong) : row.read();
        if (wrong) row.refuse(wrong);
        if (value instanceof Error) return value;
        values[key] = value;
      }
      return values;
    },
  };
};

// about reports whether a message quotes a value that an object has, such as ('user_id': 12).
const about = (value, message) => !(value instanceof Error) && Object.entries(value ?? {}).some(([name, inner]) =>
  (inner && typeof inner === 'object' ? about(inner, message) : message.includes(`'${name}': ${inner})`) || message.includes(`'${name}': '${inner}')`)));

// inCell is a field in a cell of a table, which gets its label later.
const inCell = (context, name, schema, before, required) => {
  const id = fresh(name), error = h('span', { class: 'error', id: `${id}-error` });
  const control = controlFor(context, name, schema, before, { id, 'aria-describedby': `${id}-error`, required });
  const self = {
    name, title: labelOf(schema, name), read: control.read, element: h('div', {}, control.element, error),
    find: (message) => control.find?.(message) ?? (names(message, name) ? self : undefined),
    focus: () => control.input?.focus(),
    label: (text) => control.input?.setAttribute('aria-label', text),
    refuse: (text) => {
      error.textContent = text;
      control.input?.setAttribute('aria-invalid', String(text !== ''));
      if (text) control.input?.focus();
    },
  };
  return self;
};

// variants is an object of which one property, such as type, says what else it has.
const variants = (context, schema, before, attributes) => {
  const name = schema.discriminator.propertyName, kinds = schema.discriminator.mapping;
  const box = h('div');
  const input = h('select', attributes, h('option', { value: '' }, '—'),
    Object.keys(kinds).map((kind) => h('option', { value: kind, selected: before?.[name] === kind }, kindOf(context.service, schema, kind).said)));
  let inside;
  const show = () => {
    const kind = input.value;
    put(box);
    inside = undefined;
    if (!kind) return;
    const value = before?.[name] === kind ? before : undefined;
    const found = resolve(context.service, { $ref: kinds[kind] });
    inside = found.discriminator ? variants(context, found, value, { 'aria-label': words(found.discriminator.propertyName) })
      : group(context, { ...found, properties: Object.fromEntries(Object.entries(found.properties ?? {}).filter(([key]) => key !== name)) }, value);
    box.append(...[inside.element].flat());
  };
  input.addEventListener('change', show);
  show();
  return {
    group: true, input, element: [input, box], find: (message) => inside?.find?.(message),
    read: () => {
      if (!input.value) return before ? null : undefined;
      const value = inside.read();
      return value instanceof Error ? value : { ...value, [name]: input.value };
    },
  };
};

// fields makes the inputs of an object's properties, but for those that only the service writes.
const fields = (context, schema, before, hidden) => {
  const required = schema.required ?? [];
  return properties(context.service, schema, context.list)
    .filter(([name, property]) => !property.readOnly && !hidden.includes(name) && !(before ? /^(There are none|Taken on create alone)/ : /^There are none/).test(property.description ?? '') && name !== 'links')
    .map(([name, property]) => ({ name, before: before?.[name], ...field(context, name, property, before?.[name], required.includes(name)) }));
};

// valuesOf reads all fields. With a whole object as before, it returns only what has changed.
const valuesOf = (inputs, before) => {
  const body = {};
  for (const input of inputs) {
    input.refuse('');
    const value = input.read();
    if (value instanceof Error) {
      input.refuse(value.message);
      return value;
    }
    if (value !== undefined && !(before && input.name in before && same(value, before[input.name]))) body[input.name] = value;
  }
  return body;
};

// usual are the fields that a person mostly fills in; of the others, those that have no value yet are folded away.
const usual = ['name', 'label', 'username', 'firstname', 'lastname', 'email', 'email_address', 'password', 'exten', 'number', 'context', 'type', 'user_ranges', 'destination', 'description'];

// form makes a form for a schema. Key is the name of the keys of a map in it; inherits, whether its entries may come from elsewhere; more
// are fields of the page itself, each like those that field returns. Send receives what is to be sent, and the tag of the version that it
// changes, which is version.tag. It may throw a Refused, whose messages are shown beside the fields that they name. Latest reads again what
// the form changes, and its tag, when somebody else has changed it since.
export const form = ({ service, schema, list, key, inherits = false, before, version = {}, latest, hidden = [], more = [], action = 'Save', whole = false, send }) => {
  const context = { service, list, key, inherits };
  const own = fields(context, schema, before, hidden), inputs = [...own, ...more];
  const required = schema.required ?? [];
  const filled = (value) => value != null && value !== '' && value !== false && value.length !== 0;
  const plain = own.filter((f) => required.includes(f.name) || usual.includes(f.name) || filled(f.before));
  const first = own.length <= (before ? 12 : 6) ? own : plain.length > 1 ? plain : own.slice(0, 6);
  const folded = own.filter((f) => !first.includes(f));
  const general = h('div', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary' }, action);
  const rest = folded.length > 0 && h('details', {}, h('summary', {}, `${folded.length} more field${folded.length === 1 ? '' : 's'}`), folded.map((f) => f.element));
  const attempt = async (body) => {
    put(general);
    button.disabled = true;
    try {
      await send(body, version.tag);
    } catch (problem) {
      if (!problem.messages) throw problem;
      put(general, problem.status === 412 && latest ? await conflict(body) : place(problem, inputs, rest));
    } finally {
      button.disabled = false;
      if (document.activeElement === document.body && button.isConnected) button.focus(); // a button that is disabled loses the focus
    }
  };
  const submit = async (event) => {
    event.preventDefault();
    put(general);
    const body = valuesOf(inputs, whole ? undefined : before);
    if (!(body instanceof Error)) await attempt(body);
  };
  // conflict tells what somebody else has changed since this form was opened, and offers to save both changes. What was typed stays.
  const conflict = async (body) => {
    let now;
    try {
      now = await latest();
    } catch (problem) {
      if (!problem.messages) throw problem;
      return [h('p', {}, 'Somebody else has changed this since you opened it, and it cannot be read any more. What you have typed is not saved.'), place(problem, inputs, rest)];
    }
    const theirs = inputs.filter(({ name }) => !same(now.object[name], before?.[name]));
    const both = Object.fromEntries(Object.entries(body).map(([name, mine]) => [name, merged(inputs.find((f) => f.name === name)?.schema, before?.[name], mine, now.object[name])]));
    const say = (input, object) => shown(service, input.name, input.schema ?? {}, object?.[input.name]) || 'nothing';
    return h('div', { class: 'conflict' },
      h('p', {}, 'Somebody else has changed this since you opened it. What you have typed is still here, and not saved yet.'),
      theirs.length > 0 && h('ul', {}, theirs.map((f) => h('li', {}, h('b', {}, f.label ?? words(f.name)), ' was ', say(f, before), ' and is now ', say(f, now.object), '. ',
        f.name in body && !same(body[f.name], now.object[f.name]) && (Array.isArray(body[f.name]) ? 'If you save, what both of you have added and removed counts.' : 'You have changed it too: if you save, yours counts.')))),
      h('p', { class: 'actions' },
        h('button', { type: 'button', class: 'primary', click: () => { version.tag = now.tag; return attempt(both); } }, 'Save mine too'),
        h('button', { type: 'button', click: () => dispatchEvent(new HashChangeEvent('hashchange')) }, 'Discard mine')));
  };
  return h('form', { method: 'post', submit, novalidate: true }, first.map((f) => f.element), rest, more.map((f) => f.element), general, h('p', { class: 'actions' }, button));
};

// place puts each message beside the field that it names, and returns what remains.
const place = (problem, inputs, rest) => {
  const left = problem.messages.filter((message) => {
    const outer = inputs.find(({ name }) => names(message, name)) ?? inputs.find((input) => input.find(message));
    const about = outer?.find(message);
    if (!about) return true;
    if (rest?.contains?.(outer.element)) rest.open = true;
    about.refuse(inner(message));
    return false;
  });
  return left.length === 0 ? [] : [left.map((message) => h('p', {}, message)), refusal(problem)].flat().filter(Boolean);
};

// inner returns what a message says about the innermost of the fields that it names.
const inner = (message) => message.match(/\[?["']([^"']+)["']\]\}*$/)?.[1] ?? message;

// refusal leads from a 403 to its reasons.
export const refusal = (problem) => {
  if (problem.status !== 403 || !problem.request) return '';
  const query = new URLSearchParams({ method: problem.request.method, path: problem.request.path });
  return h('p', {}, h('a', { href: `#/why?${query}` }, 'Why was I refused, and who may do it?'));
};
