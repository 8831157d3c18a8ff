import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fault, instances } from '../assets/app/acl.js';
import { matching, roles } from '../assets/app/roles.js';

const operations = ['authsvc', 'callrecords', 'confdsvc', 'helpers'].flatMap((service) => {
	const { paths } = JSON.parse(readFileSync(new URL(`../../${service}/testdata/openapi.json`, import.meta.url), 'utf8'));
	return Object.entries(paths).flatMap(([path, item]) =>
		Object.values(item).flatMap((o) => (o['x-required-acl'] ? [{ path, summary: o.summary, access: o['x-required-acl'] }] : [])),
	);
});

test('each pattern of a role stands for operations that there are', () => {
	for (const { name, acl } of roles)
		for (const pattern of acl) {
			assert.equal(fault(pattern), '', `${name}: ${pattern}`);
			assert.ok(
				operations.some(({ access }) => instances(pattern.replace(/^!/, ''), access).length > 0),
				`${name}: ${pattern} stands for nothing`,
			);
		}
});

test('an operation is found by its words, in any order, and once', () => {
	const found = matching('voicemail DELETE ', operations).map((o) => o.access);
	assert.ok(found.includes('confd.voicemails.{voicemail_id}.delete'), String(found));
	assert.equal(new Set(found).size, found.length);
	assert.deepEqual(matching(' ', operations), []);
	assert.deepEqual(matching('delete nonsense', operations), []);
});
