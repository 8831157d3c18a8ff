import assert from 'node:assert/strict';
import test from 'node:test';
import { hoursOf, periodsOf, textsOf } from '../assets/app/week.js';

test('hours are read as people write them', () => {
	for (const [text, pairs] of [
		['', []],
		['9-17', [['09:00', '17:00']]],
		[
			'8:30-12:00, 13:00 – 17:30',
			[
				['08:30', '12:00'],
				['13:00', '17:30'],
			],
		],
		['0-23:59', [['00:00', '23:59']]],
	])
		assert.deepEqual(hoursOf(text), pairs, text);
	for (const text of ['9', '9-25', '9:60-10', '17-9', '9-17 13-14', 'noon']) assert.ok(hoursOf(text) instanceof Error, text);
});

test('days of the same hours are one period', () => {
	const day = [['09:00', '17:00']];
	assert.deepEqual(periodsOf([day, day, [], [...day, ['18:00', '19:00']], [], [], []]), [
		{ hours_start: '09:00', hours_end: '17:00', week_days: [1, 2, 4] },
		{ hours_start: '18:00', hours_end: '19:00', week_days: [4] },
	]);
});

test('periods of every week are written as one types them', () => {
	const week = [
		[
			['08:30', '12:00'],
			['13:00', '17:30'],
		],
		[['08:30', '12:00']],
		[],
		[],
		[],
		[['10:00', '10:05']],
		[],
	];
	const written = textsOf(periodsOf(week));
	assert.deepEqual(written, ['8:30-12, 13-17:30', '8:30-12', '', '', '', '10-10:05', '']);
	assert.deepEqual(written.map(hoursOf), week);
	assert.equal(textsOf([{ hours_start: '09:00', hours_end: '17:00', week_days: [1], months: [12] }]), undefined);
});
