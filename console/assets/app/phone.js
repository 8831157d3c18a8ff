// One form that makes a user with a telephone: a line, a number, a voicemail and a login in one request, all of it or nothing.
import { call } from './api.js';
import { may, resources } from './definitions.js';
import { fresh, h, lead, put } from './dom.js';
import { beside, refusal } from './form.js';
import { reveal } from './login.js';
import { picker, settled, spoken } from './picker.js';
import { crumbs } from './shown.js';

// input is a field. Sent are the attributes of the request that it stands for.
const input = (name, label, attributes = {}, note = '', sent = [name]) => {
	const id = fresh(name);
	const element = h('input', { id, name, autocomplete: 'off', 'aria-describedby': `${id}-error`, ...attributes });
	const error = h('span', { class: 'error', id: `${id}-error` });
	const check = attributes.type === 'checkbox';
	return {
		sent,
		element,
		row: h(
			'div',
			{ class: check ? 'field check' : 'field' },
			check ? [element, h('label', { for: id }, label)] : [h('label', { for: id }, label), element],
			note && h('small', {}, note),
			error,
		),
		refuse: (text) => {
			error.textContent = text;
			element.setAttribute('aria-invalid', String(text !== ''));
		},
	};
};

// contextField chooses the context of the number by its name for people: there may be thousands.
const contextField = (resource, query, preset) => {
	const error = h('span', { class: 'error', id: 'context-error' });
	const chosen = picker(resource, (c) => c.name, { id: 'context', 'aria-describedby': 'context-error' }, { preset, query });
	return {
		sent: ['context'],
		read: chosen.read,
		row: h('div', { class: 'field' }, h('label', { for: 'context' }, 'Context'), chosen.element, error),
		element: chosen.input,
		refuse: (text) => {
			error.textContent = text;
			chosen.input.setAttribute('aria-invalid', String(text !== ''));
			if (text) chosen.input.focus();
		},
	};
};

export const show = async (main) => {
	const users = resources.get('confd/users'),
		contexts = resources.get('confd/contexts');
	if (!users || !contexts) {
		put(main, h('h1', { tabindex: '-1' }, 'New telephone user'), h('p', {}, 'This gateway has no telephony configuration.'));
		return;
	}
	const internal = { type: 'internal' },
		{ data } = await call('GET', contexts.service.prefix + contexts.path, { query: { ...internal, limit: 1 } });
	const first = input('firstname', 'First name *', { required: true }),
		last = input('lastname', 'Last name');
	const mail = input('email', 'E-mail address', { type: 'email' });
	const exten = input('exten', 'Number', { inputmode: 'numeric' }, 'Leave it empty for a user without a telephone.', ['exten', 'lines']);
	const box = input('voicemail', 'With a voicemail of the same number', { type: 'checkbox' });
	box.element.checked = true;
	const login = input('login', 'With a login of the gateway', { type: 'checkbox' }, 'The user name is the e-mail address.', ['auth']);
	const password = input('password', 'Password of the login', { type: 'password', autocomplete: 'new-password' });
	const context = contextField(contexts, internal, data.items[0]);
	const fields = [first, last, mail, exten, context, box, login, password],
		general = h('div', { class: 'error', role: 'alert' });
	const button = h('button', { type: 'submit', class: 'primary' }, 'Create');
	password.row.hidden = true;
	login.element.addEventListener('change', () => {
		password.row.hidden = !login.element.checked;
	});

	const body = (inside) => {
		const name = [first.element.value, last.element.value].filter(Boolean).join(' ');
		const user = { firstname: first.element.value, lastname: last.element.value || null, email: mail.element.value || null };
		if (exten.element.value) {
			user.lines = [{ context: inside, endpoint_sip: { generate_login: true }, extensions: [{ exten: exten.element.value, context: inside }] }];
			if (box.element.checked) user.voicemail = { name, number: exten.element.value, context: inside };
		}
		if (login.element.checked) user.auth = { username: mail.element.value || name, password: password.element.value };
		return user;
	};
	const submit = async (event) => {
		event.preventDefault();
		put(general);
		for (const field of fields) field.refuse('');
		button.disabled = true; // a second click would make a second user
		await settled(main);
		button.disabled = false;
		const inside = context.read(),
			wrong = inside instanceof Error ? inside.message : inside ? '' : 'Numbers live in a context: choose one.';
		if (exten.element.value && wrong) return context.refuse(wrong);
		button.disabled = true; // a second click would make a second user
		try {
			const { data: made } = await call('POST', users.service.prefix + users.path, { body: body(inside) });
			reveal(made.lines?.[0]?.endpoint_sip?.uuid);
			lead(
				`#/confd/users/${made.uuid ?? made.id}`,
				`${first.element.value} was created${exten.element.value ? ` with the number ${exten.element.value}` : ''}.`,
			);
		} catch (problem) {
			button.disabled = false;
			if (!problem.messages) throw problem;
			button.focus();
			const all = beside(problem, (path, message) => {
				const about = path
					.toReversed()
					.map((name) => fields.find(({ sent }) => sent.includes(name)))
					.find(Boolean);
				about?.refuse(message);
				return Boolean(about);
			});
			fields.find((field) => field.element.getAttribute('aria-invalid') === 'true')?.element.focus();
			put(general, all ? [] : [problem.messages.map((m) => h('p', {}, spoken(m))), refusal(problem)]);
		}
	};
	put(
		main,
		crumbs(users),
		h('h1', { tabindex: '-1' }, 'New telephone user'),
		may(users.create) ? '' : h('p', { class: 'denied' }, 'Your token may not create users: the gateway will refuse this.'),
		h(
			'form',
			{ method: 'post', submit, novalidate: true },
			first.row,
			last.row,
			mail.row,
			data.items.length === 0
				? h(
						'p',
						{ class: 'denied' },
						'There is no internal context yet, in which numbers live. ',
						h('a', { href: '#/confd/contexts/+new' }, 'Make one'),
						" with a range of users' numbers first.",
					)
				: [context.row, exten.row, box.row],
			login.row,
			password.row,
			general,
			h('p', { class: 'actions' }, button),
		),
	);
};
