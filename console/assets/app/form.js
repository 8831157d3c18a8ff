// Forms: what is sent, and where it is said what the gateway refuses.
import { me } from './api.js';
import { may, mayAsk, whom } from './definitions.js';
import { byTheme, h, plural, put, same, say as tell, words } from './dom.js';
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
	'user_ranges',
	'destination',
	'description',
];

// themes are what the fields of a long form are about, by their names.
/** @type {[string, RegExp][]} */
const themes = [
	['Recording', /record/],
	['Caller ID', /caller_?id|callerid/],
	['Sounds and language', /sound|music|language|announce|timezone/],
	['Calls', /call|ring|transfer|hangup|forward|fallback|timeout|delay|max_|subroutine|dtmf/],
	['SIP', /_section_options|asterisk|transport|templates/],
	['More', /^/],
];
const many = 8;

// foldedIn are the fields that are folded away: many of them by what they are about.
const foldedIn = (folded) => {
	if (folded.length <= many) return folded.length > 0 ? [[plural(folded.length, 'more field'), folded]] : [];
	return byTheme(themes, folded, (f) => f.name).map(([title, some]) => [[title, ' ', h('span', { class: 'quiet' }, plural(some.length, 'field'))], some]);
};

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
	// A new object begins with what it must have, and what most have.
	const rank = (f) => (before ? 0 : [f.required, usual.includes(f.name), true].indexOf(true));
	const own = fields(context, schema, before, hidden).sort((a, b) => rank(a) - rank(b)),
		inputs = [...above, ...own, ...more];
	const filled = (value) => value != null && value !== '' && value !== false && value.length !== 0;
	const asked = (f) => usual.includes(f.name) && !(before && ['username', 'password'].includes(f.name)); // with which an object begins
	const plain = own.filter((f) => f.required || asked(f) || filled(f.before));
	const first = own.length <= (before ? 12 : 6) ? own : plain.length > 1 ? plain : own.slice(0, 6);
	const folded = own.filter((f) => !first.includes(f));
	const general = h('div', { class: 'error', role: 'alert' });
	const button = h('button', { type: 'submit', class: 'primary' }, action);
	const rest = foldedIn(folded).map(([title, some]) =>
		h(
			'details',
			{ class: 'theme' },
			h('summary', {}, title),
			some.map((f) => f.element),
		),
	);
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
		first.map((f) => f.element),
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
