// Forms: what is sent, and where it is said what the gateway refuses.
import { me } from './api.js';
import { may, mayAsk, whom } from './definitions.js';
import { byTheme, h, put, same, say as tell, words } from './dom.js';
import { among, fields, valuesOf } from './fields.js';
import { merged } from './merge.js';
import { settled, spoken } from './picker.js';
import { value as shown } from './shown.js';

// usual are the fields that a person mostly fills in; of the others, those that have no value yet are folded away.
const usual = [
	'name',
	'label',
	'username',
	'firstname',
	'lastname',
	'email',
	'email_address',
	'password',
	'exten',
	'number',
	'context',
	'type',
	'enabled',
	'user_ranges',
	'destination',
	'choices',
	'open_periods',
	'description',
];

// themes are what the fields of a long form are about, by their names; the last are those that few need.
/** @type {[string, RegExp][]} */
const themes = [
	[
		'Calls',
		/^(?!.*(record|caller_?id|max_|permission|announce|subroutine)).*(call|ring|transfer|hangup|forward|fallback|timeout|delay|wait|mobile|supervision|retry)/,
	],
	['Caller ID', /caller_?id/],
	['Recording', /record/],
	['Messages', /mail|pager|audio|messages|ask_password/],
	['Sounds and language', /sound|music|language|announce|timezone/],
	['Limits', /^max_|permission/],
	['SIP', /_section_options|asterisk|transport|templates/],
	['More', /^/],
];
const few = 6,
	many = 12;

// laid are fields side by side, where there is room, and boxes to tick below them.
const laid = (fields) =>
	[fields.filter((f) => f.input?.type !== 'checkbox'), fields.filter((f) => f.input?.type === 'checkbox')].map(
		(some) =>
			some.length > 0 &&
			h(
				'div',
				{ class: 'fields' },
				some.map((f) => f.element),
			),
	);

// grouped are many fields below headings, and rare those that few need.
const grouped = (fields, rare) =>
	byTheme(themes, fields, (f) => f.name).map(([title, some]) => (title === 'More' ? rare(some, laid(some)) : [h('h2', {}, title), laid(some)]));

// folded are fields that are shown when one asks for them, or if one of them says something: what they are is told.
const folded = (fields, content) =>
	fields.length > 0 &&
	h(
		'details',
		{ class: 'theme', open: fields.some((f) => f.before && !Array.isArray(f.before) && !same(f.before, f.schema.default)) },
		h('summary', {}, 'More ', h('span', { class: 'quiet' }, fields.map((f) => f.label.replace(/ \*$/, '')).join(', '))),
		content,
	);

// form makes a form for a schema. Key is the name of the keys of a map in it; inherits, whether its entries may come from elsewhere; more
// and above are fields of the page itself, each like those that field returns, after and before the others. Send receives what is to be sent, and the tag of the version that it
// changes, which is version.tag. It returns false if nothing was saved, and may throw a Refused, whose parts are shown beside the fields that they are about. Tenant is the tenant whose
// objects it may name, if that is not the one that the page acts in. Latest reads again what the form changes, and its tag, when somebody else
// has changed it since. What is locked can be read alone.
/** @param {FormOptions} _ */
export const form = ({
	service,
	schema,
	list,
	key,
	tenant,
	inherits = false,
	before,
	version = {},
	latest,
	hidden = [],
	above = [],
	more = [],
	action = 'Save',
	whole = false,
	locked = false,
	send,
}) => {
	const context = { service, list, key, tenant, inherits, makes: true };
	// An object begins with what it must have, and what most have, and ends with what few have.
	const rank = (f) =>
		[f.required, usual.includes(f.name) && f.name !== 'enabled', themes.findIndex(([, names]) => names.test(f.name)) < themes.length - 1, true].indexOf(true);
	const own = fields(context, schema, before, hidden).sort((a, b) => rank(a) - rank(b)),
		inputs = [...above, ...own, ...more];
	const asked = (f) => f.required || (usual.includes(f.name) && !(before && ['username', 'password'].includes(f.name))); // with which an object begins
	const plain = own.filter(asked),
		all = own.length <= (before ? many : few);
	const first = all ? own : plain.length > 1 ? plain : own.slice(0, few);
	const others = own.filter((f) => !first.includes(f));
	const general = h('div', { class: 'error', role: 'alert' });
	const button = h('button', { type: 'submit', class: 'primary' }, action);
	const rest = before || whole ? grouped(others, folded) : folded(others, others.length > many ? grouped(others, (_, content) => content) : laid(others));
	const attempt = async (body) => {
		put(general);
		tell(''); // what was said of the time before
		button.disabled = true;
		try {
			if ((await send(body, version.tag)) !== false) element.removeAttribute('data-typed');
		} catch (problem) {
			if (!problem.messages) throw problem;
			if (problem.status === 401 && !me) return; // the session has ended, and the page asks for another
			put(general, problem.status === 412 && latest ? await conflict(body, latest) : place(problem, inputs));
		} finally {
			button.disabled = false;
			if (document.activeElement === document.body && button.isConnected) button.focus(); // a button that is disabled loses the focus
		}
	};
	let settling = false;
	const submit = async (event) => {
		event.preventDefault();
		if (settling) return; // a double click
		put(general);
		settling = true;
		await settled(element);
		settling = false;
		if (!element.isConnected) return; // the page was left, or the session has ended
		const body = valuesOf(inputs, whole ? undefined : before);
		if (!(body instanceof Error)) await attempt(body);
	};
	// conflict tells what somebody else has changed since this form was opened, and offers to save both changes. What was typed stays.
	const conflict = async (body, latest) => {
		let now;
		try {
			now = await latest();
		} catch (problem) {
			if (!problem.messages) throw problem;
			return [
				h('p', {}, 'Somebody else has changed this since you opened it, and it cannot be read any more. What you have typed is not saved.'),
				place(problem, inputs),
			];
		}
		const theirs = inputs.filter(({ name }) => !same(now.object[name], before?.[name]));
		const both = Object.fromEntries(
			Object.entries(body).map(([name, mine]) => [name, merged(inputs.find((f) => f.name === name)?.schema, before?.[name], mine, now.object[name])]),
		);
		const say = (input, object) => shown(service, input.name, input.schema ?? {}, object?.[input.name]) || 'nothing';
		return h(
			'div',
			{ class: 'conflict' },
			h('p', {}, 'Somebody else has changed this since you opened it. What you have typed is still here, and not saved yet.'),
			theirs.length > 0 &&
				h(
					'ul',
					{},
					theirs.map((f) =>
						h(
							'li',
							{},
							h('b', {}, f.label ?? words(f.name)),
							' was ',
							say(f, before),
							' and is now ',
							say(f, now.object),
							'. ',
							f.name in body &&
								!same(body[f.name], now.object[f.name]) &&
								(Array.isArray(body[f.name])
									? 'If you save, what both of you have added and removed counts.'
									: 'You have changed it too: if you save, yours counts.'),
						),
					),
				),
			h(
				'p',
				{ class: 'actions' },
				h(
					'button',
					{
						type: 'button',
						class: 'primary',
						click: () => {
							version.tag = now.tag;
							return attempt(both);
						},
					},
					'Save mine too',
				),
				h('button', { type: 'button', click: () => dispatchEvent(new HashChangeEvent('hashchange')) }, 'Discard mine'),
			),
		);
	};
	const element = h(
		'form',
		{ method: 'post', submit, novalidate: true },
		above.map((f) => f.element),
		before && own.length > few ? laid(first) : first.map((f) => f.element),
		rest,
		more.map((f) => f.element),
		general,
		h('p', { class: 'actions' }, button),
	);
	if (locked) for (const control of element.querySelectorAll('input, select, textarea, button')) control.disabled ||= !control.closest('.tools, .pages');
	return element;
};

// beside calls put with what a refusal says of each value, and the value's path, and returns whether that was all: put reports whether it was
// said. A sentence about several values is said if it stands beside one of them.
export const beside = ({ parts }, put) => {
	const said = new Set(parts.filter(({ path, detail }) => put(path, spoken(detail))).map(({ detail }) => detail));
	return parts.length > 0 && parts.every(({ detail }) => said.has(detail));
};

// place puts what is said of values beside their fields, and returns what is to be read apart.
const place = (problem, inputs) => {
	const all = beside(problem, (path, message) => {
		const about = among(inputs, path);
		const folded = about && inputs.find(({ name }) => name === path[0])?.element.closest('details.theme');
		if (folded) folded.open = true;
		about?.refuse(message);
		return Boolean(about);
	});
	inputs[0]?.element.closest('form')?.querySelector('[aria-invalid=true]')?.focus(); // reading goes on at the first of them
	return all ? [] : said(problem);
};

// said is what a request was refused with, and who can help.
const said = (problem) => [...problem.messages.map((message) => h('p', {}, spoken(message))), refusal(problem)];

// trouble shows what a request was refused with, with a button for again where that may succeed later. What is no refusal is a fault of the page.
/** @type {(problem: any, again?: () => any) => any} */
export const trouble = (problem, again) => {
	if (!problem.messages) throw problem;
	return h(
		'div',
		{ class: 'error', role: 'alert' },
		said(problem),
		again && (problem.status === 0 || problem.status >= 500) && h('p', {}, h('button', { type: 'button', click: () => again() }, 'Try again')),
	);
};

// refused says, before anything is typed, that the token does not allow an operation, and whom to ask.
export const refused = (operation) =>
	!may(operation) && h('p', { class: 'denied' }, `You may not do this: it takes the access ${operation?.access}. To be allowed it, ask ${whom()}.`);

// refusal leads from a 403 to its reasons.
const refusal = (problem) => {
	if (problem.status !== 403 || !problem.request) return '';
	if (!mayAsk()) return h('p', {}, `To be allowed this, ask ${whom()}.`);
	const query = new URLSearchParams({ method: problem.request.method, path: problem.request.path });
	return h('p', {}, h('a', { href: `#/why?${query}` }, 'Why was I refused, and who may do it?'));
};
