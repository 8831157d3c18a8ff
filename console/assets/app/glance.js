// A telephone user at one look: numbers, telephones, mailbox, groups, forwards, and do not disturb.
import { may, mayDo, resources } from './definitions.js';
import { badge, brief, h, put } from './dom.js';
import { nameLater } from './shown.js';

// to leads to the page of an object, if the signed-in user may see it.
const to = (key, id, text) =>
	may(resources.get(key)?.read, id) ? h('a', { href: `#/${key}/${encodeURIComponent(id)}` }, String(text)) : h('span', {}, String(text));

// many puts commas between what is shown.
const many = (shown) => shown.flatMap((one, i) => (i > 0 ? [', ', one] : [one]));

// telephone is that of a line, and leads to whether it has registered.
const telephone = ({ endpoint_sip: sip, endpoint_custom: custom, name }) =>
	h(
		'li',
		{},
		sip ? to('confd/endpoints/sip', sip.uuid, sip.label || sip.name) : (custom?.interface ?? name),
		sip && mayDo('read_asterisk') && [' – ', h('a', { href: `#/asterisk?search=${encodeURIComponent(sip.name)}` }, 'where it is registered')],
	);

// member is a group, with its name for people as soon as that is known.
const member = (group, kind) => {
	const link = to('confd/groups', group.uuid, brief(group));
	return kind ? nameLater(kind, group.uuid, link) : link;
};

const forwards = { unconditional: 'Always to', busy: 'On busy to', noanswer: 'Without an answer to' };

// show puts what there is to know of a user, as a GET returned it, in its place.
export const show = (place, user) => {
	const { lines = [], incalls = [], groups = [], voicemail, forwards: sent = {}, services = {} } = user;
	const numbers = [...lines, ...incalls].flatMap((of) => of.extensions ?? []),
		sends = Object.entries(forwards).flatMap(([name, text]) => (sent[name]?.enabled ? [`${text} ${sent[name].destination}`] : []));
	const rows = [
		['Numbers', numbers.length > 0 && many(numbers.map((x) => to('confd/extensions', x.id, x.exten)))],
		['Telephones', lines.length > 0 && h('ul', {}, lines.map(telephone))],
		['Mailbox', voicemail && to('confd/voicemails', voicemail.id, brief(voicemail))],
		['Groups', groups.length > 0 && many(groups.map((g) => member(g, resources.get('confd/groups'))))],
		['Forwards', sends.length > 0 && many(sends)],
		['Do not disturb', services.dnd?.enabled ? badge('On', 'warn') : 'off'],
	];
	put(
		place,
		h(
			'dl',
			{},
			rows.map(([title, shown]) => [h('dt', {}, title), h('dd', {}, shown || h('span', { class: 'quiet' }, 'none'))]),
		),
	);
};
