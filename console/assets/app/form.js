// Forms that are made from the schemas of the definitions.
import { call } from './api.js';
import { properties, resolve, target } from './definitions.js';
import { brief, fresh, h, later, put, words } from './dom.js';

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// hint says what may be entered: the description, and the limits that it does not tell.
const hint = (schema) => {
  const limits = [];
  if (schema.minimum !== undefined && schema.minimum > 0) limits.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined && schema.maximum < 2 ** 31 - 1) limits.push(`at most ${schema.maximum}`);
  if (schema.maxLength !== undefined && schema.maxLength < 64) limits.push(`up to ${schema.maxLength} characters`);
  if (schema.default !== undefined && schema.default !== null && !['object', 'boolean'].includes(typeof schema.default) && schema.default !== '' && !schema.enum) limits.push(`${schema.default} by default`);
  const text = limits.join(', ');
  return [schema.description?.replaceAll('`', ''), text && text.charAt(0).toUpperCase() + text.slice(1) + '.'].filter(Boolean).join(' ');
};

// field returns an input for a value of a schema: its element, read (undefined: leave it out; an Error: it cannot be read), and refuse,
// which shows what the gateway says about it. Before is the value until now.
const field = (context, name, schema, before, required) => {
  const id = fresh(name), about = hint(schema);
  const error = h('span', { class: 'error', id: `${id}-error` });
  const describedby = [about && `${id}-hint`, `${id}-error`].filter(Boolean).join(' ');
  const control = controlFor(context, name, schema, before, { id, 'aria-describedby': describedby, required });
  const label = words(name) + (required ? ' *' : '');
  const note = about && h('small', { id: `${id}-hint` }, about);
  const refuse = (text) => {
    error.textContent = text;
    control.input?.setAttribute('aria-invalid', String(text !== ''));
    if (text && control.input) control.input.focus();
  };
  if (control.group) {
    return { read: control.read, refuse, inside: control.inside, element: h('fieldset', {}, h('legend', {}, label), note, control.element, error) };
  }
  const row = control.input?.type === 'checkbox'
    ? h('div', { class: 'field check' }, control.element, h('label', { for: id }, label), note, error)
    : h('div', { class: 'field' }, h('label', { for: id }, label), control.element, note, error);
  return { read: control.read, refuse, element: row };
};

const controlFor = (context, name, schema, before, attributes) => {
  if (schema.enum && schema.enum.length > 1) return choice(schema, before, attributes);
  if (schema.discriminator) return variants(context, schema, before, attributes);
  if (schema.type === 'boolean') return toggle(schema, before, attributes);
  if (schema.type === 'integer' || schema.type === 'number') return text(context, name, schema, before, { ...attributes, type: 'number', step: schema.type === 'integer' ? 1 : 'any', min: schema.minimum, max: schema.maximum > 2 ** 31 ? undefined : schema.maximum });
  if (schema.type === 'string') return text(context, name, schema, before, attributes);
  if (schema.type === 'array') {
    const items = resolve(context.service, schema.items);
    return items.type === 'string' ? lines(before, attributes) : items.properties ? many(context, items, before) : raw(before, attributes);
  }
  if (schema.properties && Object.keys(schema.properties).length > 0) return group(context, schema, before);
  return raw(before, attributes);
};

const text = (context, name, schema, before, attributes) => {
  const secret = schema.writeOnly && /password|secret/.test(name) || name === 'password';
  const long = schema.maxLength > 1000 && !secret;
  const type = attributes.type ?? (secret ? 'password' : schema.format === 'email' ? 'email' : 'text');
  const input = h(long ? 'textarea' : 'input', {
    ...attributes, ...(!long && { type }), value: before ?? '', maxlength: schema.maxLength, spellcheck: 'false',
    autocomplete: secret ? 'new-password' : 'off', ...(long && { rows: 2 }),
  });
  const element = suggest(context, name, schema, input);
  return {
    input, element,
    read: () => {
      const value = input.value;
      if (value === '') return before == null ? undefined : schema.nullable ? null : type === 'number' ? undefined : '';
      return type === 'number' ? Number(value) : value;
    },
  };
};

// suggest lists the objects that a field may name.
const suggest = (context, name, schema, input) => {
  const [from, by] = (schema['x-ref'] ?? '').split('.');
  const resource = schema['x-ref'] ? target(context.service, from) : /_(id|uuid)$/.test(name) && target(context.service, name);
  if (!resource || input.type === 'password') return input;
  const list = h('datalist', { id: `${input.id}-list` });
  input.setAttribute('list', list.id);
  const fetchSome = async () => {
    const { data } = await call('GET', resource.service.prefix + resource.path, { query: { limit: 30, search: /[a-z]/i.test(input.value) ? input.value : '' } });
    put(list, data[resource.items].map((item) => {
      const value = by ? item[by] : /uuid$/.test(name) ? item.uuid : item.id;
      return h('option', { value }, item.label && item.label !== value ? item.label : brief(item));
    }));
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
  const input = h('select', attributes, none && h('option', { value: '' }, schema.default == null ? '—' : `— (${schema.default})`),
    schema.enum.filter((value) => value !== null).map((value) => h('option', { value, selected: value === before }, String(value))));
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
  return { group: true, inside, element: inside.map((f) => f.element), read: () => {
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
    group: true,
    element: [list, h('button', { type: 'button', click: () => add() }, 'Add one')],
    read: () => {
      const values = rows.map((row) => row.read() ?? {});
      return values.find((value) => value instanceof Error) ?? (values.length === 0 && !before?.length ? undefined : values);
    },
  };
};

// variants is an object of which one property, such as type, says what else it has.
const variants = (context, schema, before, attributes) => {
  const name = schema.discriminator.propertyName, kinds = schema.discriminator.mapping;
  const box = h('div');
  const input = h('select', attributes, h('option', { value: '' }, '—'),
    Object.keys(kinds).map((kind) => h('option', { value: kind, selected: before?.[name] === kind }, words(kind))));
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
    group: true, input, element: [input, box],
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
    .filter(([name, property]) => !property.readOnly && !hidden.includes(name) && !/^There are none/.test(property.description ?? '') && name !== 'links')
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

// form makes a form for a schema. Send receives what is to be sent, and may throw a Refused, whose messages are shown beside the fields
// that they name.
export const form = ({ service, schema, list, before, hidden = [], action = 'Save', whole = false, send }) => {
  const context = { service, list };
  const inputs = fields(context, schema, before, hidden);
  const required = schema.required ?? [];
  const filled = (value) => value != null && value !== '' && value !== false && value.length !== 0;
  const plain = inputs.filter((f) => required.includes(f.name) || usual.includes(f.name) || filled(f.before));
  const first = inputs.length <= (before ? 12 : 6) ? inputs : plain.length > 1 ? plain : inputs.slice(0, 6);
  const more = inputs.filter((f) => !first.includes(f));
  const general = h('div', { class: 'error', role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary' }, action);
  const rest = more.length > 0 && h('details', {}, h('summary', {}, `${more.length} more fields`), more.map((f) => f.element));
  const submit = async (event) => {
    event.preventDefault();
    put(general);
    const body = valuesOf(inputs, whole ? undefined : before);
    if (body instanceof Error) return;
    button.disabled = true;
    try {
      await send(body);
    } catch (problem) {
      if (!problem.messages) throw problem;
      put(general, place(problem, inputs, rest));
    } finally {
      button.disabled = false;
    }
  };
  return h('form', { method: 'post', submit, novalidate: true }, first.map((f) => f.element), rest, general, h('p', { class: 'actions' }, button));
};

// place puts each message beside the field that it names, and returns what remains.
const place = (problem, inputs, rest) => {
  const left = problem.messages.filter((message) => {
    const about = inputs.find(({ name }) => new RegExp(`(^|['"\\s])${name}(['":\\s.[]|$)`).test(message));
    if (!about) return true;
    if (rest?.contains?.(about.element)) rest.open = true;
    about.refuse(message);
    return false;
  });
  return left.length === 0 ? [] : [left.map((message) => h('p', {}, message)), refusal(problem)].flat().filter(Boolean);
};

// refusal leads from a 403 to its reasons.
export const refusal = (problem) => {
  if (problem.status !== 403 || !problem.request) return '';
  const query = new URLSearchParams({ method: problem.request.method, path: problem.request.path });
  return h('p', {}, h('a', { href: `#/why?${query}` }, 'Why was I refused, and who may do it?'));
};
