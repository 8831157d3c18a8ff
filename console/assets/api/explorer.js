// The API explorer: Swagger UI with the gateway's definitions, and the session of the console.
import { call, changes, me, resume, signIn, signOut, tenant, useAuth, useTenant } from '../app/api.js';
import { curl } from '../app/curl.js';
import { moment } from '../app/dom.js';

/** @type {(id: string) => any} */
const byID = (id) => document.getElementById(id);
const state = byID('state'),
	select = byID('service');
let authPrefix = '';

const say = (text, wrong, ...more) => {
	state.replaceChildren(text, ...more);
	state.classList.toggle('wrong', Boolean(wrong));
};

const drawSession = () => {
	byID('login').hidden = Boolean(me);
	byID('logout').hidden = !me;
	say(
		me
			? `Signed in as ${me.username} until ${moment(me.expires)}. Every "Execute" below sends the token.`
			: 'Not signed in: operations that need a token answer 401.',
	);
	drawTenants().catch((problem) => me && say(`The tenants could not be loaded: ${problem.message}`, true));
};

// drawTenants offers the tenants in which the session may act: what is chosen is sent with each request that names no other.
const drawTenants = async () => {
	const chooser = byID('tenant');
	chooser.parentElement.hidden = true;
	if (!me) return;
	const { data } = await call('GET', `${authPrefix}/tenants`, { query: { limit: 1000, order: 'name' }, headers: { 'Wazo-Tenant': me.tenant } }).catch(
		(problem) => {
			if (problem.status === 403) return { data: { items: [] } }; // who may not list them acts in one
			throw problem;
		},
	);
	if (!me) return;
	chooser.replaceChildren(...data.items.map((t) => new Option(t.name || t.slug, t.uuid, false, t.uuid === (tenant || me?.tenant))));
	chooser.parentElement.hidden = data.items.length < 2;
};

// A link names a service and an operation: api/?service=confd#/users/list_user.
const asked = () => new URLSearchParams(location.search).get('service');

let missing = false;

// sayMissing tells that a file of the gateway cannot be loaded, and what to do if it did not even answer.
const sayMissing = (file, answer) => {
	missing = true;
	if (answer) {
		say(`${file} could not be loaded: the gateway answers ${answer.status}.`, true);
		return;
	}
	const link = Object.assign(document.createElement('a'), {
		href: `${location.origin}/`,
		target: '_blank',
		rel: 'noopener',
		textContent: `open ${location.origin}/`,
	});
	say(
		`${file} could not be loaded. The usual reason is that this browser does not trust the gateway's certificate: `,
		true,
		link,
		' in it, accept the certificate, and reload this page.',
	);
};

// plugin changes Swagger UI: the search looks at each operation's path, summary and access; its own Authorize is left out, as the session
// is above; and curl lines are such that a person can run them.
const plugin = (system) => ({
	fn: {
		opsFilter: (tags, phrase) =>
			tags
				.map((tag, name) =>
					name.toLowerCase().includes(phrase.toLowerCase())
						? tag
						: tag.update('operations', (operations) =>
								operations.filter((o) =>
									[
										o.get('path'),
										o.get('method'),
										o.getIn(['operation', 'summary']),
										o.getIn(['operation', 'operationId']),
										o.getIn(['operation', 'x-required-acl']),
									]
										.join(' ')
										.toLowerCase()
										.includes(phrase.toLowerCase()),
								),
							),
				)
				.filter((tag) => tag.get('operations').size > 0),
	},
	components: { authorizeBtn: () => null, authorizeOperationBtn: () => null },
	wrapComponents: {
		curl: (Original) => (props) => {
			const request = props.request?.toJS?.() ?? {},
				h = system.React.createElement;
			if (!request.url) return h(Original, props);
			const line = curl(request);
			return h(
				'div',
				{ className: 'curl-command' },
				h('h4', null, 'Curl'),
				h(
					'div',
					{ className: 'copy-to-clipboard' },
					h('button', { type: 'button', title: 'Copy', 'aria-label': 'Copy the line for curl', onClick: () => navigator.clipboard.writeText(line) }),
				),
				h('pre', { className: 'curl microlight' }, line),
			);
		},
	},
});

let explorer;

// A link that is opened where the page is open already changes only what is behind the #.
addEventListener('hashchange', () => explorer?.layoutActions.parseDeepLinkHash(location.hash));

// show draws a service. Who follows a link to an operation comes back to it after choosing a service or a reload.
const show = (service) => {
	explorer = window.SwaggerUIBundle({
		url: service.definition,
		dom_id: '#swagger-ui',
		deepLinking: true,
		filter: true,
		validatorUrl: null,
		queryConfigEnabled: false,
		persistAuthorization: false,
		defaultModelsExpandDepth: -1,
		docExpansion: 'list',
		plugins: [plugin],
		requestInterceptor: (request) => {
			if (me && new URL(request.url, location.href).origin === location.origin) {
				request.headers['X-Auth-Token'] = me.token;
				if (tenant) request.headers['Wazo-Tenant'] ??= tenant;
			}
			return request;
		},
		responseInterceptor: (answer) => {
			if (answer.status === 401 && me) call('GET', `${authPrefix}/users/me/tokens?limit=1`).catch(() => {}); // tells whether the session has ended
			return answer;
		},
		onComplete: () => {
			const filter = document.querySelector('.operation-filter-input');
			filter?.setAttribute('placeholder', 'Search: path, access or words');
			filter?.setAttribute('aria-label', 'Search operations');
		},
	});
};

const open = async (service) => {
	const answer = await fetch(service.definition, { headers: { Accept: 'application/json' } }).catch(() => null);
	if (!answer?.ok) {
		byID('swagger-ui').replaceChildren();
		sayMissing(service.definition, answer);
		return;
	}
	if (missing) {
		missing = false;
		if (authPrefix) drawSession();
		else say('');
	}
	show(service);
};

const login = async (event) => {
	event.preventDefault();
	try {
		await signIn(byID('username').value, byID('password').value);
	} catch (problem) {
		if (!problem.messages) throw problem;
		say(problem.status === 401 ? 'The user name or the password is wrong.' : problem.message, true);
		byID('password').focus();
	} finally {
		byID('password').value = '';
	}
};

const start = async () => {
	const answer = await fetch('../services.json').catch(() => null);
	if (!answer?.ok) {
		sayMissing('services.json', answer);
		return;
	}
	const services = await answer.json();
	const auth = services.find((service) => service.name === 'auth');
	if (auth) {
		authPrefix = auth.prefix;
		useAuth(auth.prefix);
		byID('login').addEventListener('submit', login);
		byID('tenant').addEventListener('change', () => useTenant(byID('tenant').value === me?.tenant ? '' : byID('tenant').value));
		byID('logout').addEventListener('click', () => signOut().catch((problem) => say(problem.message, true)));
		changes.addEventListener('signed-in', drawSession);
		changes.addEventListener('signed-out', () => {
			drawSession();
			say('Signed out.');
		});
		changes.addEventListener('ended', () => {
			drawSession();
			say('Your session has ended. Sign in again.', true);
		});
		const lost = await resume();
		drawSession();
		if (lost) say(lost, true);
	}
	select.append(...services.map((service) => new Option(service.title, service.name)));
	const wanted = services.find((service) => service.name === asked()) ?? services[0];
	select.value = wanted.name;
	select.addEventListener('change', () => {
		history.replaceState(null, '', `?service=${encodeURIComponent(select.value)}`);
		open(services.find((service) => service.name === select.value));
	});
	await open(wanted);
};

start().catch((problem) => say(problem.message, true));
