import assert from 'node:assert/strict';
import test, { beforeEach } from 'node:test';
import * as api from '../assets/app/api.js';
import { answering, open } from './page.js';

const token = {
	token: 'rft_té',
	auth_id: 'u',
	session_uuid: 's',
	acl: ['#'],
	utc_expires_at: '2026-03-04T05:06:07',
	metadata: { uuid: 'user', tenant_uuid: 'own' },
};
const login = { 'POST /api/auth/0.1/token': { data: token }, 'PUT /session': () => new Response(null, { status: 204 }) };

// heard counts the events of the page that come while run runs.
const heard = async (run) => {
	const names = [],
		listen = (event) => names.push(event.type);
	for (const name of ['signed-in', 'signed-out', 'ended', 'tenant-gone']) api.changes.addEventListener(name, listen);
	await run();
	for (const name of ['signed-in', 'signed-out', 'ended', 'tenant-gone']) api.changes.removeEventListener(name, listen);
	return names;
};

const refused = async (answer, path = '/x') => {
	answering({ [`GET ${path}`]: () => answer });
	return api.call('GET', path).then(
		() => assert.fail('it was not refused'),
		(problem) => problem,
	);
};

const problem = (status, body, headers = {}) =>
	new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/problem+json', ...headers } });

beforeEach(async () => {
	open();
	answering(login);
	await api.signIn('ada', 'pass:wörd');
});

test('a query has what has a value, and is escaped', async () => {
	const sent = answering({ 'GET /users?search=a%26b+%C3%A9&offset=0&limit=25': {} });
	await api.call('GET', '/users', { query: { search: 'a&b é', offset: 0, limit: 25, order: '', recurse: null, name: undefined } });
	assert.equal(sent.length, 1);
});

test('a login sends its name and password in UTF-8, and no token', async () => {
	const sent = answering(login);
	assert.deepEqual(await heard(() => api.signIn('ada', 'pass:wörd')), ['signed-in']);
	assert.equal(Buffer.from(sent[0].headers.Authorization.split(' ')[1], 'base64').toString(), 'ada:pass:wörd');
	assert.ok(!('X-Auth-Token' in sent[0].headers));
	assert.equal(api.me.tenant, 'own');
});

test('a request has the token, and the tenant that was chosen', async () => {
	const sent = answering({ 'GET /x': {}, 'POST /x': {} });
	await api.call('GET', '/x');
	api.useTenant('other');
	await api.call('POST', '/x', { body: { a: null } });
	await api.call('GET', '/x', { headers: { 'Wazo-Tenant': 'own' } });
	assert.deepEqual(
		sent.map(({ headers }) => [headers['X-Auth-Token'], headers['Wazo-Tenant'], headers['Content-Type']]),
		[
			[token.token, undefined, undefined],
			[token.token, 'other', 'application/json'],
			[token.token, 'own', undefined],
		],
	);
	assert.deepEqual(sent[1].body, { a: null });
});

test('a refusal says what the gateway says, in any of the forms of daemons', async () => {
	for (const [status, body, text] of [
		[400, { detail: 'It is wrong.', message: 'no' }, 'It is wrong.'],
		[400, { reason: ['One.', 'Two.'] }, 'One. Two.'],
		[400, { message: 'A message' }, 'A message'],
		[400, { error: 'An error' }, 'An error'],
		[400, ['One.', 'Two.'], 'One. Two.'],
		[404, { detail: "There is no such user ('user_id': 5)" }, 'There is no such user'],
		[400, { detail: "There is no such user ('user_id': 5)" }, "There is no such user ('user_id': 5)"],
	])
		assert.equal((await refused(problem(status, body))).message, text);
	assert.equal((await refused(new Response('', { status: 502 }))).message, 'The gateway answered with the status 502.');
	assert.equal((await refused(problem(503, { detail: 'Busy.' }, { 'Retry-After': '2' }))).message, 'Busy. Try again in 2 seconds.');
});

test('a refusal names the values that it is about by their paths', async () => {
	const { parts, status, request } = await refused(
		problem(400, {
			detail: 'x',
			errors: [
				{ detail: 'one', pointer: '#/lines/0/context' },
				{ detail: 'two', pointer: '#/options/a~1b~0c' },
				{ detail: 'three', parameter: 'order' },
				{ detail: 'whole', pointer: '#' },
				{ detail: 'all' },
			],
		}),
	);
	assert.deepEqual(parts, [
		{ detail: 'one', path: ['lines', '0', 'context'] },
		{ detail: 'two', path: ['options', 'a/b~c'] },
		{ detail: 'three', path: ['order'] },
		{ detail: 'whole', path: [] },
		{ detail: 'all', path: [] },
	]);
	assert.deepEqual([status, request], [400, { method: 'GET', path: '/x' }]);
});

test('no answer at all is a refusal too', async () => {
	answering({ 'GET /x': () => Promise.reject(new TypeError('refused')) });
	await assert.rejects(api.call('GET', '/x'), { status: 0, message: 'The gateway cannot be reached: refused.' });
});

test('a session that the gateway does not know any more ends', async () => {
	const names = await heard(() => refused(problem(401, { detail: 'Who?' })));
	assert.deepEqual([names, api.me], [['ended'], null]);
});

test('a tenant that is gone ends no session', async () => {
	api.useTenant('gone');
	assert.deepEqual(await heard(() => refused(problem(401, { detail: 'No.', error_id: 'unauthorized-tenant' }))), ['tenant-gone']);
	assert.equal(api.me.username, 'ada');
});

test('a deletion tells whether there was anything', async () => {
	answering({ 'DELETE /there': {}, 'DELETE /denied': () => problem(403, {}) });
	assert.equal(await api.erase('/there'), true);
	assert.equal(await api.erase('/gone'), false);
	await assert.rejects(api.erase('/denied'), { status: 403 });
});

test('a reload keeps the session by two halves, of which neither is the token', async () => {
	let half;
	const keep = (request) => {
		({ half } = request.body);
		return new Response(null, { status: 204 });
	};
	answering({ ...login, 'PUT /session': keep });
	await api.signIn('ada', 'secret');
	const stored = sessionStorage.getItem('ringfence');
	assert.ok(half && stored && !stored.includes('rft_') && !Buffer.from(half.split('.')[1], 'base64').includes('rft_'));

	const renewed = { [`GET /api/auth/0.1/token/${encodeURIComponent(token.token)}`]: { data: { ...token, acl: ['confd.#'] } } };
	answering({ ...renewed, 'GET /session': { half } });
	assert.equal(await api.resume(), '');
	assert.deepEqual([api.me.token, api.me.acl, api.me.username], [token.token, ['confd.#'], 'ada']);
	answering({ ...renewed, 'GET /session': { half: `another.${half.split('.')[1]}` } });
	assert.match(await api.resume(), /^Another tab has signed in since/);
	answering({ 'GET /session': { half } });
	assert.match(await api.resume(), /^Your session has ended/);
	assert.equal(api.me, null);
});

test('what a page that is left has asked for neither comes nor fails, and what changes something goes on', async () => {
	const ends = [];
	globalThis.fetch = (url, { signal }) =>
		new Promise((resolve, reject) => {
			signal?.addEventListener('abort', () => reject(signal.reason));
			ends.push(() => resolve(Response.json(url.pathname)));
		});
	const came = [];
	for (const [method, options] of [['GET'], ['PUT'], ['GET', { stays: true }]]) {
		api.call(method, `/${method}`, options).then(
			({ data }) => came.push(data),
			(problem) => came.push(problem),
		);
	}
	api.leavePage();
	await new Promise(setImmediate);
	for (const end of ends) end();
	await new Promise(setImmediate);
	assert.deepEqual(came, ['/PUT', '/GET']);
});
