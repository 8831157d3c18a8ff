// What one hears and keeps of the gateway's files: each takes a token, and is fetched when somebody asks for it.
import { call } from './api.js';
import { h, put, say } from './dom.js';

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
