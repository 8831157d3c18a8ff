import assert from 'node:assert/strict';
import test from 'node:test';
import { merged } from '../assets/app/merge.js';

test('what only one has changed counts', () => {
	assert.equal(merged({}, 'a', 'a', 'b'), 'b');
	assert.equal(merged({}, 'a', 'b', 'a'), 'b');
	assert.equal(merged({}, 'a', 'mine', 'theirs'), 'mine');
});

test('of a list, what both have added and removed counts', () => {
	const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((uuid) => ({ uuid }));
	assert.deepEqual(merged({}, [a, b], [a, b, c], [b, d]), [b, c, d]);
	assert.deepEqual(merged({}, [a, b], [b], [a, b, d]), [b, d]);
	assert.deepEqual(merged({}, undefined, [a], [a, b]), [a, b], 'nobody adds one twice');
	assert.deepEqual(merged({}, ['x'], ['x', 'y'], ['z']), ['y', 'z']);
});

test('of an item that both have changed, mine counts', () => {
	assert.deepEqual(merged({}, [{ id: 1, priority: 0 }], [{ id: 1, priority: 1 }], [{ id: 1, priority: 2 }]), [{ id: 1, priority: 1 }]);
});

test('of a map, what both have added and removed counts', () => {
	const map = { additionalProperties: {} };
	assert.deepEqual(merged(map, { 1: 'a', 2: 'b', 3: 'c' }, { 1: 'a', 2: 'mine', 4: 'new' }, { 1: 'theirs', 2: 'b', 3: 'c', 5: 'other' }), {
		1: 'theirs',
		2: 'mine',
		4: 'new',
		5: 'other',
	});
});
