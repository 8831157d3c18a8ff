// The records of calls: who called whom, when, how long, and how it ended. Who may not read those of the tenant reads their own.
import { call, erase, me } from './api.js';
import { save } from './csv.js';
import { may, mayDo, operation, resources } from './definitions.js';
import { ask, badge, grid, h, later, moment, put, say } from './dom.js';
import { trouble } from './form.js';
import { hear, keep } from './hear.js';
import { picker, settled } from './picker.js';

const size = 50;

const ways = { internal: 'Inside', inbound: 'Incoming', outbound: 'Outgoing' };
const ends = { answered: 'Answered', unanswered: 'Nobody answered', busy: 'Busy', failed: 'Failed' };
const colours = { answered: 'good', unanswered: '', busy: '', failed: 'bad' };

const party = (name, number) => [h('span', {}, name || number || 'unknown'), name && number && h('span', { class: 'quiet' }, ` ${number}`)];

// lasted writes seconds as a clock does.
const lasted = (seconds) =>
	[Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
		.map((n, i) => (i === 0 ? String(n) : String(n).padStart(2, '0')))
		.join(':')
		.replace(/^0:/, '');

// recorded shows what was recorded of a call. The sound is fetched when somebody wants to hear it: each time is in the audit.
const wav = { headers: { Accept: 'audio/wav' } };
const recorded = (c, media) =>
	c.recordings
		.filter((one) => !one.deleted)
		.map((one) => {
			const drop = operation('delete_recording_media'),
				path = (o) => o.service.prefix + o.path.replace('{cdr_id}', c.id).replace('{recording_uuid}', one.uuid);
			const box = h('span', { class: 'actions' }),
				player = h('span');
			const remove = async () => {
				if (!(await ask('Delete the recording?', h('p', {}, 'Nobody can hear it any more.')))) return;
				try {
					await erase(path(drop));
					put(box, h('span', { class: 'quiet' }, 'deleted'));
				} catch (problem) {
					say(problem.message, true);
				}
			};
			const hears = may(media, c.id, one.uuid) && media;
			put(
				box,
				player,
				hears && h('button', { type: 'button', click: () => hear(player, 'Recording', path(hears), wav) }, 'Play'),
				hears && h('button', { type: 'button', click: () => keep(one.filename, path(hears), wav) }, 'Download'),
				may(drop, c.id, one.uuid) && h('button', { type: 'button', class: 'danger', click: remove }, 'Delete'),
			);
			return box;
		});

const table = (calls, media) => {
	const some = calls.some((c) => c.recordings.some((one) => !one.deleted));
	return grid(
		['When', 'From', 'To', 'Way', 'How it ended', 'Talked', ...(some ? ['Recording'] : [])],
		calls.map((c) => [
			h('time', { datetime: c.start }, moment(c.start)),
			party(c.source_name, c.source_extension),
			[
				party(c.destination_name, c.destination_extension),
				c.requested_extension !== c.destination_extension && h('span', { class: 'quiet' }, ` via ${c.requested_extension}`),
			],
			ways[c.call_direction],
			badge(ends[c.call_status], colours[c.call_status]),
			c.duration > 0 && lasted(c.duration),
			...(some ? [recorded(c, media)] : []),
		]),
	);
};

const choice = (label, any, values, change) =>
	h(
		'select',
		{ 'aria-label': label, change },
		any && h('option', { value: '' }, any),
		Object.entries(values).map(([value, text]) => h('option', { value }, text)),
	);

export const show = async (main) => {
	const all = mayDo('list_cdr'),
		own = mayDo('list_my_cdr');
	const title = h('h1', { tabindex: '-1' }, 'Calls');
	if (!all && !own) {
		const text = operation('list_cdr') ? 'You may see neither the calls of this tenant nor your own.' : 'This gateway does not serve them.';
		return put(main, title, h('p', { class: 'empty' }, text));
	}
	let turn = 0,
		offset = 0,
		shown = ''; // the answer that the page has: if the next one is the same, a recording goes on
	const rows = h('div', { 'aria-live': 'polite' }, h('p', { class: 'empty' }, 'Loading…')),
		pages = h('nav', { class: 'pages', 'aria-label': 'Pages of calls' });
	const again = () => look(0);
	const search = h('input', { type: 'search', placeholder: 'Name or number', 'aria-label': 'Search calls', autocomplete: 'off', input: later(again) });
	const whose = all && own && choice('Whose calls', '', { all: 'All calls', own: 'My calls' }, again);
	const way = choice('Way', 'Every way', ways, again),
		end = choice('How it ended', 'However it ended', ends, again),
		order = choice('Order', '', { start: 'Newest first', duration: 'Longest first' }, again);
	const day = (label) => h('input', { type: 'date', 'aria-label': label, title: label, change: again });
	const from = day('From this day'),
		until = day('To this day');
	const people = all && resources.get('confd/users');
	const user = people && may(people.list) && picker(people, (u) => u.uuid, { placeholder: 'Person', 'aria-label': 'Calls of a person', change: again });
	// begins returns when a day begins here, some days later.
	const begins = (text, later = 0) => {
		if (!text) return undefined;
		const [year, month, date] = text.split('-').map(Number);
		return new Date(year, month - 1, date + later).toISOString();
	};
	const asked = () => /** @type {Operation & { service: Service }} */ (operation(all && whose?.value !== 'own' ? 'list_cdr' : 'list_my_cdr'));
	const query = () => {
		const person = asked().operationId === 'list_cdr' && user ? user.read() : undefined;
		if (person instanceof Error) return undefined;
		return {
			search: search.value.trim(),
			call_direction: way.value,
			call_status: end.value,
			order: order.value,
			from: begins(from.value),
			until: begins(until.value, 1),
			user_uuid: person,
		};
	};
	const path = () => asked().service.prefix + asked().path;
	const look = async (to) => {
		const mine = ++turn;
		rows.setAttribute('aria-busy', 'true');
		try {
			await settled(tools);
			const asks = query();
			if (!asks) {
				shown = '';
				put(pages);
				put(rows, h('p', { class: 'empty' }, 'Nobody is called so.'));
				return;
			}
			const { data } = await call('GET', path(), { query: { ...asks, limit: size, offset: to } });
			if (mine !== turn || JSON.stringify([to, data]) === shown) return;
			shown = JSON.stringify([to, data]);
			offset = to;
			const last = offset + data.items.length;
			put(
				rows,
				data.items.length > 0
					? table(data.items, operation(asked().operationId === 'list_cdr' ? 'read_recording_media' : 'read_my_recording_media'))
					: h('p', { class: 'empty' }, data.total > 0 ? 'No call is so.' : 'There are no calls yet.'),
			);
			// The gateway counts 1,000 calls beyond the page.
			const more = data.filtered - last >= 1000 && data.filtered < data.total ? 'more than ' : '';
			put(
				pages,
				offset > 0 && h('button', { type: 'button', click: () => look(Math.max(0, offset - size)) }, 'Back'),
				data.items.length > 0 && `${(offset + 1).toLocaleString()} to ${last.toLocaleString()} of ${more}${data.filtered.toLocaleString()}`,
				data.filtered > last && h('button', { type: 'button', click: () => look(offset + size) }, 'Further'),
			);
		} catch (problem) {
			if (mine !== turn) return;
			shown = '';
			put(
				rows,
				trouble(problem, () => look(to)),
			);
			put(pages);
		} finally {
			if (mine === turn) rows.removeAttribute('aria-busy');
		}
	};
	const file = async () => {
		try {
			const { data } = await call('GET', path(), { query: query(), headers: { Accept: 'text/csv' } });
			save('calls.csv', data);
			say('The file has all calls that are so.');
		} catch (problem) {
			say(problem.message, true);
		}
	};
	const tools = h(
		'div',
		{ class: 'tools' },
		search,
		whose,
		user?.element,
		way,
		end,
		from,
		until,
		order,
		h('button', { type: 'button', click: file }, 'As CSV file'),
	);
	put(main, title, !all && h('p', {}, `The calls of ${me?.username}.`), tools, rows, pages);
	return look(0);
};
