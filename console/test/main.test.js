import assert from 'node:assert/strict';
import test, { before } from 'node:test';
import * as api from '../assets/app/api.js';
import { h } from '../assets/app/dom.js';
import { answering, definition, labelled, open, until } from './page.js';

const uuid = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';
const empty = { items: [], total: 0, filtered: 0 };
const answers = {
	'GET /services.json': [
		{ name: 'auth', title: 'Auth', prefix: '/api/auth/0.1', definition: '/auth.json' },
		{ name: 'confd', title: 'Confd', prefix: '/api/confd/1.1', definition: '/confd.json' },
	],
	'GET /auth.json': definition('authsvc'),
	'GET /confd.json': definition('confdsvc'),
	'POST /api/auth/0.1/token': { data: { token: 't', acl: ['#'], metadata: { uuid } } },
	'GET /api/auth/0.1/tenants': empty,
	'GET /api/confd/1.1/users': empty,
	'GET /api/confd/1.1/contexts': empty,
	'GET /api/confd/1.1/users/a%2Fb': { uuid, firstname: 'Ada' },
};

const listeners = {};
const title = () => document.getElementById('main').querySelector('h1')?.textContent;

before(async () => {
	const body = open();
	body.append(h('nav', { id: 'nav' }), h('header', { id: 'head' }), h('main', { id: 'main' }));
	document.querySelector = (selectors) => body.querySelector(selectors);
	globalThis.window = { scrollTo: () => {} };
	globalThis.addEventListener = (name, run) => {
		listeners[name] = run;
	};
	answering(answers);
	await import('../assets/app/main.js');
	await until(title);
});

// at opens the page of an address.
const at = async (hash) => {
	location.hash = hash;
	await listeners.hashchange();
	return title();
};

test('who is not signed in is asked who they are, and comes to the page that was asked for', async () => {
	assert.equal(title(), 'Sign in');
	location.hash = '#/confd/users';
	labelled(document.body, 'User name').value = 'ada';
	labelled(document.body, 'Password').value = 'x';
	document.getElementById('login').fire('submit');
	await until(() => title() === 'People');
	assert.equal(api.me.username, 'ada');
});

test('an address leads to its page', async () => {
	for (const [hash, shown] of [
		['#/', 'Welcome, ada'],
		['#/who', 'Who may do this?'],
		['#/why', 'Why was I refused?'],
		['#/telephone', 'New telephone user'],
		['#/auth/policies/+new', 'New policy'],
		['#/confd/users/a%2Fb', 'Ada'],
		[`#/confd/users/${uuid}`, 'Not shown'],
		['#/confd/nothing', 'No such page'],
		['#/nothing/at/all', 'No such page'],
	])
		assert.equal(await at(hash), shown, hash);
	assert.equal(document.title, 'No such page – Ringfence');
});

test('a list asks for what its address says', async () => {
	const sent = answering({ ...answers, 'GET /api/confd/1.1/users': { items: [{ uuid, firstname: 'Ada' }], total: 70, filtered: 60 } });
	await at('#/confd/users?search=ada&page=3&order=lastname&direction=desc&nonsense=1');
	assert.deepEqual(Object.fromEntries(new URL(sent[0].path, location.origin).searchParams), {
		search: 'ada',
		order: 'lastname',
		direction: 'desc',
		limit: '25',
		offset: '50',
		fields: 'id,uuid,firstname,lastname,email,username,enabled,voicemail,lines,groups',
	});
	assert.match(document.body.querySelector('.pages').textContent, /^60 found, page 3 of 3/);
});

test('the menu marks the nearest page alone', async () => {
	await at('#/confd/users/a%2Fb');
	assert.deepEqual(
		document
			.getElementById('nav')
			.querySelectorAll('[aria-current]')
			.map((a) => a.getAttribute('href')),
		['#/confd/users'],
	);
});

test('who signs out is asked again', async () => {
	document.getElementById('logout').fire('click');
	await until(() => title() === 'Sign in');
	assert.equal(api.me, null);
});
