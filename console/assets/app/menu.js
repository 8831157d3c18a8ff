// The menu: the places of the work, each with the pages that belong to it, and below them every kind of object by itself. It has no page that
// the token cannot use.
import { me } from './api.js';
import { may, mayAsk, mayDo, resources, sectionOf, services } from './definitions.js';
import { h, put, svg } from './dom.js';

// A page is a kind of object, or an address with its title and whether it is offered.
/** @type {(to: string, title: string, offered?: () => boolean) => { to: string, title: string, offered: () => boolean }} */
const page = (to, title, offered = () => true) => ({ to, title, offered });

// places have a name, a picture, and their pages, of which the first is the one that the name leads to.
/** @type {[string, string, (string | ReturnType<typeof page>)[]][]} */
const places = [
	[
		'People',
		'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6M2.5 14a5.5 5.5 0 0 1 11 0',
		['confd/users', 'confd/lines', 'confd/funckeys/templates', page('#/csv', 'Users by file', () => mayDo('import_users_csv') || mayDo('export_users_csv'))],
	],
	[
		'Numbers',
		'M6 2 4.5 14M11.5 2 10 14M2.5 5.5h11.5M2 10.5h11.5',
		['confd/extensions', 'confd/contexts', 'confd/phone-numbers', 'confd/phone-numbers/main', 'confd/extensions/features'],
	],
	[
		'Groups',
		'M5.5 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1 13.5a4.5 4.5 0 0 1 9 0M10.5 2.7a2.5 2.5 0 0 1 0 4.6M12 9.5a4.5 4.5 0 0 1 3 4',
		[
			'confd/groups',
			'confd/queues',
			'confd/agents',
			'confd/agents/skills',
			'confd/queues/skillrules',
			'confd/switchboards',
			'confd/callfilters',
			'confd/callpickups',
			'confd/pagings',
		],
	],
	['Incoming', 'M13.5 2.5 3 13M3 6v7h7', ['confd/incalls']],
	['Outgoing', 'M3 13 13.5 2.5M6.5 2.5h7v7', ['confd/outcalls', 'confd/trunks', 'confd/callpermissions', 'confd/emergency-numbers']],
	[
		'Menus and hours',
		'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 4.5V8l2.5 2',
		['confd/ivr', 'confd/schedules', 'confd/conferences', 'confd/parkinglots', 'confd/sounds', 'confd/moh'],
	],
	[
		'Voicemail',
		'M2 3.5h12v9H2zM2 4l6 5 6-5',
		['confd/voicemails', 'confd/asterisk/voicemail/general', 'confd/asterisk/voicemail/zonemessages', 'confd/voicemails/transcription'],
	],
	[
		'Live',
		'M1.5 8.5h3l2-6 3 11 2-5h3',
		[
			page('#/apply', 'Telephone system', () => mayDo('preview_apply')),
			page('#/asterisk', 'State of Asterisk', () => mayDo('read_asterisk')),
			page('#/calls', 'Calls', () => mayDo('list_cdr') || mayDo('list_my_cdr')),
			'call-logd/retention',
			'confd/configuration/live_reload',
		],
	],
	[
		'Rights',
		'M8 1.5 2.5 3.5v4c0 3.5 2.3 5.9 5.5 7 3.2-1.1 5.5-3.5 5.5-7v-4z',
		[
			'auth/users',
			'auth/groups',
			'auth/policies',
			'auth/sessions',
			'auth/tokens',
			'auth/idp',
			page('#/who', 'Who may do this?', mayAsk),
			page('#/why', 'Why was I refused?', mayAsk),
		],
	],
	[
		'System',
		'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.1M4.5 11h.1',
		[
			page('#/system', 'System', () => mayDo('read_system')),
			'auth/tenants',
			'auth/audit',
			'confd/sip/transports',
			'confd/endpoints/sip/templates',
			page('api/', 'API explorer', () => places.slice(0, -1).some(([, , pages]) => pages.some(usedBy))),
		],
	],
];

// makers are the pages of the work that make objects of a kind, by their addresses.
export const makers = {
	telephone: { key: 'confd/users', title: 'New telephone user' },
	'ring-group': { key: 'confd/groups', title: 'New ring group' },
	'incoming-number': { key: 'confd/incalls', title: 'New incoming number' },
	queue: { key: 'confd/queues', title: 'New queue' },
	switchboard: { key: 'confd/switchboards', title: 'New switchboard' },
	agent: { key: 'confd/agents', title: 'New agent' },
	'call-pickup': { key: 'confd/callpickups', title: 'New call pickup' },
	'call-filter': { key: 'confd/callfilters', title: 'New call filter' },
	'conference-room': { key: 'confd/conferences', title: 'New conference room' },
	'voice-menu': { key: 'confd/ivr', title: 'New menu' },
	'opening-hours': { key: 'confd/schedules', title: 'New opening hours' },
	'outgoing-route': { key: 'confd/outcalls', title: 'New outgoing route' },
	trunk: { key: 'confd/trunks', title: 'New trunk' },
	announcement: { key: 'confd/pagings', title: 'New paging group' },
	'parking-place': { key: 'confd/parkinglots', title: 'New parking place' },
};

// made returns the pages that make objects of a kind, for its list.
/** @param {Resource} resource */
export const made = (resource) =>
	Object.entries(makers)
		.filter(([, { key }]) => key === resource.key && may(resource.create))
		.map(([address, { title }]) => page(`#/${address}`, title));

const icon = (path) => {
	const picture = svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' });
	picture.append(svg('path', { d: path }));
	return picture;
};

// offered are all pages that the token can use, in the order of the menu: each kind of object and what makes one among them.
export const offered = () => {
	const all = [...places.flatMap(([, , pages]) => pages.map(usedBy)), ...[...resources.values()].flatMap((r) => [usable(r) && of(r), ...made(r)])].filter(
		(one) => !!one,
	);
	return all.filter((one, i) => all.findIndex(({ to }) => to === one.to) === i);
};

const usable = (r) => !r?.own && may(r?.list ?? r?.read);
const of = (r) => page(`#/${r.key}`, r.title);
// usedBy returns a page of a place, if the token can use it.
const usedBy = (one) => (typeof one !== 'string' ? one.offered() && one : usable(resources.get(one)) && of(resources.get(one)));
const link = ({ to, title }, ...before) => h('a', { href: to }, before, title);
const rows = (pages) =>
	h(
		'ul',
		{},
		pages.map((one) => h('li', {}, link(one))),
	);

// draw makes the menu of who is signed in.
export const draw = (nav) => {
	const account = may(resources.get('auth/users')?.read, me?.user) && page('#/account', 'Your account');
	const kinds = services
		.map((s) => ({ s, own: [...resources.values()].filter((r) => r.service === s && usable(r)).sort((a, b) => a.title.localeCompare(b.title)) }))
		.filter(({ own }) => own.length > 0);
	put(
		nav,
		h(
			'ul',
			{},
			h('li', {}, link(page('#/', 'Start'), icon('M2 8l6-5.5L14 8M4 6.5v7h8v-7'))),
			account && h('li', {}, link(account, icon('M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 8.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M4 12.7a4.2 4.2 0 0 1 8 0'))),
		),
		h(
			'ul',
			{},
			places.map(([name, picture, all]) => {
				const pages = all.map(usedBy).filter((one) => !!one);
				const beside = pages.filter((one) => one.title !== name); // which the name itself does not lead to
				return pages.length > 0 && h('li', { class: 'place' }, link({ ...pages[0], title: name }, icon(picture)), beside.length > 0 && rows(beside));
			}),
		),
		h(
			'details',
			{},
			h('summary', {}, 'All objects'),
			kinds.map(({ s, own }) => [h('h2', {}, sectionOf(s)), rows(own.map(of))]),
		),
	);
	mark(nav, location.hash.slice(1).split('?')[0]);
};

// mark marks the page's entry in the menu, of which no other is nearer (of a page that makes objects, that of their list), and unfolds the place of the work that it belongs to or, if it belongs
// to none, all objects.
export const mark = (nav, address) => {
	const path = makers[address.slice(1)] ? `/${makers[address.slice(1)].key}` : address;
	const near = (a) => ((to) => (to === `#${path}` || (to !== '#/' && `#${path}`.startsWith(`${to}/`)) ? to.length : 0))(a.getAttribute('href'));
	const links = [...nav.querySelectorAll('.place ul a'), ...nav.querySelectorAll('a')],
		nearest = Math.max(...links.map(near)),
		here = nearest > 0 && links.find((a) => near(a) === nearest);
	for (const a of links) {
		if (a === here) a.setAttribute('aria-current', 'page');
		else a.removeAttribute('aria-current');
	}
	const around = here && (here.closest('.place') ?? here.closest('details'));
	for (const place of nav.querySelectorAll('.place')) place.classList.toggle('open', place === around);
	if (around && around.tagName === 'DETAILS') around.open = true;
};
