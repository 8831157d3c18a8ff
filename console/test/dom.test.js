import assert from 'node:assert/strict';
import test from 'node:test';
import { brief, broken, h, literal, moment, plural, put, same, words } from '../assets/app/dom.js';
import { open } from './page.js';

test('names are written as words', () => {
	for (const [name, text] of [
		['call_record_enabled', 'Call record enabled'],
		['callRecord', 'Call record'],
		['user_uuid', 'User UUID'],
		['id', 'ID'],
		['sip/transports', 'Sip transports'],
		['identity', 'Identity'],
		['', ''],
	])
		assert.equal(words(name), text);
});

test('a time is that of this place, with or without a zone', () => {
	const here = new Date('2026-03-04T05:06:07Z').toLocaleString();
	for (const text of ['2026-03-04T05:06:07', '2026-03-04T05:06:07Z', '2026-03-04T06:06:07+01:00', '2026-03-04T04:06:07-0100'])
		assert.equal(moment(text), here, text);
	assert.equal(moment('tomorrow'), 'tomorrow');
});

test('numbers are counted in words', () => {
	assert.equal(plural(1, 'user'), '1 user');
	assert.equal(plural(0, 'user'), '0 users');
	assert.equal(plural(12345, 'more field'), `${(12345).toLocaleString()} more fields`);
});

test('a value is told in a few words', () => {
	for (const [value, text] of [
		[null, ''],
		[undefined, ''],
		['', ''],
		[0, '0'],
		[true, 'yes'],
		[false, 'no'],
		['2026-03-04T05:06:07', moment('2026-03-04T05:06:07')],
		[['a', 'b', 'c'], 'a, b, c'],
		[['a', 'b', 'c', 'd', 'e'], 'a, b, c and 2 more'],
		[[['username', 'ada']], 'username = ada'],
		[[], ''],
		[{ id: 5, name: 'main' }, 'main'],
		[{ uuid: 'x', name: '', exten: '1000' }, '1000'],
		[{ firstname: 'Ada', lastname: null, name: 'x' }, 'Ada'],
		[{ firstname: 'Ada', lastname: 'Byron' }, 'Ada Byron'],
		[{ start: '1000', end: '1099' }, '1000 to 1099'],
		[{ start: '1000', end: '1000' }, '1000'],
		[{ extensions: [{ exten: '1000' }], name: 'x', endpoint_sip: null }, '1000'],
		[{ extensions: [{ exten: '1000' }], name: 'Outside' }, 'Outside'],
		[{ extensions: [{ exten: '1000' }], label: 'Desk' }, 'Desk'],
		[{ users: [{ name: 'a' }], groups: [{ name: 'b' }] }, 'a, b'],
		[{ enabled: true }, ''],
	])
		assert.equal(brief(value), text, JSON.stringify(value));
});

test('a text stands for itself in a regular expression', () => {
	const text = 'a.b*c+(d)[e]{f}|g^h$i\\j?';
	assert.ok(new RegExp(`^${literal(text)}$`).test(text));
	assert.ok(!new RegExp(`^${literal('a.b')}$`).test('axb'));
});

test('values are the same by what they hold', () => {
	assert.ok(same({ a: [1] }, { a: [1] }));
	assert.ok(!same([1, 2], [2, 1]));
	assert.ok(!same(null, undefined));
});

test('an element has its attributes, listeners and children, and texts are no HTML', () => {
	open();
	let clicks = 0;
	const element = h(
		'button',
		{ id: 'x', hidden: true, title: undefined, 'aria-label': false, disabled: true, click: () => clicks++ },
		['<b>', [h('i', {}, 'one')]],
		null,
		false,
		'',
		0,
	);
	element.fire('click');
	assert.equal(clicks, 1);
	assert.deepEqual(
		[element.id, element.hidden, element.disabled, element.getAttribute('title'), element.getAttribute('aria-label')],
		['x', true, true, null, null],
	);
	assert.equal(element.textContent, '<b>one0');
	assert.equal(put(element, 'other').textContent, 'other');
	assert.equal(h('input', { value: null }).value, '');
});

test('a long word can go on in another line', () => {
	open();
	const shown = h('p', {}, broken('to ada.lovelace@example.com now'));
	assert.equal(shown.textContent, 'to ada.lovelace@example.com now');
	assert.equal(shown.querySelectorAll('wbr').length, 3);
	assert.equal(h('p', {}, broken('short@example')).querySelectorAll('wbr').length, 0);
});
