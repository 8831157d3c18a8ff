// How the files of the telephone system differ, object by object.
import { may, oneOf, resources } from './definitions.js';
import { badge, brief, h, plural, put, words } from './dom.js';
import { objectBy } from './picker.js';

// ours are the sections of the dialplan whose numbers begin with the key of an object of confd.
const ours = {
	'ringfence-conferences': 'conferences',
	'ringfence-devices': 'users',
	'ringfence-fallbacks': 'users',
	'ringfence-groups': 'groups',
	'ringfence-incalls': 'incalls',
	'ringfence-outcalls': 'outcalls',
	'ringfence-schedules': 'schedules',
	'ringfence-users': 'users',
	usersharedlines: 'users',
};

// keyIn is the object of confd that a number of the dialplan belongs to, if there is one: its collection, and its key there.
const keyIn = (section, number) => {
	const menu = section.match(/^ringfence-menu-(\d+)$/),
		begin = ours[section] && number.match(/^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d+)(?=-|$)/);
	if (menu) return ['ivr', menu[1]];
	return begin ? [ours[section], begin[1]] : undefined;
};

// objectsOf parts a difference in the unified format by objects: all numbers of the dialplan that one of confd has, another number, or a section
// of the file. Each has its name, the section that it is in, and the lines that come, go and stay.
export const objectsOf = (file, diff) => {
	const objects = new Map();
	let section = '',
		number = '';
	for (const line of diff.split('\n').slice(2)) {
		const part = line.match(/^@@ .*? @@(?: \[([^\]]*)\]\S*(?: (.*))?)?$/);
		if (part) {
			[section, number] = [part[1] ?? '', part[2] ?? ''];
			continue;
		}
		const text = line.slice(1),
			begins = text.match(/^\[([^\]]*)\]/),
			exten = text.match(/^exten\s*=>?\s*([^,]+),/);
		if (begins) [section, number] = [begins[1], ''];
		if (exten) number = exten[1].trim();
		if (text.trim() === '') continue;
		const of = keyIn(section, number),
			key = of ? of.join() : `${section}\n${number}`;
		if (!objects.has(key)) objects.set(key, { file, section, number, of, lines: [] });
		objects.get(key).lines.push(line);
	}
	// What is only the beginning of one of our sections, or a section whose sum Asterisk is asked for afterwards, tells nobody anything.
	return [...objects.values()].filter(
		(o) => o.lines.some((line) => /^[+-]/.test(line)) && !/^ringfence-(\d+|folder)$/.test(o.section) && (o.number || !ours[o.section]),
	);
};

// kinds are the objects by whose names the sections of a file are called.
const kinds = {
	'pjsip.conf': 'confd/endpoints/sip',
	'queues.conf': 'confd/groups',
	'extensions.conf': 'confd/contexts',
	'voicemail.conf': 'confd/contexts',
	'musiconhold.conf': 'confd/moh',
};

// called is the name of an object for people, which replaces its own as soon as it is known: that of its section, or its key.
const called = (text, key, by) => {
	const element = h('span', {}, text),
		resource = resources.get(key);
	const learn = (found) => found && brief(found) && put(element, brief(found));
	if (text && resource?.list && may(resource.list)) objectBy(resource, by, text).then(learn, () => {});
	return element;
};
const nameOf = ({ file, section, number, of: [kind, key] = [] }) =>
	kind
		? [resources.has(`confd/${kind}`) ? oneOf(resources.get(`confd/${kind}`)) : words(kind), ' ', called(key, `confd/${kind}`)]
		: [number && [number, ' in '], section ? called(section, kinds[file], 'name') : file];

const most = 200;

// difference shows how files differ: what comes and goes, object by object, and the files as a whole.
export const difference = (files) => {
	const objects = files.flatMap((f) => objectsOf(f.name, f.diff));
	const count = (o, sign) => o.lines.filter((line) => line.startsWith(sign)).length;
	const lines = (all) =>
		h(
			'pre',
			{ class: 'difference' },
			all.map((line) => h({ '+': 'ins', '-': 'del' }[line[0]] ?? 'span', {}, line + '\n')),
		);
	return [
		h(
			'ul',
			{ class: 'objects' },
			objects.slice(0, most).map((o) => {
				const comes = count(o, '+'),
					goes = count(o, '-'),
					kept = o.lines.some((line) => line.startsWith(' '));
				return h(
					'li',
					{},
					h(
						'details',
						{},
						h(
							'summary',
							{},
							badge(...(kept || (comes > 0 && goes > 0) ? ['changed'] : comes > 0 ? ['new', 'good'] : ['gone', 'bad'])),
							' ',
							h('b', {}, nameOf(o)),
							h(
								'small',
								{},
								` ${o.file}, ${[comes > 0 && plural(comes, 'line') + ' more', goes > 0 && plural(goes, 'line') + ' less'].filter(Boolean).join(', ')}`,
							),
						),
						lines(o.lines),
					),
				);
			}),
		),
		objects.length > most && h('p', {}, `and ${plural(objects.length - most, 'other object')}.`),
		h(
			'details',
			{},
			h('summary', {}, `The files as a whole: ${files.map((f) => `${f.name} is ${f.change}`).join(', ')}`),
			files.map((f) => h('section', {}, h('h3', {}, f.name), lines(f.diff.trimEnd().split('\n').slice(2)))),
		),
	];
};
