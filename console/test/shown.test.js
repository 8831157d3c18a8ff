import assert from 'node:assert/strict';
import test, { beforeEach } from 'node:test';
import * as api from '../assets/app/api.js';
import { load, resources } from '../assets/app/definitions.js';
import { h } from '../assets/app/dom.js';
import { columnsOf, kept, listed, pager, table } from '../assets/app/list.js';
import { all, forgetNames, heading, told, value } from '../assets/app/shown.js';
import { answering, definition, open, until } from './page.js';

const definitions = { 'GET /auth.json': definition('authsvc'), 'GET /confd.json': definition('confdsvc') };
const uuid = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';
let service;

beforeEach(async () => {
	open();
	forgetNames();
	answering({ ...definitions, 'POST /api/auth/0.1/token': { data: { token: 't', acl: ['#'] } } });
	await api.signIn('ada', 'x');
	await load([
		{ name: 'auth', title: 'Auth', prefix: '/api/auth/0.1', definition: '/auth.json' },
		{ name: 'confd', title: 'Confd', prefix: '/api/confd/1.1', definition: '/confd.json' },
	]);
	({ service } = resources.get('confd/users'));
});

const text = (shown) => h('p', {}, shown).textContent;

test('a value that names an object is a link with its name', async () => {
	answering({ [`GET /api/confd/1.1/users/${uuid}`]: { uuid, firstname: 'Ada', lastname: 'Byron' } });
	const shown = value(service, 'user_uuid', {}, uuid);
	assert.deepEqual([shown.tagName, shown.getAttribute('href'), shown.textContent], ['A', `#/confd/users/${uuid}`, uuid]);
	await until(() => shown.textContent === 'Ada Byron');
	assert.equal(heading(service, 'user_uuid', {}), 'User');
	assert.equal(heading(service, 'client_id', {}), 'Client ID');
});

test('a value is told as its schema says', () => {
	for (const [schema, content, told] of [
		[{ enum: ['a_b'] }, 'a_b', 'A b'],
		[{ enum: ['a'], 'x-enum-labels': { a: 'The first' } }, 'a', 'The first'],
		[{ format: 'date-time' }, '2026-03-04T05:06:07Z', new Date('2026-03-04T05:06:07Z').toLocaleString()],
		[{}, null, ''],
		[{}, [{ x: 1 }, { x: 2 }], '2'],
		[{ additionalProperties: {} }, { 1: {}, 2: {} }, '2'],
		[{}, { a: [{ name: 'x' }], b: [{ name: 'y' }] }, 'x, y'],
	])
		assert.equal(text(value(service, 'some', schema, content)), told, JSON.stringify(content));
});

test('what an object of one of several kinds is', () => {
	const kinds = {
		definition: {
			components: {
				schemas: {
					User: { properties: { type: { enum: ['user'] }, user_firstname: {}, user_id: {}, ring_time: { title: 'Ring time' } } },
					Hangup: { discriminator: { propertyName: 'cause', mapping: { busy: '#/components/schemas/Busy' } }, properties: { type: { enum: ['hangup'] } } },
					Busy: { properties: { cause: { enum: ['busy'] }, timeout: { title: 'Timeout' } } },
				},
			},
		},
	};
	const destination = { discriminator: { propertyName: 'type', mapping: { user: '#/components/schemas/User', hangup: '#/components/schemas/Hangup' } } };
	for (const [content, said] of [
		[{ type: 'user', user_id: 5, user_firstname: 'Ada' }, 'User: Ada'],
		[{ type: 'user', user_id: 5, ring_time: 20 }, 'User: ring time 20'],
		[{ type: 'hangup', cause: 'busy', timeout: 3 }, 'Hangup: busy: timeout 3'],
		[{ type: 'unknown', name: 'x' }, 'x'],
	])
		assert.equal(told(kinds, destination, content), said);
});

test('a whole value is a list of attributes, and a table of objects', () => {
	const shown = all(
		service,
		{},
		{
			name: 'x',
			empty: null,
			none: [],
			links: [1],
			rows: [
				{ a: 1, b: '' },
				{ a: 2, c: true },
			],
		},
	);
	assert.deepEqual(
		shown.querySelectorAll('dt').map((dt) => dt.textContent),
		['Name', 'Rows'],
	);
	assert.deepEqual(
		shown.querySelectorAll('th').map((th) => th.textContent),
		['A', 'C'],
	);
	assert.deepEqual(
		shown.querySelectorAll('td').map((td) => td.textContent),
		['1', '', '2', 'yes'],
	);
	assert.equal(all(service, {}, []), 'none');
	assert.equal(all(service, {}, { links: [] }), 'nothing');
});

test('the audit tells a change of what exists once by its names', () => {
	const { service: auth, schema } = resources.get('auth/audit');
	const once = [...resources.values()].find((r) => r.document && r.service === service);
	const entry = { service: 'confd', resource: once.path.slice(1), action: 'update', before: { some: 1, same: 2 }, after: { some: 3, same: 2 } };
	const shown = text(all(auth, schema, entry));
	assert.match(shown, /Before ?Some1.*After ?Some3/);
});

test('the columns of a list are those declared, or what tells its objects apart', () => {
	const properties = { id: {}, uuid: {}, name: {}, secret: { writeOnly: true }, size: {}, users: { type: 'array' }, must: {}, links: {} };
	const list = { parameters: [{ name: 'order', schema: { enum: ['size', 'name'] } }] };
	assert.deepEqual(columnsOf(service, { properties, required: ['must'] }, list), ['size', 'must', 'name', 'users']);
	assert.deepEqual(columnsOf(service, { properties, required: ['must'] }, list, 2), ['size', 'must']);
	assert.deepEqual(columnsOf(service, { properties, 'x-columns': ['users', 'gone', 'id'] }, list), ['users', 'id']);
	assert.deepEqual(columnsOf(service, { properties: { id: {}, uuid: {} } }), ['id', 'uuid']);
	for (const { key, service: own, schema, list: operation } of resources.values()) {
		if (operation && schema.properties) assert.ok(columnsOf(own, schema, operation).length > 0, `${key} has no column`);
	}
});

test('a table links each object once, by the first of what it has', () => {
	const made = table({
		service,
		schema: { properties: { name: {}, number: {} } },
		columns: ['name', 'number'],
		objects: [
			{ name: 'a', number: '1' },
			{ name: '', number: '2' },
			{ name: '', number: '' },
		],
		link: (o) => `#/${o.number}`,
	});
	assert.deepEqual(
		made.querySelectorAll('a').map((a) => a.textContent),
		['a', '2', '(unnamed)'],
	);
});

test('objects that are at hand are searched and paged here, others by the server', async () => {
	const objects = Array.from({ length: 30 }, (_, i) => ({ name: `n${i}` }));
	assert.deepEqual(kept(objects)({ search: 'N2', limit: 2, offset: 1 }), { objects: [{ name: 'n20' }, { name: 'n21' }], total: 11 });
	const sent = answering({ 'GET /all': { items: objects }, 'GET /some': { items: [objects[0]], total: 30, filtered: 1 } });
	assert.equal((await listed('/all', {}, 'items'))({ search: '', limit: 25, offset: 25 }).objects.length, 5);
	const takes = { parameters: ['limit', 'search'].map((name) => ({ in: 'query', name })) };
	assert.deepEqual(await (await listed('/some', takes, 'items'))({ search: 'n0', limit: 25, offset: 25 }), { objects: [objects[0]], total: 1 });
	assert.equal(sent[1].path, '/some?limit=25&offset=25&search=n0');
});

test('pages are turned, and one that is gone leads to the last', async () => {
	let objects = Array.from({ length: 60 }, (_, i) => ({ name: `n${i}` }));
	const parts = await pager(
		'Things',
		(asked) => kept(objects)(asked),
		(some) =>
			h(
				'ul',
				{},
				some.map((o) => h('li', {}, o.name)),
			),
		true,
	);
	document.body.append(...parts);
	const next = () => document.body.querySelectorAll('button').find((b) => b.textContent === 'Next');
	assert.match(parts[2].textContent, /^60 in all, page 1 of 3/);
	next().fire('click');
	await until(() => parts[2].textContent.startsWith('60 in all, page 2 of 3'));
	assert.equal(document.body.querySelector('li').textContent, 'n25');
	objects = objects.slice(0, 40);
	next().fire('click');
	await until(() => parts[2].textContent.startsWith('40 in all, page 2 of 2'));
	assert.ok(next().disabled);
});
