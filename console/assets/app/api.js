// What this page asks the gateway, and who asks.

// me is who is signed in: token, user (UUID), username, session, acl, expires, tenant (UUID), or nothing.
/** @type {Me | null} */
export let me = null;

// tenant is the tenant that the page acts in, by default the token's own. A reload keeps it.
export let tenant = '';
const chosen = 'ringfence-tenant';
export const useTenant = (uuid) => {
	tenant = uuid;
	sessionStorage.setItem(chosen, uuid);
};

// auth is the path of the authentication service.
let auth = '/api/auth/0.1';
export const useAuth = (prefix) => {
	auth = prefix;
};

// Refused is an answer that is no success, or none at all (status 0). Messages are what it says to people; parts are what of it is about
// values, each with the path of one: ['lines', '0', 'context']; data is the whole of it.
export class Refused extends Error {
	constructor(status, messages, request, parts = [], data = undefined) {
		super(messages.join(' '));
		Object.assign(this, { status, messages, request, parts, data });
	}
}

// messagesOf returns what a body says to people: the gateway's services answer with problems (RFC 9457), other daemons in their own forms. The
// id of what is not there is for programs.
const messagesOf = (status, body) => {
	const said = [body?.detail ?? body?.reason ?? body?.message ?? body?.error ?? body ?? []].flat().map(String).filter(Boolean);
	return said.length === 0
		? [`The gateway answered with the status ${status}.`]
		: status === 404
			? said.map((text) => text.replace(/ \('\w+': [^()]*\)$/, ''))
			: said;
};

// partsOf returns what a problem says of each value; what it says of the whole has no path.
const partsOf = (body) =>
	(Array.isArray(body?.errors) ? body.errors : []).map(({ detail, pointer = '', parameter }) => ({
		detail,
		path: parameter
			? [parameter]
			: pointer
					.split('/')
					.slice(1)
					.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')),
	}));

// installation are the requests that are about the whole installation: they act in the token's own tenant, whichever is chosen.
/** @type {{ method: string, path: RegExp }[]} */
export const installation = [];

// leavePage ends what the page that is shown has asked for: nobody waits for it any more.
let shown = new AbortController();
export const leavePage = () => {
	shown.abort();
	shown = new AbortController();
};

// requests are those that this page has sent, for people who want to send them too: see curl.js. One that has a token or a password beside the
// header of the token is not among them.
/** @type {Sent[]} */
export const requests = [];

// call sends a request, and returns what came: data, headers and status. Path begins with a service's prefix. A body that is a Blob is sent as
// it is; what comes is one if file is set. What is asked for a page that is left meanwhile does not come, nor fail, unless it stays, nor what is asked until a signal; what changes
// something goes on.
/** @type {(method: string, path: string, options?: CallOptions) => Promise<{ data: any, headers: Headers, status: number }>} */
export const call = async (method, path, { query = {}, body, headers = {}, stays = method !== 'GET', until, file: asFile = false } = {}) => {
	const url = new URL(path, location.origin);
	for (const [name, value] of Object.entries(query)) if (value !== '' && value != null) url.searchParams.set(name, value);
	const inside = tenant && !installation.some((o) => o.method === method && o.path.test(url.pathname));
	const sent = { Accept: 'application/json, application/problem+json', ...(me && inside && { 'Wazo-Tenant': tenant }), ...headers };
	if (me) sent['X-Auth-Token'] = me.token;
	const file = body instanceof Blob;
	if (me && !headers.Authorization && !url.href.includes(encodeURIComponent(me.token))) requests.push({ method, url: url.href, headers: sent, body });
	if (body !== undefined) sent['Content-Type'] = file ? body.type : 'application/json';
	const left = AbortSignal.any([stays ? [] : shown.signal, until ?? []].flat());
	let answer, data;
	try {
		answer = await fetch(url, {
			method,
			headers: sent,
			signal: left,
			cache: 'no-store',
			credentials: 'omit',
			redirect: 'error',
			body: body === undefined || file ? body : JSON.stringify(body),
		});
		if (asFile && answer.ok) return { data: await answer.blob(), headers: answer.headers, status: answer.status };
		const text = await answer.text();
		data = text && /json/.test(answer.headers.get('Content-Type') ?? '') ? JSON.parse(text) : text;
	} catch (problem) {
		if (left.aborted) return await new Promise(() => {});
		throw new Refused(0, [`The gateway cannot be reached: ${problem.message}.`], { method, path: url.pathname });
	}
	if (answer.ok && method !== 'GET' && /\/tenants(\/[^/]+)?$/.test(url.pathname) && !url.searchParams.has('dry_run')) tell('tenants');
	if (answer.ok) return { data, headers: answer.headers, status: answer.status };
	const wait = answer.headers.get('Retry-After');
	const messages = messagesOf(answer.status, data),
		chosenIsGone = sent['Wazo-Tenant'] && data?.error_id === 'unauthorized-tenant';
	const guessed = url.pathname.endsWith('/password'); // which refuses a wrong password so too, of a token that is good
	if (answer.status === 401 && me && !guessed && sent['X-Auth-Token'] === me.token) {
		if (!chosenIsGone) ended();
		else if (tenant === sent['Wazo-Tenant']) tell('tenant-gone');
	}
	if (wait) messages.push(`Try again in ${wait} seconds.`);
	throw new Refused(answer.status, messages, { method, path: url.pathname }, partsOf(data), data);
};

// own are the headers of a request in the token's own tenant, which sees all that one can choose.
export const own = () => (me?.tenant ? { 'Wazo-Tenant': me.tenant } : {});

// erase deletes what a path leads to, and reports whether it was there still.
export const erase = async (path, options) => {
	try {
		await call('DELETE', path, options);
		return true;
	} catch (problem) {
		if (problem.status !== 404) throw problem;
		return false;
	}
};

// The page listens for signed-in, signed-out, ended (the gateway does not know the token any more; its detail is who was signed in, and in
// which tenant), tenant-gone (it knows the token, and not the chosen tenant), and tenants (one was made, changed or deleted).
export const changes = new EventTarget();
const tell = (name, detail) => changes.dispatchEvent(new CustomEvent(name, { detail }));

const ended = () => {
	const was = { user: me?.user, tenant };
	me = null;
	forget();
	tell('ended', was);
};

// signIn begins a session. Otp is the code of a second factor; without it, who has one is refused with second-factor-required.
export const signIn = async (username, password, otp = '') => {
	const bytes = new TextEncoder().encode(`${username}:${password}`);
	me = null;
	tenant = '';
	const {
		data: { data },
	} = await call('POST', `${auth}/token`, {
		headers: { Authorization: 'Basic ' + btoa(String.fromCharCode(...bytes)) },
		body: otp ? { otp } : {},
	});
	me = {
		token: data.token,
		user: data.metadata?.uuid ?? data.auth_id,
		username,
		session: data.session_uuid,
		acl: data.acl ?? [],
		expires: data.utc_expires_at,
		tenant: data.metadata?.tenant_uuid ?? '',
	};
	await keep(me);
	tell('signed-in');
};

export const signOut = async () => {
	const token = me?.token;
	leavePage();
	tenant = ''; // the next one has a tenant of their own
	await forget();
	try {
		if (token) await call('DELETE', `${auth}/token/${encodeURIComponent(token)}`);
	} finally {
		me = null;
		tell('signed-out');
	}
};

// A reload of the page keeps the session. The token is cut into two halves that tell nothing by themselves: random bytes, in this tab's
// storage, and what these make of the token, in a cookie that no script can read and that only the console's own pages are sent with.
// docs/security.md, Session of the console, says what this is worth.
const place = 'ringfence',
	half = new URL('../session', import.meta.url);
const text = (bytes) => btoa(String.fromCharCode(...bytes));
const bytes = (coded) => Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
const mixed = (some, pad) => some.map((byte, i) => byte ^ pad[i]);

const keep = async ({ token, ...rest }) => {
	const plain = new TextEncoder().encode(token);
	const pad = crypto.getRandomValues(new Uint8Array(plain.length));
	const id = text(crypto.getRandomValues(new Uint8Array(9)));
	try {
		const answer = await fetch(half, {
			method: 'PUT',
			headers: { 'Content-Type': 'application/json' },
			body: JSON.stringify({ half: `${id}.${text(mixed(plain, pad))}` }),
		});
		if (answer.ok) sessionStorage.setItem(place, JSON.stringify({ id, pad: text(pad), rest }));
	} catch {
		// Without it, a reload asks for the password again.
	}
};

// theirs reads the half in the cookie, and its id, which tells whose it is: another tab may have signed in since.
const theirs = async () => {
	const answer = await fetch(half, { headers: { 'Content-Type': 'application/json' }, cache: 'no-store' });
	return ((await answer.json()).half ?? '').split('.');
};

const forget = async () => {
	const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null');
	sessionStorage.removeItem(place);
	sessionStorage.removeItem(chosen);
	try {
		if (kept && (await theirs())[0] === kept.id) await fetch(half, { method: 'DELETE', headers: { 'Content-Type': 'application/json' } });
	} catch {
		// The half that is left there tells nothing.
	}
};

// resume takes up the session from before a reload of the page, if there was one, with the rights that it has now. It returns why it could
// not, or nothing.
export const resume = async () => {
	const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null');
	if (!kept) return '';
	let mine;
	try {
		const [id, other] = await theirs();
		if (id && id !== kept.id) return 'Another tab has signed in since, and a browser keeps one sign-in over a reload. Sign in again in this tab.';
		me = mine = { ...kept.rest, token: new TextDecoder().decode(mixed(bytes(other), bytes(kept.pad))) };
	} catch {
		sessionStorage.removeItem(place);
		return '';
	}
	try {
		const {
			data: { data },
		} = await call('GET', `${auth}/token/${encodeURIComponent(mine.token)}`);
		Object.assign(mine, { acl: data.acl ?? [], expires: data.utc_expires_at });
		tenant = sessionStorage.getItem(chosen) ?? '';
	} catch (problem) {
		if (problem.status === 404) {
			me = null;
			forget();
			return 'Your session has ended. Sign in again; you come back to this page.';
		}
		tenant = sessionStorage.getItem(chosen) ?? '';
	}
	return '';
};
