// A page for tests: as much of a browser's document as the console's scripts use, without a browser.
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';

// what Node.js 18 has not by itself
globalThis.crypto ??= webcrypto;
globalThis.CustomEvent ??= class extends Event {
	constructor(name, { detail }) {
		super(name);
		this.detail = detail;
	}
};

// matches reports whether an element is meant by a simple selector: a name, classes and attributes.
const matches = (element, selector) => {
	const [name] = selector.match(/^[a-z0-9]*/i);
	const parts = [...selector.slice(name.length).matchAll(/\.([\w-]+)|#([\w-]+)|\[([\w-]+)(?:="?([^"\]]*)"?)?\]/g)];
	return (
		(!name || element.tagName === name.toUpperCase()) &&
		parts.every(([, word, id, attribute, value]) => {
			if (word) return element.classList.contains(word);
			if (id) return element.id === id;
			return value === undefined ? element.getAttribute(attribute) !== null : element.getAttribute(attribute) === value;
		})
	);
};

// selected reports whether a selector means an element: simple ones, one inside of another, or one of several.
const selected = (element, selectors) =>
	selectors.split(', ').some((selector) => {
		const words = selector.split(' ');
		if (!matches(element, words.pop())) return false;
		let above = element.parent;
		while (words.length > 0) {
			while (above && !matches(above, words.at(-1))) above = above.parent;
			if (!above) return false;
			words.pop();
		}
		return true;
	});

class Text {
	constructor(text) {
		this.textContent = String(text);
	}
}

class Element {
	#attributes = new Map();
	#value;
	children = [];
	listeners = [];
	checked = false;
	disabled = false;
	validity = { badInput: false };

	constructor(name) {
		this.tagName = name.toUpperCase();
	}
	get id() {
		return this.#attributes.get('id') ?? '';
	}
	get type() {
		return this.#attributes.get('type') ?? '';
	}
	get list() {
		return this.#attributes.get('list');
	}
	get hidden() {
		return this.#attributes.has('hidden');
	}
	set hidden(hidden) {
		if (hidden) this.#attributes.set('hidden', '');
		else this.#attributes.delete('hidden');
	}
	get value() {
		if (this.tagName === 'OPTION') return this.#value ?? this.#attributes.get('value') ?? this.textContent;
		if (this.tagName !== 'SELECT' || this.#value !== undefined) return this.#value ?? '';
		const options = this.querySelectorAll('option');
		return (options.find((option) => option.getAttribute('selected') !== null) ?? options[0])?.value ?? '';
	}
	set value(value) {
		this.#value = String(value);
	}
	setAttribute(name, value) {
		this.#attributes.set(name, String(value));
	}
	removeAttribute(name) {
		this.#attributes.delete(name);
	}
	getAttribute(name) {
		return this.#attributes.get(name) ?? null;
	}
	get classList() {
		const words = () => (this.getAttribute('class') ?? '').split(' ').filter(Boolean);
		const contains = (word) => words().includes(word);
		const toggle = (word, on = !contains(word)) => this.setAttribute('class', [...words().filter((other) => other !== word), ...(on ? [word] : [])].join(' '));
		return { contains, toggle, add: (word) => toggle(word, true), remove: (word) => toggle(word, false) };
	}
	get textContent() {
		return this.children.map((child) => child.textContent).join('');
	}
	set textContent(text) {
		this.replaceChildren(text);
	}
	replaceChildren(...children) {
		for (const child of this.children) child.parent = undefined;
		this.children = [];
		this.append(...children);
	}
	append(...children) {
		for (const child of children.map((one) => (typeof one === 'string' || typeof one === 'number' ? new Text(one) : one))) {
			child.remove?.();
			child.parent = this;
			this.children.push(child);
		}
	}
	replaceWith(other) {
		const { parent } = this;
		parent.children[parent.children.indexOf(this)] = other;
		other.parent = parent;
		this.parent = undefined;
	}
	after(other) {
		const { children } = this.parent;
		children.splice(children.indexOf(this) + 1, 0, other);
		other.parent = this.parent;
	}
	remove() {
		if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
		this.parent = undefined;
	}
	get isConnected() {
		return this === document.body || Boolean(this.parent?.isConnected);
	}
	querySelectorAll(selectors) {
		return this.children
			.filter((child) => child instanceof Element)
			.flatMap((child) => [...(selected(child, selectors) ? [child] : []), ...child.querySelectorAll(selectors)]);
	}
	querySelector(selectors) {
		return this.querySelectorAll(selectors)[0] ?? null;
	}
	contains(other) {
		return other === this || Boolean(other.parent && this.contains(other.parent));
	}
	closest(selectors) {
		return selected(this, selectors) ? this : (this.parent?.closest(selectors) ?? null);
	}
	addEventListener(name, run) {
		this.listeners.push([name, run]);
	}
	focus() {
		document.activeElement = this;
	}
	// fire is what happens when a person does something with the element.
	fire(name, more = {}) {
		const event = { type: name, target: this, preventDefault: () => {}, ...more };
		for (let at = this; at; at = at.parent) for (const [heard, run] of at.listeners) if (heard === name) run(event);
	}
}

// open begins a new page, and returns its body.
export const open = () => {
	const body = new Element('body');
	globalThis.document = {
		body,
		activeElement: body,
		createElement: (name) => new Element(name),
		createElementNS: (_, name) => new Element(name),
		getElementById: (id) => body.querySelector(`#${id}`),
		querySelectorAll: (selectors) => body.querySelectorAll(selectors),
	};
	globalThis.matchMedia = () => ({ matches: false });
	globalThis.location = { origin: 'https://pbx.example.com', hash: '' };
	const stored = new Map();
	globalThis.sessionStorage = {
		getItem: (name) => stored.get(name) ?? null,
		setItem: (name, value) => stored.set(name, value),
		removeItem: (name) => stored.delete(name),
	};
	body.append(new Element('p'));
	body.children[0].setAttribute('id', 'state');
	return body;
};

// answering makes the gateway answer: answers are by method and path, with the query, each a body, or a function that returns one or a
// Response. It returns the requests that were sent.
export const answering = (answers) => {
	const sent = [];
	globalThis.fetch = async (url, options = {}) => {
		const { pathname, search } = new URL(String(url).replace(/^file:.*[/]assets[/]/, '/'), location.origin),
			method = options.method ?? 'GET',
			request = { method, path: pathname + search, headers: options.headers ?? {}, body: options.body && JSON.parse(options.body) };
		sent.push(request);
		const answer = answers[`${method} ${pathname}${search}`] ?? answers[`${method} ${pathname}`];
		if (answer === undefined) return new Response('', { status: 404 });
		const body = typeof answer === 'function' ? await answer(request) : answer;
		return body instanceof Response ? body : Response.json(body);
	};
	return sent;
};

// until waits until something is so, and fails if it is not after half a minute.
export const until = async (is) => {
	const end = Date.now() + 30_000;
	while (!is()) {
		if (Date.now() > end) throw new Error(`never: ${is}; the page shows "${document.body.textContent}"`);
		await new Promise(setImmediate);
	}
};

// definition is what one of the services says of itself.
export const definition = (folder) => JSON.parse(readFileSync(new URL(`../../${folder}/testdata/openapi.json`, import.meta.url), 'utf8'));

// labelled finds the control of a field by its label.
export const labelled = (place, label) => {
	const found = place.querySelectorAll('label').find((one) => one.textContent === label);
	return found && document.getElementById(found.getAttribute('for'));
};
