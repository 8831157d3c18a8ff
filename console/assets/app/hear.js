// What one hears, keeps and uploads of the gateway's files: each takes a token, and is fetched when somebody asks for it.
import { call } from './api.js';
import { fill, mayDo, operation } from './definitions.js';
import { fresh, h, put, say } from './dom.js';

// fetched hands the address of a file in this browser to what uses it.
const fetched = async (path, options, use) => {
	try {
		use(URL.createObjectURL((await call('GET', path, { ...options, file: true })).data));
	} catch (problem) {
		say(problem.message, true);
	}
};

// hear plays a file in a place of the page.
export const hear = (place, label, path, options) =>
	fetched(path, options, (src) => put(place, h('audio', { controls: '', autoplay: '', src, 'aria-label': label })));

// keep has the browser keep a file.
export const keep = (name, path, options) =>
	fetched(path, options, (href) => {
		h('a', { href, download: name }).click();
		setTimeout(() => URL.revokeObjectURL(href), 60_000); // the browser may read it after the click
	});

// upload is a button that asks for a file of this computer, and hands its name, which can be part of a path, and its bytes to send. Bare names have
// no ending.
export const upload = (label, bare, send) => {
	const file = h('input', {
		type: 'file',
		id: fresh('file'),
		accept: 'audio/*',
		hidden: true,
		'aria-label': label,
		change: async () => {
			const [one] = file.files;
			file.value = ''; // so that the same file can be chosen once more
			if (!one) return;
			const name = one.name.replace(bare ? /(?<=.)\.[^.]*$/ : '', '').replace(/[^\w.-]+/g, '-');
			await send(name.replace(/^\.+/, '') || 'file', new Blob([one], { type: 'application/octet-stream' }));
		},
	});
	return [h('button', { type: 'button', class: 'plain new', click: () => file.click() }, `${label} …`), file];
};

const uploads = 'uploads'; // the category of the sounds that forms upload

// heard are buttons for the sound that an input names, category/name or, of those that Asterisk brings, the name alone: one plays it, one takes a
// file of this computer for it.
export const heard = (input, read, headers) => {
	const { service, path } = /** @type {any} */ (operation('get_sounds_files')),
		place = h('span');
	const at = (...names) => service.prefix + fill(path, ...names);
	const play = () => {
		const [name, category = 'system'] = String(read()).split('/').reverse();
		return hear(place, 'Sound', at(category, name), { headers: { ...headers, Accept: '*/*' } });
	};
	const button = h('button', { type: 'button', class: 'plain new', click: play }, 'Hear it');
	const send = async (name, body) => {
		const sounds = service.prefix + '/sounds';
		try {
			const [own] = (await call('GET', sounds, { query: { name: uploads }, headers })).data.items;
			if (!own) await call('POST', sounds, { body: { name: uploads }, headers });
			const taken = new Set(own?.files.map((one) => one.name));
			let free = name;
			for (let i = 2; taken.has(free); i++) free = `${name}-${i}`;
			await call('PUT', at(uploads, free), { body, headers });
			input.value = `${uploads}/${free}`;
			for (const event of ['input', 'change']) input.dispatchEvent(new Event(event, { bubbles: true }));
		} catch (problem) {
			if (!problem.messages) throw problem;
			say(problem.message, true);
		}
	};
	const follow = () => {
		button.hidden = input.value === '';
		put(place);
	};
	for (const name of ['input', 'change']) input.addEventListener(name, follow);
	follow();
	return [button, ['list_sounds', 'create_sounds', 'update_sounds_files'].every(mayDo) && upload('Upload', true, send), place];
};
