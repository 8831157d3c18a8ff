'use strict';
// The token of the link is read from the fragment, which no browser sends to anybody, and taken out of the address bar before
// anything else: it is then in this page's memory alone, and goes to the gateway in a header.
(() => {
	/** @type {(id: string) => any} */
	const byID = (id) => document.getElementById(id);
	const state = byID('state'),
		choose = byID('choose'),
		ask = byID('ask');
	const api = new URL('../api/auth/0.1/users/password/reset', location.href);
	let user = '',
		token = '';

	const say = (text, wrong) => {
		state.textContent = text;
		state.classList.toggle('wrong', Boolean(wrong));
	};

	// show leaves one form, or none, and begins in its first field.
	const show = (form) => {
		choose.hidden = form !== choose;
		ask.hidden = form !== ask;
		byID('after').hidden = Boolean(form);
		byID('title').textContent = form === ask ? 'Ask for a new password' : 'Choose a new password';
		(form ? form.querySelector('input') : byID('title')).focus();
	};

	// call answers what the gateway says, or nothing when it could not be asked.
	const call = async (form, query, options) => {
		const button = form.querySelector('button'),
			url = new URL(api);
		url.search = String(new URLSearchParams(query));
		button.disabled = true;
		try {
			const answer = await fetch(url, { ...options, cache: 'no-store', credentials: 'omit', redirect: 'error' });
			const body = answer.status === 204 ? {} : await answer.json();
			return { status: answer.status, body, wait: answer.headers.get('Retry-After') };
		} catch (problem) {
			say('The gateway cannot be reached. Nothing was changed as far as this page knows; try again. (' + problem.message + ')', true);
			return undefined;
		} finally {
			button.disabled = false;
		}
	};

	const explain = ({ status, body, wait }) => {
		if (wait) return 'Too much is going on just now. Try again in ' + wait + ' seconds.';
		return body.message ? body.message + '.' : 'The gateway answered with the status ' + status + '.';
	};

	const setPassword = async (event) => {
		event.preventDefault();
		const password = byID('password'),
			again = byID('again');
		const differ = password.value !== again.value;
		again.setAttribute('aria-invalid', String(differ));
		if (differ) {
			say('The two passwords are not the same. Nothing was changed.', true);
			again.focus();
			return;
		}
		const answer = await call(
			choose,
			{ user_uuid: user },
			{
				method: 'POST',
				headers: { Accept: 'application/json', 'Content-Type': 'application/json', 'X-Auth-Token': token },
				body: JSON.stringify({ password: password.value }),
			},
		);
		if (!answer) return;
		if (answer.status === 204) {
			token = '';
			choose.reset();
			show(null);
			say('Your password is set, and you are signed out everywhere. Sign in with the new one.');
		} else if (answer.status === 401) {
			token = '';
			choose.reset();
			show(ask);
			say('This link was used already, or has expired. Your password was not changed. Ask for a new link here.', true);
		} else if (answer.status === 400) {
			say('This password is refused. ' + explain(answer), true);
			password.focus();
		} else {
			say(explain(answer), true);
		}
	};

	const askForLink = async (event) => {
		event.preventDefault();
		const answer = await call(ask, { login: byID('login').value }, { headers: { Accept: 'application/json' } });
		if (!answer) return;
		if (answer.status === 204) {
			ask.reset();
			show(null);
			say('If there is such an account, and it has a confirmed e-mail address, a mail with a link is on its way.');
		} else {
			say(explain(answer), true);
		}
	};

	// A gateway without a mail server answers like any other, so that nobody learns who has an account; this page says it.
	const checkMails = async () => {
		try {
			const services = await (await fetch('services.json', { cache: 'no-store', credentials: 'omit' })).json();
			if (services.some((service) => service.name === 'auth' && !service.mails)) {
				show(null);
				say('This gateway sends no mails. Ask your administrator for a new password.');
			}
		} catch {
			// The form is still there, and says what is wrong when it is sent.
		}
	};

	const readLink = () => {
		const link = new URLSearchParams(location.hash.slice(1));
		history.replaceState(null, '', location.pathname);
		user = link.get('user_uuid') ?? '';
		token = link.get('token') ?? '';
		say(user && token ? '' : 'To choose a new password you need the link of a mail. You get one, if your account has a confirmed address.');
		show(user && token ? choose : ask);
		if (!user || !token) checkMails();
	};

	choose.addEventListener('submit', setPassword);
	ask.addEventListener('submit', askForLink);
	addEventListener('hashchange', () => location.hash && readLink()); // a second link, opened in this tab
	readLink();
})();
