// Requests as lines for a shell: a person sees what a page asks, and can ask the same. No line has a token or a secret.
import { requests } from './api.js';
import { fresh, h } from './dom.js';

// quoted makes a text one word of a shell.
const quoted = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;

// secret are the names of what is not shown, and hidden stands in its place.
const secret = /pass(word|wd)|secret|token|credential|private|(^|_)(pin|otp)$/i,
	hidden = '(secret)';

// open returns a body without its secrets: those of objects, and those of pairs of a name and a value.
const open = (value) => {
	if (Array.isArray(value)) return value.length === 2 && typeof value[0] === 'string' && secret.test(value[0]) ? [value[0], hidden] : value.map(open);
	if (value === null || typeof value !== 'object') return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, one]) => [name, secret.test(name) && one !== null && typeof one !== 'boolean' ? hidden : open(one)]),
	);
};

// content returns the body of a request, as curl sends it: a text of JSON without its secrets, and of a file its name.
const content = (body) => {
	if (body === undefined || body === null) return '';
	if (body instanceof Blob) return ` \\\n  --data-binary @file`;
	let read = body;
	try {
		if (typeof body === 'string') read = JSON.parse(body);
	} catch {
		return ` \\\n  --data-raw ${quoted(body)}`;
	}
	return ` \\\n  --data-raw ${quoted(JSON.stringify(open(read)))}`;
};

// curl is the line that a person can run: with the certificate to trust, and the token taken from the environment.
/** @param {Sent} request */
export const curl = ({ method, url, headers, body }) => {
	const shown = Object.entries(headers ?? {}).filter(([name]) => !/^(x-auth-token|authorization|cookie)$/i.test(name));
	const token = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === 'x-auth-token') ? ' \\\n  -H "X-Auth-Token: $TOKEN"' : '';
	const how = method === 'HEAD' ? '--head' : `-X ${method}`; // with -X HEAD curl would wait for a body
	return `curl --cacert ringfence.pem ${how} ${quoted(url)}${shown.map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`).join('')}${token}${content(body)} \\\n  --globoff`;
};

// copier is a button that copies a text.
const copier = (text, label) => {
	const button = h(
		'button',
		{
			type: 'button',
			'aria-label': label,
			click: async () => {
				await navigator.clipboard.writeText(text);
				button.textContent = 'Copied';
			},
		},
		'Copy',
	);
	return button;
};

// show shows the requests of this page, and the last changes of those before it, each once, the last one first.
export const show = () => {
	const title = fresh('curl'),
		lines = [...new Set(requests.map(curl).reverse())];
	const dialog = h(
		'dialog',
		{ class: 'wide', 'aria-labelledby': title, close: () => dialog.remove() },
		h('h2', { id: title }, 'This page with curl'),
		h(
			'p',
			{},
			'Put a token into ',
			h('code', {}, 'TOKEN'),
			', and the gateway’s certificate into ',
			h('code', {}, 'ringfence.pem'),
			'. What was sent as a secret is left out: fill it in.',
		),
		lines.length === 0 && h('p', { class: 'empty' }, 'This page has asked nothing.'),
		lines.map((line, i) => h('div', { class: 'line' }, h('pre', { tabindex: '0' }, line), copier(line, `Copy line ${i + 1}`))),
		h('form', { method: 'dialog', class: 'actions' }, h('button', { autofocus: true }, 'Close')),
	);
	document.body.append(dialog);
	dialog.showModal();
};
