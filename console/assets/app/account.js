// The account of who is signed in: where they are signed in, what stays so, their password and their telephone.
import { call, erase, me, own, tenant } from './api.js';
import { bodyOf, fill, idOf, may, operation, resources, takes } from './definitions.js';
import { ask, badge, brief, grid, h, moment, plural, put, say } from './dom.js';
import { form, trouble } from './form.js';
import { columnsOf, table } from './list.js';
import { code, line } from './login.js';

const at = (one, ...values) => one.service.prefix + fill(one.path, ...values);
const time = (text) => h('time', { datetime: text }, moment(text));

// program is what a program that has signed in calls itself, as people know it.
const program = (agent) => {
	const browser = [/Firefox/, /Edg/, /OPR/, /Chrome/, /Safari/].find((one) => one.test(agent)),
		on = [/Android/, /iPhone|iPad/, /Windows/, /Mac OS/, /Linux/].find((one) => one.test(agent));
	if (!browser) return agent || 'a program that does not say its name';
	const name = { Edg: 'Edge', OPR: 'Opera' }[browser.source] ?? browser.source;
	return on ? `${name} on ${{ 'iPhone|iPad': 'an iPhone or iPad', 'Mac OS': 'a Mac' }[on.source] ?? on.source}` : name;
};

// list is a part of the page with what belongs to the user, each with a button that ends it.
const list = ({ title, about, none, read, end, key, columns, row, question }) => {
	const place = h('section');
	const draw = async () => {
		try {
			const query = takes(read, 'order') ? { order: 'created_at', direction: 'desc', limit: 100 } : {},
				{ data } = await call('GET', at(read, me?.user), { query, headers: own() });
			put(
				place,
				h('h2', {}, title),
				h('p', { class: 'quiet' }, about),
				data.items.length === 0
					? h('p', { class: 'empty' }, none)
					: grid(
							[...columns, 'What to do'],
							data.items.map((one) => [
								...row(one),
								one.current
									? 'Sign out ends it.'
									: h(
											'button',
											{ type: 'button', class: 'danger', 'aria-label': question(one), disabled: !may(end, me?.user, key(one)), click: () => ends(one) },
											'End',
										),
							]),
						),
				data.total > data.items.length && h('p', {}, `These are the last ${data.items.length} of ${data.total}.`),
			);
		} catch (problem) {
			put(place, h('h2', {}, title), trouble(problem, draw));
		}
	};
	const ends = async (one) => {
		if (!(await ask(`${question(one)}?`, h('p', {}, 'Whoever uses it has to sign in again.'), 'End'))) return;
		try {
			await erase(at(end, me?.user, key(one)), { headers: own() });
			await draw();
			say('Ended.');
		} catch (problem) {
			say(trouble(problem), true);
		}
	};
	return may(read, me?.user) && [place, draw];
};

const sessions = () =>
	list({
		title: 'Where you are signed in',
		about: 'Each time that you, or a program, signed in with your password.',
		none: 'Nowhere.',
		read: operation('list_user_sessions'),
		end: operation('delete_user_session'),
		key: (s) => s.uuid,
		columns: ['With', 'From', 'Since', 'Until'],
		row: (s) => [[program(s.user_agent), s.current && [' ', badge('this one', 'good')]], s.remote_addr, time(s.created_at), time(s.expires_at)],
		question: (s) => `End the session with ${program(s.user_agent)}`,
	});

const staying = () =>
	list({
		title: 'What stays signed in',
		about: 'Programs that sign in again by themselves, such as an application on a mobile telephone.',
		none: 'No program does.',
		read: operation('list_user_tokens'),
		end: operation('delete_user_refresh_token'),
		key: (t) => (/^[\w.~@:+-]{1,128}$/.test(t.client_id) ? t.client_id : t.uuid),
		columns: ['Program', 'With', 'From', 'Since'],
		row: (t) => [[t.client_id, t.mobile && [' ', badge('mobile')]], program(t.user_agent), t.remote_addr, time(t.created_at)],
		question: (t) => `End what keeps ${t.client_id} signed in`,
	});

// password is a form for a new password. It asks for a code if a second factor is in force.
const password = (again, coded) => {
	const change = operation('change_password');
	if (!change || !may(change, me?.user)) return '';
	return h(
		'section',
		{},
		h('h2', {}, 'Password'),
		h('p', { class: 'quiet' }, 'A new one ends all other sessions, and what stays signed in.'),
		form({
			service: change.service,
			schema: bodyOf(change.service, change),
			hidden: coded ? [] : ['otp'],
			whole: true,
			action: 'Change the password',
			send: async (body) => {
				await call('PUT', at(change, me?.user), { body, headers: own() });
				await again();
				say('You have a new password. All other sessions have ended.');
			},
		}),
	);
};

// second is the second factor: whether there is one, and what turns it on and off. State is as the gateway tells it.
const second = (state, again) => {
	const make = operation('create_second_factor'),
		change = operation('update_second_factor');
	if (!make || !change) return '';
	const place = h('section'),
		path = at(change, me?.user);
	const show = (...content) => put(place, h('h2', { tabindex: '-1' }, 'Second factor'), content);
	// then shows a further step, and leads there who does not see the page.
	const then = (...content) => {
		show(content);
		place.firstElementChild.focus();
	};
	const asks = (asked, action, send) =>
		form({ service: change.service, schema: bodyOf(change.service, asked), hidden: ['enabled'], whole: true, locked: !may(asked, me?.user), action, send });
	const changed = async (body, enabled) => (await call('PUT', path, { body: { ...body, enabled }, headers: own() })).data;
	const off = asks(make, 'Turn it on', async (body) => {
		const { data } = await call('POST', path, { body, headers: own() });
		then(
			h('p', {}, 'Let the application on your telephone read this code, or type the secret into it. Then type the code that it shows.'),
			await code(data.uri, 'The secret as a QR code'),
			line('Secret', data.secret).row,
			asks(change, 'Confirm', async (typed) => kept((await changed(typed, true)).recovery_codes)),
		);
	});
	const kept = (codes) => {
		then(
			h(
				'p',
				{},
				'It is on. If you lose your telephone, each of these recovery codes lets you in once, in place of a code. Save them now: they are never shown again.',
			),
			h(
				'ul',
				{ class: 'code' },
				codes.map((one) => h('li', {}, one)),
			),
			line('All of them', codes.join(' ')).row,
			h('p', { class: 'actions' }, h('button', { type: 'button', class: 'primary', click: again }, 'I have saved them')),
		);
	};
	const on = asks(change, 'Turn it off', async (body) => {
		await changed(body, false);
		await again();
		say('The second factor is off.');
	});
	show(
		h(
			'p',
			{ class: 'quiet' },
			'With a second factor, your password alone lets nobody in: the gateway asks for a code too, which an application on your telephone makes every 30 seconds.',
		),
		state.enabled
			? [h('p', {}, badge('On', 'good'), ` You have ${plural(state.recovery_codes_left, 'recovery code')} left.`), on]
			: [h('p', {}, badge('Off')), off],
	);
	return place;
};

// yours is what one has of a kind oneself, such as the numbers from which one takes no calls: the first of them.
/** @type {(resource: any) => Promise<Element>} */
const yours = async ({ key, title, service, path, list, items, schema, parameter, create }) => {
	const place = h('section'),
		add = may(create) && h('a', { class: 'button', href: `#/${key}/+new`, 'aria-label': `New: ${title}` }, 'New');
	const draw = async () => {
		try {
			const { data } = await call('GET', service.prefix + path, { query: takes(list, 'limit') ? { limit: 100 } : {} }),
				columns = columnsOf(service, schema).filter((name) => !name.startsWith('user_'));
			put(
				place,
				h('header', { class: 'title' }, h('h2', {}, title), add),
				data[items].length > 0
					? table({ service, schema, columns, objects: data[items], link: (one) => `#/${key}/${encodeURIComponent(idOf(parameter, one))}` })
					: h('p', { class: 'empty' }, 'There are none.'),
				data.total > data[items].length && h('p', {}, h('a', { href: `#/${key}` }, `All ${data.total}`)),
			);
		} catch (problem) {
			put(place, h('h2', {}, title), trouble(problem, draw));
		}
	};
	await draw();
	return place;
};

// telephones are the numbers and telephones of the user, if the login is that of a telephone user.
const telephones = async () => {
	const people = resources.get('confd/users');
	if (!people?.read || !may(people.read, me?.user)) return '';
	try {
		const { data } = await call('GET', at({ ...people.read, service: people.service }, me?.user), { headers: own() });
		const place = h('section', { class: 'glance', 'aria-label': 'Telephones' });
		(await import('./glance.js')).show(place, data, false);
		const kept = [...resources.values()].filter((r) => r.own && r.service === people.service && r.list && may(r.list));
		return [h('h2', {}, 'Telephones'), place, !tenant && (await Promise.all(kept.map(yours)))];
	} catch (problem) {
		return problem.status === 404 ? '' : trouble(problem);
	}
};

export const show = async (main) => {
	const users = resources.get('auth/users');
	put(main, h('h1', { tabindex: '-1' }, 'Your account'), h('p', { 'aria-busy': 'true' }, 'Loading…'));
	const { data: user } = await call('GET', at({ ...users?.read, service: users?.service }, me?.user), { headers: own() });
	const parts = [sessions(), staying()].filter(Boolean),
		read = operation('read_second_factor'),
		state = may(read, me?.user) && (await call('GET', at(read, me?.user), { headers: own() })).data;
	const address = user.emails?.find((e) => e.main) ?? user.emails?.[0];
	const facts = [
		['User name', user.username],
		['Name', brief({ firstname: user.firstname, lastname: user.lastname })],
		['E-mail', address && [address.address, ' ', address.confirmed ? badge('confirmed', 'good') : badge('not confirmed', 'warn')]],
	];
	put(
		main,
		h(
			'header',
			{ class: 'title' },
			h('h1', { tabindex: '-1' }, 'Your account'),
			h('a', { class: 'button', href: `#/auth/users/${user.uuid}` }, 'All of this login'),
		),
		h(
			'dl',
			{},
			facts.map(([title, value]) => value && [h('dt', {}, title), h('dd', {}, value)]),
		),
		await telephones(),
		parts.map(([place]) => place),
		password(() => show(main), state?.enabled),
		state && second(state, () => show(main)),
	);
	for (const [, draw] of parts) draw(); // who types already does not wait for them
};
