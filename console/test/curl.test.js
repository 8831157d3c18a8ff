import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { open } from './page.js';

open();
const { curl } = await import('../assets/app/curl.js');

// heard are the words that a shell gives a program of the name curl for a line.
const heard = (line) =>
	execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; TOKEN=mine; ${line}`])
		.toString()
		.split('\0')
		.slice(0, -1);

test('a shell gives curl what the page has sent', () => {
	const said = `O'Brien "$TOKEN" \`id\` \\ $(id) !! \n é`;
	const words = heard(curl({ method: 'PUT', url: `https://h/a'b?c={d,e}[1-2]`, headers: { 'X-Auth-Token': 'rft_x', 'Wazo-Tenant': said }, body: { said } }));
	assert.deepEqual(words, [
		...['--cacert', 'ringfence.pem', '-X', 'PUT', `https://h/a'b?c={d,e}[1-2]`, '-H', `Wazo-Tenant: ${said}`, '-H', 'X-Auth-Token: mine'],
		...['--data-raw', JSON.stringify({ said }), '--globoff'],
	]);
	assert.deepEqual(heard(curl({ method: 'HEAD', url: 'https://h/', headers: {} })), ['--cacert', 'ringfence.pem', '--head', 'https://h/', '--globoff']);
});

test('a line has no secret', () => {
	const body = {
		password: 'hush',
		old_password: 'hush',
		lines: [{ endpoint_sip: { auth_section_options: [['password', 'hush']] } }],
		client_secret: 'hush',
		refresh_token: 'hush',
		pin: 'hush',
		admin_pin: 'hush',
		shown: 'seen',
		password_expires: false,
	};
	for (const sent of [body, JSON.stringify(body)]) {
		const line = curl({ method: 'POST', url: 'https://h/', headers: { 'x-auth-token': 'hush', Authorization: 'hush', Cookie: 'hush' }, body: sent });
		assert.ok(!line.includes('hush'), line);
		assert.ok(line.includes('"shown":"seen"') && line.includes('["password","(secret)"]') && line.includes('"password_expires":false'), line);
	}
});
