// The login of a telephone: what one types into it or lets it read from the page, and how it gets a new one. It is part of the page of a SIP
// endpoint, and of the pages of its line and its users.
import { call } from './api.js';
import { bodyOf, fill, may, resources } from './definitions.js';
import { ask, brief, fresh, h, put, say, svg } from './dom.js';
import { trouble } from './form.js';

// numbered is what one of some telephones is called: by its numbers, and by its name if it has none, or is not the only one.
export const numbered = (extensions, name, many) => {
	const numbers = brief(extensions);
	return numbers && many > 1 ? `${numbers} (${name})` : numbers || (name ?? '');
};

const endpoints = () => resources.get('confd/endpoints/sip');

// made is the endpoint whose login was just made: it is shown when the page that has it is opened.
let made;
export const reveal = (uuid) => {
	made = uuid;
};

// code is a text as a picture that a telephone reads: dark on light in any look of the page.
export const code = async (text, label = 'The login as a QR code') => {
	const { encode } = await import('../vendor/uqr/uqr.js'); // which few pages need
	const { size, data } = encode(text, { ecc: 'M', border: 4 });
	const dark = data.flatMap((row, y) => row.map((is, x) => (is ? `M${x} ${y}h1v1h-1z` : ''))).join('');
	const picture = svg('svg', {
		viewBox: `0 0 ${size} ${size}`,
		class: 'code',
		role: 'img',
		'aria-label': label,
		'shape-rendering': 'crispEdges',
	});
	picture.append(svg('rect', { width: size, height: size, fill: '#fff' }), svg('path', { d: dark, fill: '#000' }));
	return picture;
};

// copied puts what a field has where one can paste it, or selects it where the browser does not allow that.
const copied = async (field, label) => {
	try {
		await navigator.clipboard.writeText(field.value);
		say(`${label} copied.`);
	} catch {
		field.select();
		say('This browser does not let the page copy. It is selected: copy it yourself.', true);
	}
};

// line is a field with a value that one can copy.
export const line = (label, value, readonly = true) => {
	const field = h('input', { id: fresh('login'), value, autocomplete: 'off', spellcheck: 'false', readonly });
	return {
		field,
		row: h(
			'div',
			{ class: 'field' },
			h('label', { for: field.id }, label),
			h('div', { class: 'copy' }, field, h('button', { type: 'button', 'aria-label': `Copy: ${label}`, click: () => copied(field, label) }, 'Copy')),
		),
	};
};

// shown is a login, as one reads, copies and scans it. The address of the telephone system is that of the gateway, unless somebody knows better.
const shown = (username, password) => {
	const address = line('Server', location.hostname, false),
		uri = line('SIP address', ''),
		picture = h('div');
	const draw = async () => {
		uri.field.value = `sip:${encodeURIComponent(username)}:${encodeURIComponent(password)}@${address.field.value.trim()}`;
		put(picture, await code(uri.field.value));
	};
	address.field.addEventListener('input', draw);
	draw();
	return [line('User name', username).row, line('Password', password).row, address.row, uri.row, picture];
};

// sections are the parts of an object's page about the logins of its telephones. Again draws the page anew, with a part of this path open.
/** @param {Resource} resource */
export const sections = (resource, object, again) => {
	const of = endpoints(),
		update = of?.update;
	if (!update || !bodyOf(of.service, update).properties?.generate_login) return [];
	const sip = ({ endpoint_sip: one, extensions }) => one && { ...one, extensions };
	const those = resource === of ? [object] : [object, ...(object.lines ?? [])].map(sip).filter(Boolean);
	return those
		.filter(({ uuid }) => uuid && may(of.read, uuid))
		.map(({ uuid, name, extensions }) => {
			const path = of.service.prefix + fill(of.itemPath, uuid),
				own = `login/${uuid}`,
				box = h('div');
			const draw = async () => {
				try {
					const { data, headers } = await call('GET', path),
						last = (option) => data.auth_section_options.findLast(([key]) => key === option)?.[1];
					const [username, password] = [last('username'), last('password')];
					const renew = async () => {
						if (password && !(await ask('Make a new login?', h('p', {}, 'The one that the telephone has now counts no longer.'), 'Make it'))) return;
						try {
							await call(update.method, path, { body: { generate_login: true }, headers: { 'If-Match': headers.get('ETag') } });
							await again({ path: own });
							say('The telephone has a new login.');
						} catch (problem) {
							say(trouble(problem), true);
						}
					};
					put(
						box,
						username && password ? shown(username, password) : h('p', { class: 'empty' }, 'It has no login of its own: no telephone can register with it.'),
						h(
							'p',
							{ class: 'actions' },
							h('button', { type: 'button', disabled: !may(of.update, uuid), click: renew }, password ? 'Make a new login' : 'Make a login'),
						),
					);
				} catch (problem) {
					put(box, trouble(problem, draw));
				}
			};
			const open = made === uuid;
			if (open) made = undefined;
			return h(
				'details',
				{ class: 'part', 'data-path': own, 'data-name': 'login', open, toggle: (event) => event.target.open && draw() },
				h('summary', {}, `Login of the ${resource.key === 'confd/trunks' ? 'other side' : 'telephone'} ${numbered(extensions, name, those.length)}`),
				box,
			);
		});
};
