// The console: signs in, shows where one can go, and leads there.
import { call, changes, leavePage, me, own, requests, resume, signIn, signOut, tenant, useAuth, useTenant } from './api.js';
import { load, may, resources } from './definitions.js';
import { arrive, ask, brief, h, lead, put, say } from './dom.js';
import { trouble } from './form.js';
import * as list from './list.js';
import * as menu from './menu.js';
import { picker, settled } from './picker.js';
import { forgetNames } from './shown.js';
import * as start from './start.js';

const main = document.getElementById('main'),
	nav = document.getElementById('nav'),
	head = document.getElementById('head');
let known = []; // the services of this gateway, before their definitions are loaded

// signInPage asks who one is. The page that was asked for comes afterwards.
const signInPage = (why = '') => {
	put(nav);
	put(head);
	document.body.classList.add('outside');
	const username = h('input', { id: 'username', name: 'username', autocomplete: 'username', required: true, autocapitalize: 'none', spellcheck: 'false' });
	const password = h('input', { id: 'password', name: 'password', type: 'password', autocomplete: 'current-password', required: true });
	const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
	const code = h('input', { id: 'otp', name: 'otp', autocomplete: 'one-time-code', autocapitalize: 'none', spellcheck: 'false', required: true });
	const submit = async (event) => {
		event.preventDefault();
		button.disabled = true;
		try {
			await signIn(username.value, password.value, code.isConnected ? code.value : '');
		} catch (problem) {
			if (!problem.messages) throw problem;
			if (problem.data?.error_id === 'second-factor-required') {
				const wrong = code.isConnected;
				say(wrong ? 'The code is wrong, or it was used already: wait for the next one.' : 'Type the code of your second factor, too.', wrong);
				if (!wrong) button.before(h('label', { for: 'otp' }, 'Code, or a recovery code'), code);
				code.value = '';
				code.focus();
				return;
			}
			say(problem.status === 401 ? 'The user name or the password is wrong.' : problem.message, true);
			password.value = '';
			password.focus();
		} finally {
			button.disabled = false;
		}
	};
	put(
		main,
		h(
			'form',
			{ id: 'login', method: 'post', submit },
			h('h1', {}, 'Sign in'),
			h('label', { for: 'username' }, 'User name'),
			username,
			h('label', { for: 'password' }, 'Password'),
			password,
			button,
			known.some((s) => s.mails) && h('p', {}, h('a', { href: 'reset.html' }, 'Forgotten the password?')),
			h(
				'p',
				{ class: 'quiet' },
				"New here? The first start of the gateway has told the administrator's password, and where it is kept. ",
				h('a', { href: 'api/' }, 'API explorer'),
			),
		),
	);
	say(why);
	username.focus();
};

// unfold shows the menu over the page, where there is no room beside it, or hides it.
const unfold = (open) => {
	document.body.classList.toggle('menu', open);
	document.getElementById('menu')?.setAttribute('aria-expanded', String(open));
};

// find looks for a page or an object, by its name.
const find = async () => (await import('./find.js')).show();

const drawHead = async () => {
	const button = h(
		'button',
		{ type: 'button', id: 'menu', 'aria-controls': 'nav', 'aria-expanded': 'false', click: () => unfold(!document.body.classList.contains('menu')) },
		'Menu',
	);
	const end = async () => (await leaves()) && signOut();
	const out = h('button', { type: 'button', id: 'logout', click: () => end().catch((problem) => say(problem.message, true)) }, 'Sign out');
	const seek = h('button', { type: 'button', id: 'find', title: 'Ctrl-K', click: find }, 'Find');
	const copy = h(
		'button',
		{ type: 'button', id: 'copy', title: 'What this page has asked the gateway, as lines for curl', click: async () => (await import('./curl.js')).show() },
		'curl',
	);
	put(head, button, h('span', { class: 'who' }, me?.username), seek, copy, out);
	const tenants = resources.get('auth/tenants');
	if (!tenants || !may(tenants.list)) return;
	try {
		const { data } = await call('GET', tenants.service.prefix + tenants.path, { query: { limit: 50 }, headers: own(), stays: true });
		const mine = data.items.find((t) => t.uuid === me?.tenant);
		if (me) me.below = mine && mine.parent_uuid !== mine.uuid;
		if (me && data.total > 1) button.after(h('div', { class: 'tenant' }, h('label', { for: 'tenant' }, 'Tenant'), tenantChooser(tenants, data)));
	} catch (problem) {
		if (!problem.messages) throw problem;
		if (me)
			button.after(
				h(
					'div',
					{ class: 'tenant error', role: 'alert' },
					`The tenants could not be loaded: ${problem.message} `,
					h('button', { type: 'button', click: drawHead }, 'Try again'),
				),
			);
	}
};

// tenantChooser chooses among a few tenants in a list, and among many by a search.
const tenantChooser = (tenants, data) => {
	const act = async (uuid) => {
		if (!(await leaves())) return drawHead(); // the one until now is chosen again
		head.classList.toggle('elsewhere', uuid !== me?.tenant);
		useTenant(uuid === me?.tenant ? '' : uuid);
		const page = location.hash.slice(2).split('?')[0];
		if (!page.includes('/') || resources.has(page)) return route();
		location.hash = '#/' + page.split('/').slice(0, -1).join('/'); // the object is another tenant's
		return undefined;
	};
	const now = tenant || me?.tenant;
	head.classList.toggle('elsewhere', now !== me?.tenant); // one sees at once whose things these are
	if (data.total <= data.items.length) {
		const chooser = h(
			'select',
			{ id: 'tenant', 'aria-label': 'Tenant', change: () => act(chooser.value) },
			data.items.map((t) => h('option', { value: t.uuid, selected: t.uuid === now }, brief(t))),
		);
		return chooser;
	}
	const chosen = picker(
		tenants,
		(t) => t.uuid,
		{
			id: 'tenant',
			'aria-label': 'Tenant',
			focus: () => chosen.input.select(),
			change: async () => {
				await settled(head);
				const uuid = chosen.read();
				if (uuid instanceof Error) say(uuid.message, true);
				else await act(uuid ?? me?.tenant);
			},
		},
		{ before: now, headers: own(), stays: true },
	);
	return chosen.element;
};

// What few pages need is loaded when one of them is opened.
const access = () => import('./access.js');
const item = () => import('./item.js');
const pages = {
	who: async (...values) => (await access()).who(...values),
	why: async (...values) => (await access()).why(...values),
	asterisk: async (place, query) => (await import('./asterisk.js')).show(place, query),
	calls: async (place) => (await import('./calls.js')).show(place),
	apply: async (place) => (await import('./apply.js')).show(place),
	system: async (place) => (await import('./system.js')).show(place),
	account: async (place) => (await import('./account.js')).show(place),
	csv: async (place) => (await import('./csv.js')).show(place),
	...Object.fromEntries(Object.keys(menu.makers).map((address) => [address, async (place) => (await import('./work.js')).show(place, address)])),
};

// typed returns a form of this page in which something was typed that is not saved.
const typed = () => main.querySelector('form[data-typed]');
const drop = () => {
	for (const form of main.querySelectorAll('form')) form.removeAttribute('data-typed');
};
main.addEventListener('input', ({ target }) => {
	const field = /** @type {Element} */ (target),
		form = field.closest('form');
	if (form?.querySelector('button.primary') && !field.closest('#login, .question, .tools, .pages')) form.setAttribute('data-typed', '');
});
addEventListener('saved', drop);
addEventListener('beforeunload', (event) => {
	if (typed()) event.preventDefault(); // the browser asks
});

// leaves asks before what was typed is left, and reports whether one leaves it.
const leaves = async () => {
	if (typed() && !(await ask('Leave this page?', h('p', {}, 'What you have typed is not saved.'), 'Leave'))) return false;
	drop();
	return true;
};

// stays reports whether one stays on a page that the address has left: then the address is that of the page again.
let here = location.hash;
const stays = async () => {
	const wanted = location.hash;
	if (!typed() || wanted === here) return false;
	history.replaceState(null, '', here);
	if (!document.querySelector('dialog[open]') && (await leaves())) location.hash = wanted; // with which the other page comes
	return true;
};

// left is the page on which a session has ended, who was signed in, and the tenant: they come back to it, and to what they have typed.
let left;
const leave = ({ user, tenant: chosen }) => {
	left = { user, chosen, hash: location.hash, place: typed() && main.firstElementChild };
	signInPage('Your session has ended. Sign in again; you come back to this page.');
};

const enter = async () => {
	const { user, chosen, hash, place } = left ?? {};
	left = undefined;
	if (chosen && user === me?.user) useTenant(chosen);
	if (!place || user !== me?.user || hash !== location.hash) return inside();
	document.body.classList.remove('outside');
	put(main, place);
	say('You are signed in again. What you have typed is as you left it.');
	place.querySelector('button[type="submit"].primary')?.focus();
	await drawHead();
	menu.draw(nav);
};

// home leads to the start in one's own tenant, when the chosen one is gone.
const home = async () => {
	useTenant('');
	const there = location.hash === '#/';
	lead('#/', 'The tenant that you have chosen is not there any more, or not yours: this is your own.');
	if (there) await route();
	await drawHead();
};

// route shows the page that the address names.
const route = async () => {
	if (!me || (await stays())) return;
	here = location.hash;
	const [path, query] = location.hash.slice(1).split('?');
	const words = path.split('/').filter(Boolean).map(decodeURIComponent);
	unfold(false);
	menu.mark(nav, path);
	for (const dialog of document.querySelectorAll('dialog')) dialog.close(); // what it asks is about the page before
	arrive();
	forgetNames();
	leavePage();
	requests.splice(0, requests.length, ...requests.filter(({ method }) => method !== 'GET').slice(-5)); // a change leads to another page
	const place = h('div', {}, h('p', { 'aria-busy': 'true' }, 'Loading…')); // of this page alone: one that is drawn late, after another was asked for, is not seen
	put(main, place);
	try {
		await page(place, words, new URLSearchParams(query));
	} catch (problem) {
		put(place, h('h1', { tabindex: '-1' }, 'Not shown'), trouble(problem, route));
	}
	if (!place.isConnected) return;
	const title = place.querySelector('h1');
	document.title = `${title?.textContent ?? ''} – Ringfence`;
	if (place.contains(document.activeElement)) return; // somebody has begun
	title?.focus({ preventScroll: true });
	window.scrollTo(0, 0);
};

const page = (place, words, query) => {
	if (words.length === 0) return start.show(place);
	if (words.length === 1 && pages[words[0]]) return pages[words[0]](place, query);
	const whole = resources.get(words.join('/'));
	if (whole?.document) return item().then(({ document }) => document(place, whole));
	if (whole) return list.show(place, whole, query);
	const resource = resources.get(words.slice(0, -1).join('/')),
		id = words.at(-1);
	if (resource?.key === 'auth/policies') return access().then(({ policy }) => policy(place, resource, id === '+new' ? '' : id));
	if (resource?.create && id === '+new') return item().then(({ create }) => create(place, resource));
	if (resource?.itemPath && resource.read) return item().then(({ show }) => show(place, resource, id));
	return put(place, h('h1', { tabindex: '-1' }, 'No such page'), h('p', {}, h('a', { href: '#/' }, 'To the start')));
};

const inside = async () => {
	document.body.classList.remove('outside');
	put(main, h('p', { 'aria-busy': 'true' }, 'Loading the definitions…'));
	await load(known);
	await drawHead(); // which tells what the menu has
	menu.draw(nav);
	await route();
};

const begin = async () => {
	known = await (await fetch('services.json')).json();
	const auth = known.find((s) => s.name === 'auth');
	if (!auth) {
		location.replace('api/'); // without the authentication service there is nobody to be
		return;
	}
	useAuth(auth.prefix);
	changes.addEventListener('signed-in', enter);
	changes.addEventListener('signed-out', () => signInPage('Signed out.'));
	changes.addEventListener('ended', (/** @type {any} */ event) => leave(event.detail));
	changes.addEventListener('tenant-gone', home);
	changes.addEventListener('tenants', drawHead);
	addEventListener('hashchange', route);
	addEventListener('unhandledrejection', (event) => say(`This page has a fault: ${event.reason?.message ?? event.reason}`, true));
	addEventListener('keydown', (event) => {
		if (event.key === 'Escape' && document.body.classList.contains('menu')) {
			unfold(false);
			document.getElementById('menu').focus();
		}
		if (event.key === 'k' && (event.ctrlKey || event.metaKey) && me && !document.querySelector('dialog')) {
			event.preventDefault();
			find();
		}
		if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(/** @type {Element} */ (event.target).tagName)) {
			event.preventDefault();
			document.getElementById('search')?.focus();
		}
	});
	const why = await resume();
	if (me) await inside();
	else signInPage(why);
};

begin().catch((problem) =>
	say(
		`The console could not be loaded. If this browser does not trust the certificate, open ${location.origin}/console/ again and accept it. (${problem.message})`,
		true,
	),
);
