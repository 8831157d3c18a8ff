import assert from 'node:assert/strict';
import test, { beforeEach } from 'node:test';
import { among, fields, valuesOf } from '../assets/app/fields.js';
import { beside, form } from '../assets/app/form.js';
import { Refused } from '../assets/app/api.js';
import { labelled, open } from './page.js';

const service = { name: 'confd', prefix: '/api/confd/1.1', definition: { paths: {}, components: { schemas: {} } } };

let body;
beforeEach(() => {
	body = open();
	service.definition.components.schemas = {};
});

// shown puts the fields of a schema on the page.
const shown = (properties, before, more = {}) => {
	const inputs = fields({ service, ...more }, { required: more.required, properties }, before, []);
	body.append(...inputs.map((f) => f.element));
	return inputs;
};

const control = (name) => body.querySelector(`[data-name="${name}"]`);
const enter = (name, value) => {
	control(name).value = value;
};
const errors = () =>
	Object.fromEntries(
		body
			.querySelectorAll('.error')
			.filter((e) => e.textContent)
			.map((e) => [e.id.replace(/-\d+-error$/, ''), e.textContent]),
	);

test('each type of value has a control that reads it', () => {
	const inputs = shown({
		name: { type: 'string' },
		limit: { type: 'integer', nullable: true },
		ratio: { type: 'number' },
		on: { type: 'boolean' },
		kind: { type: 'string', enum: ['a', 'b'] },
		words: { type: 'array', items: { type: 'string' } },
		options: { type: 'array', items: { type: 'array', items: { type: 'string' } } },
		named: { type: 'object', additionalProperties: { type: 'string' } },
		days: { type: 'array', items: { type: 'integer' } },
		any: {},
	});
	assert.deepEqual(valuesOf(inputs, {}), { words: [] }, 'what nobody has filled in is left out, but for a list');
	for (const [name, value] of Object.entries({
		name: 'Ada',
		limit: '5',
		ratio: '1.5',
		kind: 'b',
		words: ' x \n\n y',
		options: 'a = 1\nb=',
		named: 'c = d = e',
		days: '25, 26 1',
		any: '{"x": [1]}',
	}))
		enter(name, value);
	control('on').checked = true;
	assert.deepEqual(valuesOf(inputs, {}), {
		name: 'Ada',
		limit: 5,
		ratio: 1.5,
		on: true,
		kind: 'b',
		words: ['x', 'y'],
		options: [
			['a', '1'],
			['b', ''],
		],
		named: { c: 'd = e' },
		days: [25, 26, 1],
		any: { x: [1] },
	});
});

test('of an object that is there, only what has changed is sent', () => {
	const before = { name: 'Ada', limit: 5, label: null, words: ['a'], on: true, extra: 'kept' };
	const inputs = shown(
		{
			name: { type: 'string' },
			limit: { type: 'integer', nullable: true },
			label: { type: 'string', nullable: true },
			words: { type: 'array', items: { type: 'string' } },
			on: { type: 'boolean' },
		},
		before,
	);
	assert.deepEqual(valuesOf(inputs, before), {});
	enter('limit', '');
	enter('name', '');
	control('on').checked = false;
	assert.deepEqual(valuesOf(inputs, before), { limit: null, name: '', on: false });
});

test('what cannot be read is said beside its field, which has the focus', () => {
	for (const [property, text, said] of [
		[{ type: 'array', items: { type: 'array', items: { type: 'string' } } }, 'no pair', '"no pair" has no = between a name and a value.'],
		[{ type: 'object', additionalProperties: { type: 'string' } }, 'a = 1\na = 2', 'There is another "a".'],
		[{}, '{', 'This is no JSON.'],
	]) {
		body = open();
		const inputs = shown({ first: { type: 'string' }, value: property });
		enter('value', text);
		assert.ok(valuesOf(inputs, {}) instanceof Error);
		assert.deepEqual(errors(), { value: said });
		assert.equal(document.activeElement, control('value'));
		assert.equal(control('value').getAttribute('aria-invalid'), 'true');
		enter('value', '');
		assert.ok(!(valuesOf(inputs, {}) instanceof Error));
		assert.deepEqual(errors(), {}, 'what was said before is gone');
	}
});

test('a number that a browser cannot read is no empty one', () => {
	const inputs = shown({ limit: { type: 'integer', nullable: true } });
	control('limit').validity.badInput = true;
	assert.equal(valuesOf(inputs, {}).message, 'This is no number.');
});

test('a problem stands beside the innermost field that its path leads to', () => {
	const nested = { type: 'object', properties: { name: { type: 'string' }, number: { type: 'string' } } };
	const inputs = shown(
		{ name: { type: 'string' }, box: nested, lines: { type: 'array', items: { type: 'object', properties: { context: { type: 'string' }, inside: nested } } } },
		{ lines: [{ context: 'a' }, { context: 'b' }] },
	);
	for (const [path, id] of [
		[['name'], 'name'],
		[['box', 'number'], 'number'],
		[['box', 'other'], 'box'],
		[['box'], 'box'],
		[['lines', '1', 'context'], 'context'],
		[['lines', '1', 'inside', 'name'], 'name'],
		[['lines', '7', 'context'], 'lines'],
		[['lines'], 'lines'],
	]) {
		for (const e of body.querySelectorAll('.error')) e.textContent = '';
		among(inputs, path).refuse('No.');
		assert.deepEqual(errors(), { [id]: 'No.' }, path.join('.'));
	}
	among(inputs, ['lines', '1', 'context']).refuse('Second.');
	assert.equal(body.querySelectorAll('.row')[1].querySelector('.error').textContent, 'Second.');
	assert.equal(among(inputs, ['nothing']), undefined);
	assert.equal(among(inputs, []), undefined);
});

test('of a long list, the page is shown on which a problem is', () => {
	const before = Array.from({ length: 60 }, (_, i) => ({ name: `n${i}` }));
	const inputs = shown({ items: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } } }, { items: before });
	assert.equal(body.querySelectorAll('.row').length, 25);
	among(inputs, ['items', '55', 'name']).refuse('No.');
	assert.equal(body.querySelectorAll('.row').length, 10);
	assert.deepEqual(errors(), { name: 'No.' });
	assert.match(body.querySelector('.pages').textContent, /^60 in all, page 3 of 3/);
	assert.deepEqual(valuesOf(inputs, undefined), { items: before }, 'what no page has shown is sent as it was');
});

test('a list sends what is left, and nothing that its service alone writes', () => {
	const items = {
		type: 'object',
		properties: { name: { type: 'string' }, id: { type: 'integer', readOnly: true }, hidden: { type: 'string', deprecated: true } },
	};
	const inputs = shown({ items: { type: 'array', items } }, { items: [{ name: 'a', id: 1, hidden: 'x', other: 1 }, { name: 'b' }] });
	body
		.querySelectorAll('button')
		.find((b) => b.getAttribute('aria-label') === 'Remove b')
		.fire('click');
	assert.deepEqual(valuesOf(inputs, undefined), { items: [{ name: 'a', hidden: 'x' }] });
	body
		.querySelectorAll('button')
		.find((b) => b.textContent === 'Add one')
		.fire('click');
	body.querySelectorAll('.row')[1].querySelector('input').value = 'c';
	assert.deepEqual(valuesOf(inputs, undefined), { items: [{ name: 'a', hidden: 'x' }, { name: 'c' }] });
});

const keys = {
	type: 'object',
	additionalProperties: { type: 'object', properties: { label: { type: 'string' }, blf: { type: 'boolean' }, inherited: { type: 'boolean' } } },
};

test('a map has a row for each key; what comes from elsewhere is sent once it is changed here', () => {
	const inputs = shown({ keys }, { keys: { 1: { label: 'a', inherited: false }, 3: { label: 'b', inherited: true } } }, { key: 'position', inherits: true });
	assert.deepEqual(
		body
			.querySelectorAll('th')
			.map((th) => th.textContent)
			.slice(0, 2),
		['Position', 'Label'],
	);
	assert.deepEqual(Object.keys(valuesOf(inputs, undefined).keys), ['1']);
	body
		.querySelectorAll('button')
		.find((b) => b.textContent === 'Change here')
		.fire('click');
	body
		.querySelectorAll('button')
		.find((b) => b.textContent === 'Add a position')
		.fire('click');
	assert.deepEqual(Object.keys(valuesOf(inputs, undefined).keys), ['1', '3', '4']);
	const [first, second] = body.querySelectorAll('input.short');
	second.value = '1';
	assert.equal(valuesOf(inputs, undefined).message, 'There is another position 1.');
	second.value = '';
	assert.equal(valuesOf(inputs, undefined).message, 'It is missing.');
	second.value = '3';
	among(inputs, ['keys', '3', 'label']).refuse('No.');
	assert.equal(body.querySelectorAll('tr')[2].querySelectorAll('.error')[1].textContent, 'No.');
	among(inputs, ['keys', '1']).refuse('This key.');
	assert.equal(first.getAttribute('aria-invalid'), 'true');
});

test('an object of several kinds has the fields of the chosen one', () => {
	const kind = (name, more) => ({
		type: 'object',
		required: ['type'],
		properties: { type: { type: 'string', enum: [name], 'x-enum-labels': { [name]: `A ${name}` } }, ...more },
	});
	service.definition.components.schemas = { User: kind('user', { user_name: { type: 'string' } }), None: kind('none', {}) };
	const destination = { discriminator: { propertyName: 'type', mapping: { user: '#/components/schemas/User', none: '#/components/schemas/None' } } };
	const inputs = shown({ destination });
	const choice = body.querySelector('select');
	assert.deepEqual(
		body.querySelectorAll('option').map((o) => o.textContent),
		['—', 'A user', 'A none'],
	);
	assert.deepEqual(valuesOf(inputs, {}), {});
	choice.value = 'user';
	choice.fire('change');
	enter('user_name', 'ada');
	assert.deepEqual(valuesOf(inputs, {}), { destination: { user_name: 'ada', type: 'user' } });
	among(inputs, ['destination', 'user_name']).refuse('No.');
	assert.deepEqual(errors(), { user_name: 'No.' });
	choice.value = 'none';
	choice.fire('change');
	assert.deepEqual(valuesOf(inputs, {}), { destination: { type: 'none' } });
});

test('what no form has a field for', () => {
	const names = (before) =>
		fields(
			{ service },
			{
				properties: {
					a: { type: 'string' },
					b: { readOnly: true },
					c: { deprecated: true },
					uuid: { type: 'string', format: 'uuid', 'x-fixed': true },
					once: { type: 'string', 'x-fixed': true, writeOnly: true },
					links: {},
				},
			},
			before,
			[],
		).map((f) => f.name);
	assert.deepEqual(names(), ['a', 'once']);
	assert.deepEqual(names({}), ['a']);
});

test('a field tells its limits, and what its pattern lets through when it was refused', () => {
	const [field] = shown({ exten: { type: 'string', maxLength: 40, default: '1000', description: 'The number.', pattern: '^[0-9*#]{1,40}$' } }, undefined, {
		required: ['exten'],
	});
	assert.ok(labelled(body, 'Exten *'));
	assert.equal(body.querySelector('small').textContent, 'The number. Up to 40 characters, 1000 by default.');
	field.refuse('Must match ^[0-9*#]{1,40}$.');
	assert.deepEqual(errors(), { exten: 'Must match ^[0-9*#]{1,40}$. Only digits and * #, from 1 to 40 of them.' });
	field.refuse('Is required.');
	assert.deepEqual(errors(), { exten: 'Is required.' });
});

test('a sentence about several values is said if it stands beside one of them', () => {
	const parts = [
		{ detail: 'Both.', path: ['a'] },
		{ detail: 'Both.', path: ['hidden'] },
		{ detail: 'One.', path: ['b'] },
	];
	const said = [];
	const put = ([name], text) => name !== 'hidden' && name !== undefined && said.push(`${name}: ${text}`) > 0;
	assert.equal(beside({ parts }, put), true);
	assert.deepEqual(said, ['a: Both.', 'b: One.']);
	assert.equal(beside({ parts: [...parts, { detail: 'All of it.', path: [] }] }, put), false);
	assert.equal(beside({ parts: [] }, put), false);
});

// refusing is a form whose sending is refused, and what it says after that.
const refusing = async (problem) => {
	const element = form({
		service,
		schema: {
			properties: {
				name: { type: 'string' },
				zz: { type: 'string' },
				...Object.fromEntries(['b', 'c', 'd', 'e', 'f', 'g'].map((name) => [name, { type: 'string' }])),
				description: { type: 'string' },
			},
		},
		send: () => Promise.reject(problem),
	});
	body.append(element);
	element.fire('submit');
	await new Promise(setImmediate);
	return element.querySelectorAll('.error').find((e) => e.getAttribute('role') === 'alert').textContent;
};

test('a form says what is refused beside its fields, also those that are folded away', async () => {
	const rest = await refusing(
		new Refused(400, ['Name: one. Zz: two.'], {}, [
			{ detail: 'One.', path: ['name'] },
			{ detail: 'Two.', path: ['zz'] },
		]),
	);
	assert.equal(rest, '');
	assert.deepEqual(errors(), { name: 'One.', zz: 'Two.' });
	assert.equal(body.querySelector('details').open, true);
	assert.equal(document.activeElement, control('name'), 'reading goes on at the first of them');
});

test('a form says apart what is about no field, or about the whole', async () => {
	assert.equal(await refusing(new Refused(409, ['It is in use.'], {}, [])), 'It is in use.');
	assert.equal(
		await refusing(
			new Refused(400, ['All of it. Name: one.'], {}, [
				{ detail: 'All of it.', path: [] },
				{ detail: 'One.', path: ['name'] },
			]),
		),
		'All of it. Name: one.',
	);
});
