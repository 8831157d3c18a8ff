// The pages of the work: each makes what a person means, of several objects, by one form and one request: all of it, or nothing.
import { call } from './api.js';
import { bodyOf, idOf, may, resources } from './definitions.js';
import { h, lead, put } from './dom.js';
import { labelled } from './fields.js';
import { form } from './form.js';
import { reveal } from './login.js';
import { number } from './number.js';
import { several } from './picker.js';
import { crumbs } from './shown.js';

// picked is a field of several objects of a kind, in an order, if one may list them.
const picked = (name, label, key, valueOf, note) => {
	const of = resources.get(key);
	return of && may(of.list) ? [labelled(name, label, (attributes) => several(/** @type {Collection} */ (of), valueOf, attributes), { note })] : [];
};

const numbers = (one) => (one ? { extensions: [one] } : {});
const withNumber = (one) => (one ? ` with the number ${one.exten}` : '');

// works are the pages by their addresses: what kind of object they make, which of its attributes they ask for, and which fields of their own
// they have, above these and below. Body makes the request of the values; said is what is told of it then.
const works = {
	'ring-group': {
		key: 'confd/groups',
		title: 'New ring group',
		about: 'A number at which several people ring.',
		names: ['label', 'ring_strategy'],
		below: async () => [
			await number({ type: 'internal', of: 'group_ranges', fresh: 'Inside' }),
			...picked('members', 'Members', 'confd/users', (u) => u.uuid, 'In the order in which they ring. Type a name, and Enter.'),
		],
		body: ({ number: one, members = [], ...rest }) => ({ ...rest, ...numbers(one), members: { users: members.map((uuid) => ({ uuid })) } }),
		said: ({ label, number: one }) => `${label} was created${withNumber(one)}.`,
	},
};

// made returns the pages that make objects of a kind, for its list.
/** @param {Resource} resource */
export const made = (resource) =>
	Object.entries(works)
		.filter(([, work]) => work.key === resource.key && may(resource.create))
		.map(([address, { title }]) => ({ to: `#/${address}`, title }));

export const pages = Object.fromEntries(Object.entries(works).map(([address, work]) => [address, (main) => show(main, work)]));

const show = async (main, work) => {
	const resource = resources.get(work.key),
		title = h('h1', { tabindex: '-1' }, work.title);
	if (!resource?.create) {
		put(main, title, h('p', {}, 'This gateway has no telephony configuration.'));
		return;
	}
	const { service } = resource,
		schema = bodyOf(service, resource.create);
	put(main, crumbs(resource), title, h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const [above, below] = await Promise.all([work.above?.(service) ?? [], work.below?.(service) ?? []]);
	put(
		main,
		crumbs(resource),
		title,
		h('p', { class: 'about quiet' }, work.about),
		may(resource.create) ? '' : h('p', { class: 'denied' }, `Your token does not have the access ${resource.create.access}: the gateway will refuse this.`),
		h(
			'div',
			{ class: 'work' },
			form({
				service,
				schema: { ...schema, properties: Object.fromEntries(work.names.map((name) => [name, schema.properties?.[name] ?? {}])) },
				above,
				more: below,
				action: 'Create',
				send: async (values) => {
					const { data } = await call('POST', service.prefix + resource.path, { query: { recursive: 'true' }, body: work.body(values) });
					reveal(data.lines?.[0]?.endpoint_sip?.uuid);
					lead(`#/${resource.key}/${encodeURIComponent(idOf(resource.parameter, data))}`, work.said(values));
				},
			}),
		),
	);
};
