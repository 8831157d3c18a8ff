// What the services can do, from the definitions that they serve: a new resource appears in the console by itself.
import { call, installation, me } from './api.js';
import { allows } from './acl.js';
import { naming, words } from './dom.js';

// services are the services of this gateway, each with its definition once it was loaded.
/** @type {Service[]} */
export let services = [];
// sectionOf returns the part of the console in which the pages of a service are.
const sections = { auth: 'People and rights', confd: 'Telephony', sysconfd: 'System', 'call-logd': 'Calls' };
export const sectionOf = (service) => sections[service.name] ?? service.title;

// titles tell apart what would have one name: a person who telephones, and the login of a person or of a program; the menus that callers hear, and
// that of the console.
const titles = {
	'confd/users': 'People',
	'auth/users': 'Logins',
	'auth/groups': 'Groups of logins',
	'confd/ivr': 'Menus',
	'call-logd/retention': 'How long calls are kept',
};

// resources are the collections and documents of all services, by service and path: "confd/users".
/** @type {Map<string, Resource>} */
export const resources = new Map();
// operations are all that a request can be: method, path, access and what it does.
/** @type {(Operation & { service: Service })[]} */
export const operations = [];

export const load = async (list) => {
	const loaded = await Promise.all(
		list.map(async (service) => {
			try {
				return { ...service, definition: (await call('GET', service.definition, { stays: true })).data };
			} catch (problem) {
				return { ...service, problem };
			}
		}),
	);
	services = loaded;
	resources.clear();
	operations.length = 0;
	installation.length = 0;
	for (const service of loaded.filter((s) => s.definition?.paths)) {
		try {
			learn(service);
		} catch (problem) {
			service.problem = problem; // the other services are shown all the same
		}
	}
};

// learn takes up what a service can do. What this installation cannot serve is as if the definition did not have it.
const learn = (service) => {
	for (const [path, item] of Object.entries(service.definition.paths)) {
		for (const method of ['get', 'post', 'put', 'patch', 'delete', 'head']) {
			if (service.unserved?.includes(item[method]?.operationId)) delete item[method];
			if (!item[method]) continue;
			item[method].parameters = item[method].parameters?.map((p) => resolve(service, p)); // operations share them
			operations.push({ ...item[method], service, method: method.toUpperCase(), path, access: accessOf(item[method]) });
			if (item[method]['x-master-tenant'])
				installation.push({ method: method.toUpperCase(), path: new RegExp(`^${service.prefix}${path.replace(/\{\w+\}/g, '[^/]+')}$`) });
		}
	}
	find(service);
};

// accessOf returns the access that an operation documents; other daemons' definitions have it in the description.
const accessOf = (operation) => operation['x-required-acl'] ?? operation.description?.match(/Required ACL:?\**:?\s*`([^`]+)`/)?.[1];

// resolve follows references and joins what allOf lists.
/** @type {(service: Service, schema?: Schema) => Schema} */
export const resolve = (service, schema) => {
	if (!schema) return {};
	if (schema.$ref) {
		const found = schema.$ref
			.slice(2)
			.split('/')
			.reduce((at, word) => at?.[word], service.definition);
		return resolve(service, { ...found, ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$ref')) });
	}
	if (schema.allOf) {
		const { allOf, ...rest } = schema;
		return Object.assign({}, ...allOf.map((part) => resolve(service, part)), rest);
	}
	return schema;
};

const json = (content) => content?.content?.['application/json']?.schema;
export const answer = (service, operation) => resolve(service, json(resolve(service, operation?.responses?.['200'])));
export const bodyOf = (service, operation) => resolve(service, json(operation?.requestBody));

// itemsOf returns the property in which a list's answer has its objects: nearly always "items".
const itemsOf = (service, operation) => {
	const properties = answer(service, operation).properties ?? {};
	return 'total' in properties ? Object.keys(properties).find((key) => properties[key].type === 'array') : undefined;
};

// titleOf returns what a path leads to: as one of its operations says or, where none does, from the path.
const titleOf = (path, ...of) => of.find((o) => o?.['x-title'])?.['x-title'] ?? words(path.split('/').reverse().join(' '));

// labelOf returns how people read the name of an attribute.
export const labelOf = (schema, name) => schema?.title ?? words(name);

// saidOf returns how people read one of the values that an attribute can have.
export const saidOf = (schema, value) => schema?.['x-enum-labels']?.[value] ?? words(value);

// kindOf returns the schema of one kind of object, of which the value of one attribute tells the kinds, and how people read that value.
export const kindOf = (service, schema, value) => {
	const kind = resolve(service, { $ref: schema.discriminator.mapping[value] });
	return { schema: kind, said: saidOf(resolve(service, kind.properties?.[schema.discriminator.propertyName]), value) };
};

const parameters = (path) => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);

const find = (service) => {
	const paths = service.definition.paths;
	const below = (path) => Object.keys(paths).filter((other) => other.startsWith(path + '/'));
	/** @returns {Operation | undefined} */
	const take = (path, method) =>
		paths[path]?.[method] ? { ...paths[path][method], method: method.toUpperCase(), path, access: accessOf(paths[path][method]) } : undefined;
	for (const path of Object.keys(paths)) {
		if (parameters(path).length > 0 || path.startsWith('/api/')) continue;
		const get = take(path, 'get'),
			key = `${service.name}${path}`;
		if (!get || get['x-unimplemented'] || get.parameters?.some((p) => p.in === 'query' && p.required)) continue; // what answers a question is no list
		// What has "me" in the place of an object of a collection is one's own: the page of the account has it.
		const own = paths[path.split('/me/')[0]]?.get !== undefined && path.includes('/me/');
		const base = { key, service, path, own, title: titles[key] ?? titleOf(path.slice(1), get, take(path, 'put')), list: undefined };
		const items = itemsOf(service, get);
		if (!items) {
			if (take(path, 'put')) resources.set(key, { ...base, document: true, read: get, update: take(path, 'put'), remove: take(path, 'delete') });
			continue;
		}
		const { items: listed, 'x-enum-labels': labels } = answer(service, get).properties?.[items] ?? {};
		const itemPath = Object.keys(paths).find(
			(other) => other.startsWith(path + '/') && /^\{\w+\}$/.test(other.slice(path.length + 1)) && (paths[other].get || paths[other].delete),
		);
		resources.set(key, {
			...base,
			list: get,
			items,
			schema: { ...resolve(service, listed), ...(labels && { 'x-enum-labels': labels }) },
			create: take(path, 'post'),
			itemPath,
			...(itemPath && {
				parameter: parameters(itemPath)[0],
				read: take(itemPath, 'get'),
				update: take(itemPath, 'put'),
				remove: take(itemPath, 'delete'),
				parts: apart([
					...below(itemPath).map((other) => part(service, take, itemPath, other)),
					...below(itemPath).map((other) => joined(service, take, path, itemPath, other)),
					...below(path).map((other) => asked(take, parameters(itemPath)[0], other)),
				]),
			}),
		});
	}
};

// apart tells parts from each other that have one title: a list that is replaced as a whole is beside the links of the same name for its order.
const apart = (parts) =>
	parts
		.filter(Boolean)
		.map((p, _, all) =>
			p.kind === 'replaced' && all.some((other) => other.kind === 'link' && other.title === p.title)
				? { ...p, ordered: true, title: `${p.title}, in their order` }
				: p,
		);

// part is what belongs to one object: a document of its own (forwards), a list (sessions), a link to objects of another resource (lines
// of a user), a list that is replaced as a whole (members), or files (those of a sound).
/** @returns {Part | undefined} */
const part = (service, take, itemPath, path) => {
	const rest = path.slice(itemPath.length + 1),
		inside = parameters(rest);
	const base = {
		path,
		name: rest.replace(/\/\{\w+\}$/, ''),
		get: take(path, 'get'),
		put: bodyOf(service, take(path, 'put')).properties?.otp && take(path, 'get') ? undefined : take(path, 'put'), // by a code: the page of the account has it
		remove: take(path, 'delete'),
		post: take(path, 'post'),
	};
	base.all = inside.length === 1 ? take(itemPath + '/' + base.name, 'delete') : undefined; // ends all links at once
	base.title = titleOf(base.name, base.get, base.put, base.post);
	if (inside.length === 0) {
		const items = base.get && itemsOf(service, base.get);
		const one = Object.keys(service.definition.paths).find((other) => other.startsWith(path + '/') && /^\{\w+\}$/.test(other.slice(path.length + 1)));
		if (one && take(one, 'put')?.['x-unimplemented']) return undefined; // of what cannot be given there is none
		if (items)
			return {
				...base,
				kind: 'list',
				items,
				schema: resolve(service, answer(service, base.get).properties?.[items].items),
				end: one && take(one, 'delete'),
				parameter: one && parameters(one).at(-1),
			};
		if (base.get) return { ...base, kind: base.put ? 'document' : 'shown' };
		return base.put && bodyOf(service, base.put).properties ? { ...base, kind: 'replaced' } : undefined;
	}
	if (inside.length === 1 && base.put?.requestBody?.content['application/octet-stream']) return { ...base, kind: 'files', parameter: inside[0] };
	if (inside.length === 1 && rest.endsWith('}') && base.put && !base.put['x-unimplemented'] && !base.put.requestBody?.required)
		return { ...base, kind: 'link', parameter: inside[0] };
	return undefined;
};

// joined is a link that a list of an object shows, and operations of the other side make and end: the groups of a login, whose members the
// groups have.
/** @returns {Part | undefined} */
const joined = (service, take, path, itemPath, list) => {
	const name = list.slice(itemPath.length + 1),
		get = take(list, 'get'),
		paths = service.definition.paths;
	const other = !/[/{]/.test(name) && Object.keys(paths).find((one) => one.replace(/\{\w+\}/g, '*') === `/${name}/*${path}/*`);
	if (!other || !get || !paths[other].put || paths[other].put.requestBody?.required || paths[`${list}/{${parameters(other)[0]}}`]) return undefined;
	return {
		path: other,
		name,
		kind: 'link',
		title: titleOf(name, get),
		get,
		put: take(other, 'put'),
		remove: take(other, 'delete'),
		parameter: parameters(other)[0],
		reversed: true,
	};
};

// asked is what one can ask for one object by an operation that stands beside it, and names the object in its query: a new password, of an
// operator who is no user with the link of a mail.
const asked = (take, parameter, path) => {
	const post = parameters(path).length === 0 && take(path, 'post');
	if (!post || !post.requestBody || !post.parameters?.some((p) => p.in === 'query' && p.required && p.name === parameter)) return undefined;
	return { path, name: path.slice(1), kind: 'asked', title: titleOf(path, post), post: { ...post, access: post.access ?? post['x-instead-acl'] }, parameter };
};

// inPath are the texts that can be part of a path and mean themselves there: UUIDs would be written in lower case.
const inPath = /^(?![\da-f-]{36}$)[\w.~@:+-]{1,128}$/i;

// idOf returns how a path names an object: by its UUID if a path cannot have what it is usually named by.
export const idOf = (parameter, object) => {
	const id = object[parameter] ?? (/uuid$/.test(parameter) ? (object.uuid ?? object.id) : (object.id ?? object.uuid));
	return typeof id === 'string' && !inPath.test(id) ? (object.uuid ?? id) : id;
};

// referred returns the resource whose objects a value names, and by which of their attributes: as the definition says or, of ids, as the
// name of the value does.
export const referred = (service, name, schema) => {
	const [from, by = name.match(/(?<=_)(id|uuid)$/)?.[1]] = (schema?.['x-ref'] ?? '').split('.');
	if (!by) return undefined;
	const resource = target(service, from || name, from ? by : name);
	return resource && { resource, by };
};

// leadsOn reports whether calls go on from the objects of a kind.
export const leadsOn = (resource) => Object.keys(resource.schema?.properties ?? {}).some((name) => /destination$|^(choices|fallbacks)$/.test(name));

// oneOf is what one object of a resource is called: "Parking lot".
export const oneOf = (resource) => resource.read?.summary.replace(/^Read an? (.)/, (_, first) => first.toUpperCase()) ?? resource.title;

// aboutOf is what the definition says of the objects of a resource, if it says it of them alone.
export const aboutOf = ({ service, path }) => service.definition.tags?.find(({ name }) => name === path.slice(1).replace(/[/-]/g, '_'))?.description;

// takes reports whether an operation knows a parameter of the query.
export const takes = (operation, name) => Boolean(operation?.parameters?.some((p) => p.in === 'query' && p.name === name));

// asking returns the parameter that asks a list for some attributes of its objects, beside those by which people and requests know them; none, if
// the list offers no choice.
/** @type {(resource: any, some: any[]) => { fields?: string }} */
export const asking = ({ list, parameter }, some) => {
	const all = list?.parameters?.find((p) => p.in === 'query' && p.name === 'fields')?.schema?.items?.enum;
	return all ? { fields: all.filter((name) => name === parameter || some.includes(name) || naming.includes(name)).join(',') } : {};
};

// alone is what one may delete together with an object, where its service can.
export const alone = 'With what only it uses, such as telephones, numbers and voicemails';

// undoing is what one does to be rid of an object of a resource, by the resource's key, and what the object is then.
export const undoing = (key) => (['auth/sessions', 'auth/tokens'].includes(key) ? ['End', 'ended'] : ['Delete', 'deleted']);

// keyOf names the keys of what is below a path: "position", if there is a path below it that ends so.
export const keyOf = (service, path) =>
	Object.keys(service.definition.paths)
		.find((other) => path && other.startsWith(path + '/{') && parameters(other).length === parameters(path).length + 1 && other.endsWith('}'))
		?.match(/\{(\w+)\}$/)?.[1];

// fill puts values into the parameters of a path, in their order, each as one segment.
export const fill = (path, ...values) => path.replace(/\{\w+\}/g, () => encodeURIComponent(values.shift()));

// may reports whether the signed-in user's token seems to allow an operation. Values are those of the path's parameters.
export const may = (operation, ...values) => {
	if (!operation || (operation['x-master-tenant'] && me?.below)) return false;
	if (!operation.access) return true;
	const access = operation.access.replace(/\{\w+\}/g, () => values.shift() ?? '*');
	return me != null && allows(me.acl, access, me);
};

// operation returns what a request can be, by its id, if this gateway has it. mayDo reports whether one may.
export const operation = (id) => operations.find((o) => o.operationId === id);
export const mayDo = (id) => may(operation(id));

// natural is the order in which people expect attributes of which the service names none.
const natural = [
	'name',
	'label',
	'number',
	'exten',
	'context',
	'firstname',
	'lastname',
	'username',
	'email',
	'email_address',
	'password',
	'line_1',
	'line_2',
	'zip_code',
	'city',
	'state',
	'country',
];

// properties lists those of a schema in the order in which the service names them; otherwise those that must be sent come first, in theirs.
/** @returns {[string, Schema][]} */
export const properties = (service, schema, list) => {
	const { properties: all = {}, required = [] } = resolve(service, schema);
	const order = list?.parameters?.find((p) => p.name === 'fields')?.schema?.items?.enum ?? [];
	const at = (name) =>
		order.includes(name) ? order.indexOf(name) : required.includes(name) ? order.length + required.indexOf(name) : order.length + required.length;
	const rank = (name) => (natural.includes(name) ? natural.indexOf(name) : natural.length);
	return Object.entries(all)
		.sort(([a], [b]) => at(a) - at(b) || rank(a) - rank(b) || a.localeCompare(b))
		.map(([name, value]) => [name, served(service, name, resolve(service, value))]);
};

// served leaves those values of an attribute out that this installation cannot serve.
const served = (service, name, schema) =>
	service.unserved?.some((one) => one.startsWith(`${name}=`))
		? { ...schema, enum: schema.enum?.filter((value) => !service.unserved.includes(`${name}=${value}`)) }
		: schema;

// target finds the resource whose objects a name refers to: "user_uuid", "lines", "contexts.name". Of several it is the one whose objects
// have a key like this one, "uuid" or "id".
export const target = (service, name, key = name) => {
	const word = name.replace(/_(uuid|id)$/, '').replace(/\..*$/, '');
	const candidates = [...resources.values()].filter((r) => r.service === service && r.list && !r.own),
		path = (r) => r.path.replaceAll('-', '_');
	const whole = candidates.find((r) => [`/${word}`, `/${word}s`, `/${word.split('_').at(-1)}s`].includes(path(r)));
	const last = candidates.filter((r) => [word, word + 's', word.replace(/y$/, 'ies')].includes(path(r).split('/').at(-1)));
	const kind = key.match(/(uuid|id)$/)?.[1];
	return whole ?? last.find((r) => r.parameter === name) ?? last.find((r) => kind && r.parameter?.endsWith('_' + kind)) ?? last[0];
};

// mayAsk tells whether the user may ask the gateway why something is refused. Who may not asks a person: whom tells which, as the operator
// has set it.
export const mayAsk = () => mayDo('explain');
export const whom = () => services.map((service) => service.definition?.info?.contact?.name).find(Boolean) ?? 'an administrator';
