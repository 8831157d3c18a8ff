import assert from 'node:assert/strict';
import test, { before } from 'node:test';
import * as api from '../assets/app/api.js';
import * as definitions from '../assets/app/definitions.js';
import { answering, definition, open } from './page.js';

const { resources, operations, target, fill, idOf } = definitions;
const confd = () => resources.get('confd/users').service;

before(async () => {
	open();
	answering({
		'GET /auth.json': definition('authsvc'),
		'GET /confd.json': definition('confdsvc'),
		'GET /broken.json': { paths: { '/x': { get: { responses: { 200: { $ref: 5 } } } } } },
	});
	await definitions.load([
		{ name: 'auth', title: 'Auth', prefix: '/api/auth/0.1', definition: '/auth.json' },
		{ name: 'confd', title: 'Confd', prefix: '/api/confd/1.1', definition: '/confd.json' },
		{ name: 'broken', title: 'Broken', prefix: '/b', definition: '/broken.json' },
		{ name: 'away', title: 'Away', prefix: '/a', definition: '/nothing.json' },
	]);
});

test('what cannot be read hides nothing else', () => {
	assert.deepEqual(
		definitions.services.map((s) => [s.name, Boolean(s.problem)]),
		[
			['auth', false],
			['confd', false],
			['broken', true],
			['away', true],
		],
	);
});

test('every list is a collection, with what one can do with it', () => {
	const users = resources.get('confd/users');
	assert.deepEqual(
		[users.items, users.itemPath, users.parameter, users.create.method, users.update.method, users.remove.method],
		['items', '/users/{user_id}', 'user_id', 'POST', 'PUT', 'DELETE'],
	);
	assert.equal(resources.get('auth/policies').parameter, 'policy_uuid');
	for (const { key, list, itemPath, service } of resources.values()) {
		if (list) assert.ok(service.definition.paths[itemPath ?? list.path], key);
	}
	assert.ok(operations.length > 250);
	assert.ok(operations.every((o) => o.service && o.method && o.path));
});

test('the parts of an object are of the kinds that its paths show', () => {
	const kinds = Object.fromEntries(resources.get('confd/users').parts.map((p) => [`${p.name} ${p.kind}`, p]));
	for (const name of ['lines link', 'forwards document', 'groups replaced']) assert.ok(kinds[name], `${name} is not among ${Object.keys(kinds)}`);
	assert.equal(kinds['lines link'].parameter, 'line_id');
	const sessions = resources.get('auth/users').parts.find((p) => p.name === 'sessions');
	assert.deepEqual([sessions.kind, sessions.end.method, sessions.parameter], ['list', 'DELETE', 'session_uuid']);
	for (const { parts = [], key } of resources.values()) {
		const titles = parts.map((p) => `${p.kind === 'list'} ${p.title}`);
		assert.deepEqual(titles.length, new Set(titles).size, `${key} has two parts of one title: ${titles}`);
	}
});

test('a name leads to the objects that it means', () => {
	for (const [name, key] of [
		['user_uuid', 'confd/users'],
		['lines', 'confd/lines'],
		['line_id', 'confd/lines'],
		['contexts.name', 'confd/contexts'],
		['nothing_uuid', undefined],
	])
		assert.equal(target(confd(), name)?.key, key, name);
	assert.deepEqual(definitions.referred(confd(), 'context', { 'x-ref': 'contexts.name' }).by, 'name');
	assert.equal(definitions.referred(confd(), 'firstname', {}), undefined);
});

test('a path is filled with its values, each as one segment', () => {
	assert.equal(fill('/users/{user_id}/lines/{line_id}', 'a/b?', 7), '/users/a%2Fb%3F/lines/7');
});

test('an object is named by what its path asks for, if a path can have that', () => {
	const uuid = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';
	for (const [parameter, object, id] of [
		['user_uuid', { uuid, id: 5 }, uuid],
		['line_id', { uuid, id: 5 }, 5],
		['line_id', { uuid }, uuid],
		['name', { name: 'default', uuid }, 'default'],
		['name', { name: 'two words', uuid }, uuid],
		['name', { name: uuid.toUpperCase(), uuid }, uuid],
		['name', { name: 'a/b' }, 'a/b'],
	])
		assert.equal(idOf(parameter, object), id, `${parameter} of ${JSON.stringify(object)}`);
});

test('references are followed, and what allOf lists is joined', () => {
	const service = {
		definition: {
			components: { schemas: { A: { type: 'object', title: 'A' }, B: { allOf: [{ $ref: '#/components/schemas/A' }, { title: 'B' }], nullable: true } } },
		},
	};
	assert.deepEqual(definitions.resolve(service, { $ref: '#/components/schemas/B', description: 'x' }), {
		type: 'object',
		title: 'B',
		nullable: true,
		description: 'x',
	});
	assert.deepEqual(definitions.resolve(service, undefined), {});
});

test('attributes come in the order of the service, or in that of people', () => {
	const schema = { properties: { zebra: {}, name: {}, id: {}, exten: {}, must: {} }, required: ['must'] },
		names = (list) => definitions.properties({}, schema, list).map(([name]) => name);
	assert.deepEqual(names(), ['must', 'name', 'exten', 'id', 'zebra']);
	assert.deepEqual(names({ parameters: [{ name: 'fields', schema: { items: { enum: ['zebra', 'id'] } } }] }), ['zebra', 'id', 'must', 'name', 'exten']);
});

test('the keys of a map are named by the path below it', () => {
	assert.equal(definitions.keyOf(confd(), '/users/{user_id}/funckeys'), 'position');
	assert.equal(definitions.keyOf(confd(), '/users/{user_id}/fallbacks'), undefined);
});

test('what the token allows is known, for one object and for any', async () => {
	const { read, remove } = resources.get('confd/users');
	assert.equal(definitions.may(read), false, 'nobody is signed in');
	answering({ 'POST /api/auth/0.1/token': { data: { token: 't', auth_id: 'u', acl: ['confd.users.*.read', 'confd.users.5.delete', '!confd.users.7.#'] } } });
	await api.signIn('ada', 'x');
	assert.deepEqual(
		[definitions.may(read), definitions.may(read, 7), definitions.may(remove, 5), definitions.may(remove, 6), definitions.may(undefined)],
		[true, false, true, false, false],
	);
});

test('who may not ask why is led to a person', () => {
	assert.equal(definitions.mayAsk(), false);
	assert.equal(definitions.whom(), definition('authsvc').info.contact?.name ?? 'an administrator');
});
