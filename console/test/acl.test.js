import assert from 'node:assert/strict';
import test from 'node:test';
import { allows, explain, fault, instances, matches } from '../assets/app/acl.js';

const uuid = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';

test('a pattern stands for accesses, word by word', () => {
	for (const [pattern, access, is] of [
		['confd.users.read', 'confd.users.read', true],
		['confd.users.read', 'confd.users.readers', false],
		['confd.*.read', 'confd.users.read', true],
		['confd.*.read', 'confd.users.5.read', false],
		['confd.#.read', 'confd.users.5.read', true],
		['confd.#', 'confd', false],
		['#', 'confd', true],
		['#.read', 'read', false],
		[`confd.users.${uuid.toUpperCase()}.read`, `confd.users.${uuid}.read`, true],
		['confd.Users.read', 'confd.users.read', false],
		['auth.users.me.read', `auth.users.${uuid}.read`, true],
		['auth.users.me.read', 'auth.users.me.read', true],
		['auth.users.me.read', 'auth.users.other.read', false],
	])
		assert.equal(matches(pattern, access, { user: uuid }), is, `${pattern} and ${access}`);
});

test('a denial wins, in any order', () => {
	for (const patterns of [
		['confd.#', '!confd.users.#'],
		['!confd.users.#', 'confd.#'],
	]) {
		assert.equal(allows(patterns, 'confd.users.read'), false);
		assert.equal(allows(patterns, 'confd.lines.read'), true);
	}
	assert.equal(allows([], 'confd.lines.read'), false);
});

test('the accesses of an operation that a pattern stands for have what the pattern asks for', () => {
	const operation = 'confd.users.{user_uuid}.lines.{line_id}.update';
	assert.deepEqual(instances('confd.users.5.#', operation), ['confd.users.5.lines.x.update']);
	assert.deepEqual(instances('confd.users.*.lines.7.update', operation), ['confd.users.x.lines.7.update']);
	assert.deepEqual(instances('confd.users.#', 'confd.lines.{id}.read'), []);
	assert.deepEqual(instances('confd.users.{user_uuid}.#', operation), [], 'braces are no word of a path');
	assert.deepEqual(instances(`auth.users.${uuid}.read`, 'auth.users.me.read'), [`auth.users.${uuid}.read`]);
	assert.ok(instances('#.update', operation).includes('confd.users.x.lines.x.update'));
});

test('what is no pattern is told in words', () => {
	for (const pattern of ['', '!', '!!confd', 'confd.!users', 'confd users', 'confd..read', '.confd', 'confd.', 'confd.us*.read', 'confd.##']) {
		assert.notEqual(fault(pattern), '', pattern);
		assert.equal(explain(pattern), fault(pattern));
	}
	for (const pattern of ['#', '*', 'confd', '!confd.#', 'confd.users.me.read']) assert.equal(fault(pattern), '', pattern);
});

test('a pattern is explained', () => {
	for (const [pattern, text] of [
		['#', 'May do anything at all.'],
		['!#', 'May never do anything at all.'],
		['confd', 'May use the access "confd" itself.'],
		['confd.#', 'May do anything in the service confd.'],
		['confd.users.#', 'May do anything with users, and with all inside, in the service confd.'],
		['*.users.*', 'May do any one thing with users in any service.'],
		['confd.call_logs.read', 'May see call logs in the service confd.'],
		['auth.users.me.password.update', 'May change users › the user themselves › password in the service auth.'],
		[`!auth.users.${uuid}.delete`, `May never delete users › the one with the UUID ${uuid} in the service auth.`],
		['confd.users.export', 'May use users › export in the service confd.'],
	])
		assert.equal(explain(pattern), text);
});
