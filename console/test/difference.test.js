import assert from 'node:assert/strict';
import test from 'node:test';
import { open } from './page.js';

open();
const { objectsOf } = await import('../assets/app/difference.js');

// The lines of a difference belong to the object in whose section, or under whose number, they are.
test('a difference is told by object', () => {
	const diff = [
		'--- extensions.conf',
		'+++ extensions.conf',
		'@@ -10,3 +10,4 @@ [ctx-a] 1041',
		' same = n,Hangup()',
		'-same = n,Wait(1)',
		'+exten = 1042,1,Answer()',
		'+same = n,Hangup()',
		'@@ -90,3 +91,3 @@ [ctx-b]',
		' ',
		'+[ctx-c]',
		'+exten => _10XX,1,NoOp()',
		' [ringfence-folder]',
		'-exten = abc,1,NoOp()',
		'',
	].join('\n');
	assert.deepEqual(
		objectsOf('extensions.conf', diff).map(({ section, number, lines }) => [section, number, lines.length]),
		[
			['ctx-a', '1041', 2],
			['ctx-a', '1042', 2],
			['ctx-c', '', 1],
			['ctx-c', '_10XX', 1],
		],
	);
});

// All that the dialplan has of one object of confd is one part.
test('the numbers of one object are one part', () => {
	const group = '7c4a3635-5833-4897-b5af-b0821403b705',
		diff = [
			'--- extensions.conf',
			'+++ extensions.conf',
			'@@ -1,1 +1,4 @@ [ringfence-groups]',
			`+exten = ${group},1,Answer()`,
			`+exten = ${group}-ring,1,Queue()`,
			'+[ringfence-incalls]',
			'+exten = 17,1,NoOp()',
			'+[ringfence-menu-3]',
			'+exten = s,1,NoOp()',
			'+exten = i,1,NoOp()',
			'+[default]',
			'+exten = 17,1,NoOp()',
		].join('\n');
	assert.deepEqual(
		objectsOf('extensions.conf', diff).map(({ of, lines }) => [of, lines.length]),
		[
			[['groups', group], 2],
			[['incalls', '17'], 1],
			[['ivr', '3'], 3],
			[undefined, 1],
			[undefined, 1],
		],
	);
});
