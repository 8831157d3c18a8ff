// Where a policy can begin: sets of patterns for usual roles, and a search for what a pattern should allow.
import { operations } from './definitions.js';
import { h, later, put } from './dom.js';

// roles are sets of patterns. What everybody may do with their own account they have by another policy.
export const roles = [
	{
		name: 'Receptionist',
		about: 'sees people, numbers, groups, queues, switchboards and filters, and sets forwards and do not disturb of everybody',
		acl: [
			'confd.users.read',
			'confd.users.*.read',
			'confd.users.*.forwards.#',
			'confd.users.*.services.#',
			'!confd.users.export.read',
			'confd.groups.read',
			'confd.groups.*.read',
			'confd.queues.read',
			'confd.queues.*.read',
			'confd.switchboards.read',
			'confd.switchboards.*.read',
			'confd.callfilters.read',
			'confd.callfilters.*.read',
			'confd.extensions.read',
			'confd.incalls.read',
		],
	},
	{
		name: 'Technician',
		about: 'sets up all that telephones, and applies it; neither logins nor rights',
		acl: ['confd.#', 'sysconfd.apply.#', 'sysconfd.asterisk.read', 'sysconfd.status.read', 'sysconfd.status_check.read'],
	},
	{
		name: 'Reseller',
		about: 'has customers as tenants, with their telephones, calls, logins and rights',
		acl: [
			'auth.tenants.#',
			'auth.users.#',
			'auth.groups.#',
			'auth.policies.#',
			'auth.sessions.#',
			'auth.audit.#',
			'auth.access.holders.read',
			'auth.explain.read',
			'auth.overview.read',
			'confd.#',
			'call-logd.#',
			'sysconfd.apply.#',
			'sysconfd.asterisk.read',
		],
	},
	{
		name: 'Auditor',
		about: 'reads all, but for what has passwords and PINs, and what was recorded, and changes nothing',
		acl: [
			'auth.#.read',
			'confd.#.read',
			'call-logd.#.read',
			'sysconfd.#.read',
			'!auth.*.external.#',
			'!auth.users.*.external.#',
			'!confd.endpoints.#',
			'!confd.registers.#',
			'!confd.agents.#',
			'!confd.voicemails.#',
			'!confd.callpermissions.#',
			'!confd.conferences.#',
			'!confd.external.#',
			'!confd.users.*.external.#',
			'!confd.users.export.read',
			'!call-logd.cdr.*.recordings.#',
		],
	},
];

// starter offers the roles; take gets the one that was chosen.
export const starter = (take) =>
	h(
		'section',
		{ class: 'roles' },
		h('h2', {}, 'Begin with a role'),
		h(
			'ul',
			{},
			roles.map((role) => h('li', {}, h('button', { type: 'button', click: () => take(role) }, role.name), ` ${role.about}`)),
		),
	);

const most = 8;

// matching returns the operations whose words have all that was typed, one for each access.
export const matching = (text, among) => {
	const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
	const found = new Map();
	for (const o of wanted.length > 0 ? among : []) {
		const said = `${o.summary} ${o.path} ${o.access}`.toLowerCase();
		if (o.access && !found.has(o.access) && wanted.every((word) => said.includes(word))) found.set(o.access, o);
	}
	return [...found.values()];
};

// finder finds operations by their words; take gets the pattern that stands for the one that was chosen, on any object.
export const finder = (take) => {
	const list = h('ul', { class: 'found', 'aria-live': 'polite' });
	let found = [];
	const choose = ({ access }) => {
		take(access.replace(/\{\w+\}/g, '*'));
		search.value = '';
		draw();
		search.focus();
	};
	const draw = () => {
		found = matching(search.value, operations);
		put(
			list,
			found
				.slice(0, most)
				.map((o) => h('li', {}, h('button', { type: 'button', class: 'plain', click: () => choose(o) }, o.summary, ' ', h('code', {}, o.access)))),
			found.length > most && h('li', { class: 'quiet' }, `and ${found.length - most} more: type another word`),
			search.value.trim() && found.length === 0 && h('li', { class: 'quiet' }, 'No operation of this gateway has these words.'),
		);
	};
	const search = h('input', {
		type: 'search',
		id: 'operation',
		autocomplete: 'off',
		placeholder: 'delete voicemail',
		input: later(draw, 120),
		keydown: (event) => {
			if (event.key !== 'Enter') return;
			event.preventDefault(); // it would send the form
			draw();
			if (found.length > 0) choose(found[0]);
		},
	});
	return h('div', { class: 'field' }, h('label', { for: search.id }, 'Add what somebody may do'), search, list);
};
