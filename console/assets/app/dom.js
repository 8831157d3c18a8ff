// h makes an element. Of its attributes, functions become listeners, true a bare attribute, and false, null and undefined nothing.
// Children may be nodes, texts, lists of these, or nothing. Texts are never read as HTML.
export const h = (tag, attributes = {}, ...children) => {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function') element.addEventListener(name, value);
		else if (name === 'value' || name === 'checked' || name === 'disabled') element[name] = value ?? '';
		else if (value !== false && value != null) element.setAttribute(name, value === true ? '' : value);
	}
	return put(element, children);
};

// put gives an element these children, as h does, and no others.
export const put = (element, ...children) => {
	element.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false && child !== ''));
	return element;
};

// svg makes an element of a picture.
export const svg = (tag, attributes) => {
	const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	return element;
};

// badge is a state, by its word and a colour.
export const badge = (text, kind = '') => h('span', { class: `badge ${kind}` }, text);

// grid is a table of rows of what is shown, below titles.
export const grid = (titles, rows) =>
	h(
		'div',
		{ class: 'scroll' },
		h(
			'table',
			{},
			h(
				'thead',
				{},
				h(
					'tr',
					{},
					titles.map((title) => h('th', { scope: 'col' }, title)),
				),
			),
			h(
				'tbody',
				{},
				rows.map((row) =>
					h(
						'tr',
						{},
						row.map((content, i) => h('td', { 'data-label': titles[i] }, h('div', {}, content))),
					),
				),
			),
		),
	);

// turner tells how many a list has and, if it has several pages, which one is shown, and turns to another: those beside it or, of many, any by its
// number.
export const turner = (total, searched, page, last, turn) => {
	const number = h('input', {
		type: 'number',
		class: 'short',
		form: '', // Enter turns, and sends no form around the list
		min: 1,
		max: last,
		'aria-label': 'Go to page',
		placeholder: page,
		change: () => turn(Math.min(last, Math.max(1, Math.trunc(Number(number.value)) || page))),
	});
	return [
		h('span', {}, `${total.toLocaleString()} ${searched ? 'found' : 'in all'}`, last > 1 && `, page ${page} of ${last}`),
		last > 1 && [
			last > 2 && h('button', { type: 'button', disabled: page <= 1, click: () => turn(1) }, 'First'),
			h('button', { type: 'button', disabled: page <= 1, click: () => turn(page - 1) }, 'Previous'),
			h('button', { type: 'button', disabled: page >= last, click: () => turn(page + 1) }, 'Next'),
			last > 2 && [h('button', { type: 'button', disabled: page >= last, click: () => turn(last) }, 'Last'), number],
		],
	];
};

let made = 0;

// fresh returns an id that no other element has.
export const fresh = (name) => `${name}-${++made}`;

// later calls a function once, when it was not asked for again for a while.
export const later = (run, milliseconds = 250) => {
	let timer;
	return (...values) => {
		clearTimeout(timer);
		timer = setTimeout(() => run(...values), milliseconds);
	};
};

// words makes a name readable that nobody has said how to read: "call_record_enabled" and "callRecord" are "Call record enabled".
export const words = (name) => {
	const text = String(name)
		.replace(/[_/-]+/g, ' ')
		.replace(/([a-z])([A-Z])/g, '$1 $2')
		.toLowerCase()
		.replace(/\b(uuid|id|url)\b/g, (word) => word.toUpperCase());
	return text.charAt(0).toUpperCase() + text.slice(1);
};

// byTheme sorts things by what their names are about: a title, and the things, of each theme that has some. A theme is a title and a pattern
// of names; the last one takes all.
/** @type {<T>(themes: [string, RegExp][], things: T[], nameOf: (thing: T) => string) => [string, T[]][]} */
export const byTheme = (themes, things, nameOf) => {
	const of = (thing) => themes.find(([, names]) => names.test(nameOf(thing)))?.[0];
	return themes.map(([title]) => /** @type {[string, any[]]} */ ([title, things.filter((thing) => of(thing) === title)])).filter(([, some]) => some.length > 0);
};

// plural tells how many of something there are, in words.
export const plural = (n, word) => `${n.toLocaleString()} ${word}${n === 1 ? '' : 's'}`;

// moment shows a time as people of this place write it.
export const moment = (text) => {
	const at = new Date(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : text + 'Z');
	return Number.isNaN(at.getTime()) ? text : at.toLocaleString();
};

const named = ['fullname', 'label', 'name', 'exten', 'username', 'address', 'number', 'interface', 'user_name', 'type', 'uuid', 'id'];

// naming are the attributes that brief looks at, with the keys of objects.
export const naming = [...named, 'firstname', 'lastname', 'extensions', 'start', 'end', 'endpoint_sip', 'endpoint_custom'];

// literal makes a text a part of a regular expression that stands for the text itself.
export const literal = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

// brief returns a value in a few words, for a cell of a table.
export const brief = (value) => {
	if (value == null || value === '') return '';
	if (typeof value === 'boolean') return value ? 'yes' : 'no';
	if (Array.isArray(value)) {
		if (value.length > 0 && value.every((item) => Array.isArray(item) && item.length === 2)) return brief(value.map((pair) => pair.join(' = ')));
		const shown = value.slice(0, 3).map(brief).filter(Boolean).join(', ');
		return value.length > 3 ? `${shown} and ${value.length - 3} more` : shown;
	}
	if (typeof value === 'object') {
		const lists = Object.values(value);
		if (lists.length > 1 && lists.every(Array.isArray)) return brief(lists.flat());
		if (value.extensions?.length && !value.label && (!value.name || 'endpoint_sip' in value)) return brief(value.extensions); // a line's name is chosen at random
		if (value.firstname || value.lastname) return [value.firstname, value.lastname].filter(Boolean).join(' ');
		if (value.start && value.end) return value.start === value.end ? String(value.start) : `${value.start} to ${value.end}`;
		const name = named.find((key) => value[key] != null && value[key] !== ''),
			endpoint = (!name || name === 'id') && (value.endpoint_sip ?? value.endpoint_custom); // a trunk has no name of its own
		return endpoint ? brief(endpoint) : name ? String(value[name]) : '';
	}
	return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) ? moment(value) : String(value);
};

// broken is a text whose long words, such as addresses, can go on in another line behind a sign.
export const broken = (text) =>
	text.split(/(\s+)/).map((word) => (word.length > 16 ? word.split(/(?<=[@._/:-])(?=\w)/).map((part, i) => [i > 0 && h('wbr'), part]) : word));

export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// ask shows a question over the page, and resolves to whether it was confirmed.
// Typed, if it is set, is what must be typed before the answer can be yes.
export const ask = (title, text, action = 'Delete', typed = '') =>
	new Promise((resolve) => {
		const id = fresh('question'),
			sure = h('button', { value: 'yes', class: 'danger', disabled: typed !== '' }, action);
		const input =
			typed &&
			h('input', {
				id: fresh('typed'),
				autocomplete: 'off',
				spellcheck: 'false',
				input: () => {
					sure.disabled = input.value !== typed;
				},
			});
		const dialog = h(
			'dialog',
			{
				'aria-labelledby': id,
				close: () => {
					resolve(dialog.returnValue === 'yes');
					dialog.remove();
				},
			},
			h(
				'form',
				{ method: 'dialog' },
				h('h2', { id }, title),
				text,
				input && h('p', { class: 'field' }, h('label', { for: input.id }, `To go on, type its name: ${typed}`), input),
				h(
					'p',
					{ class: 'actions' },
					// Enter in the field answers as the first button that submits does: that is not this one.
					h('button', { type: typed ? 'button' : 'submit', value: 'no', autofocus: true, click: () => dialog.close('no') }, 'Cancel'),
					sure,
				),
			),
		);
		document.body.append(dialog);
		dialog.showModal();
	});

// tick is a box with what it means, for a question. It is read when the question was answered.
export const tick = (text) => {
	const box = h('input', { type: 'checkbox', id: fresh('tick') });
	return { element: h('p', { class: 'field check' }, box, h('label', { for: box.id }, text)), ticked: () => box.checked };
};

const noticed = 20_000; // how many milliseconds a message stays that says that all is well
let going;

// say shows a message in the page's line of messages, which screen readers read out. What went wrong stays until there is another, or it is closed.
export const say = (text, wrong = false) => {
	const state = document.getElementById('state');
	clearTimeout(going);
	state.classList.toggle('wrong', wrong);
	put(state, text, text && h('button', { type: 'button', class: 'close', 'aria-label': 'Close', click: () => put(state) }));
	if (text && !wrong) going = setTimeout(() => put(state), noticed);
};

// saved tells that what was typed on this page is saved, or not needed any more: then one may leave it.
export const saved = () => dispatchEvent(new Event('saved'));

let next = '';

// lead goes to another page of the console, which then shows a message, when what was to be done is done.
export const lead = (to, text) => {
	saved();
	next = text;
	location.hash = to;
};

// arrive shows the message with which one was led to this page, or none.
export const arrive = () => {
	say(next);
	next = '';
};
