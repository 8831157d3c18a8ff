// A new object, made over the page that needs it.
import { call } from './api.js';
import { bodyOf, keyOf, takes } from './definitions.js';
import { fresh, h, put } from './dom.js';
import { form, trouble } from './form.js';
import { makers } from './menu.js';
import { maker } from './work.js';

// make asks for a new object of a kind, by the page of the work that makes such if there is one, and resolves to it; undefined, if none was
// made. Named is what was typed for its name; among are attributes that it must have.
/** @type {(resource: Collection, named: string, among: Record<string, any>) => Promise<any>} */
export const make = (resource, named, among) =>
	new Promise((resolved) => {
		const id = fresh('make'),
			box = h('div', {}, h('p', { 'aria-busy': 'true' }, 'Loading…')),
			address = Object.keys(makers).find((one) => makers[one].key === resource.key && Object.keys(among).length === 0);
		let made;
		const dialog = h(
			'dialog',
			{
				'aria-labelledby': id,
				class: 'make',
				close: () => {
					dialog.remove();
					resolved(made);
				},
			},
			h('h2', { id }, address ? makers[address].title : resource.create?.summary),
			box,
			h('p', {}, h('button', { type: 'button', click: () => dialog.close() }, 'Cancel')),
		);
		const done = (object) => {
			made = object;
			dialog.close();
		};
		const plain = () => {
			const { service, create } = resource;
			return form({
				service,
				schema: bodyOf(service, create),
				list: resource.list,
				key: keyOf(service, resource.itemPath),
				hidden: Object.keys(among),
				action: 'Create',
				send: async (body) => {
					const query = { recursive: takes(create, 'recursive') ? 'true' : '' };
					done((await call('POST', service.prefix + resource.path, { query, body: { ...among, ...body } })).data);
				},
			});
		};
		const draw = async () => {
			try {
				put(box, address ? await maker(address, done) : plain());
				const first = box.querySelector('input');
				first?.focus();
				if (first && /^(firstname|label|name)$/.test(first.dataset.name ?? '')) first.value = named;
			} catch (problem) {
				put(box, trouble(problem, draw));
			}
		};
		document.body.append(dialog);
		dialog.showModal();
		draw();
	});
