// What is happening now: cards on the first page, of what one may see. They lead to their pages, and follow while one looks.
import { call } from './api.js';
import { lasting } from './asterisk.js';
import { may, mayDo, operation, resources } from './definitions.js';
import { badge, h, moment, plural, put } from './dom.js';

// read asks what an operation or the list of a kind of object answers.
const read = async (one, query) => (await call('GET', one.service.prefix + one.path, { query })).data;

let told,
	asked = 0;

// findings are what the installation has found of itself that is not well, as far as one may see it: asked for once for all cards.
const findings = () => {
	if (Date.now() - asked > 50_000) {
		asked = Date.now();
		told = mayDo('read_system') ? read(operation('read_system')).then((data) => data.findings.filter((f) => f.state !== 'ok')) : Promise.resolve([]);
		told.catch(() => (asked = 0));
	}
	return told;
};

// A source asks one thing, again after so many seconds, and makes cards of it: each has an address, a title, what it tells, and a badge.
const asterisk = async () => {
	if ((await findings()).some((f) => f.subject === 'Asterisk' && f.state === 'problem'))
		return [['#/system', 'Asterisk', 'Not reached', badge('Nobody can telephone', 'bad')]];
	const lines = resources.get('confd/lines'),
		[{ channels, registrations, trunks, queues }, all] = await Promise.all([
			read(operation('read_asterisk'), { limit: 100 }),
			may(lines?.list) ? read(lines, { limit: 1 }) : null,
		]),
		down = trunks.items.filter((t) => t.state === 'unreachable' || (t.registration && t.registration !== 'Registered')),
		waiting = queues.items.reduce((n, q) => n + q.waiting, 0);
	return [
		['#/asterisk', 'Calls now', channels.total, waiting > 0 ? badge(`${plural(waiting, 'caller')} waiting`, 'warn') : channels.total === 0 && 'Nobody talks.'],
		['#/asterisk', 'Telephones registered', all ? `${registrations.total} of ${all.total}` : registrations.total, all?.total === 0 && 'There is none yet.'],
		[
			'#/asterisk',
			'Trunks',
			trunks.total,
			trunks.total === 0 ? 'None that tells its state.' : down.length > 0 ? badge(`${down.length} down`, 'bad') : badge('All are up', 'good'),
		],
	];
};

const changes = async () => {
	const setting = resources.get('confd/configuration/live_reload'),
		{ enabled } = await read(setting);
	if (enabled) return [['#/apply', 'Changes', 'Live at once', badge('Live reload is on', 'good')]];
	const audit = resources.get('auth/audit'),
		kept = mayDo('list_generations') ? await read(operation('list_generations')) : { items: [] },
		since = kept.items.find((g) => g.live)?.created_at;
	if (!since || !may(audit?.list)) return [['#/apply', 'Changes', 'Wait for “Apply”', badge('Live reload is off')]];
	const { filtered } = await read(audit, { service: 'confd', since, recurse: 'true', limit: 1 });
	return [['#/apply', 'Changes since “Apply”', filtered, filtered > 0 ? badge('They wait', 'warn') : badge('Up to date', 'good')]];
};

const backups = async () => {
	const [last] = (await read(operation('list_backups'))).items,
		age = last && (Date.now() - new Date(last.made_at).getTime()) / 1000;
	return [['#/system', 'Last backup', last ? `${lasting(age)} ago` : 'None yet', last ? moment(last.made_at) : badge('Make one', 'warn')]];
};

const health = async () => {
	const found = await findings(),
		worst = found.some((f) => f.state === 'problem') ? 'bad' : 'warn';
	return [
		['#/system', 'Health', found.length === 0 ? 'All is well' : plural(found.length, 'thing'), found.length > 0 && badge(`Look at ${found[0].subject}`, worst)],
	];
};

/** @type {[string, number, () => boolean, () => Promise<any[]>][]} */
const sources = [
	['Asterisk', 5, () => mayDo('read_asterisk'), asterisk],
	['Changes', 30, () => mayDo('apply') && may(resources.get('confd/configuration/live_reload')?.read), changes],
	['Backups', 300, () => mayDo('list_backups'), backups],
	['Health', 60, () => mayDo('read_system'), health],
];

const card = ([to, title, said, more]) =>
	h('li', {}, h('a', { href: to }, title), h('b', {}, typeof said === 'number' ? said.toLocaleString() : said), h('span', {}, more));

// now is the section of the cards; nothing, if one may see none of them.
export const now = () => {
	const mine = sources.filter(([, , offered]) => offered());
	if (mine.length === 0) return '';
	asked = 0; // somebody else may have signed in
	const list = h('ul', { class: 'now' });
	const places = mine.map(([title]) => [h('li', { class: 'quiet', 'aria-busy': 'true' }, title, h('span', {}, 'Loading…'))]);
	const draw = () => put(list, places);
	const follow = async (i) => {
		const [title, seconds, , ask] = mine[i];
		try {
			places[i] = (await ask()).map(card);
		} catch (problem) {
			if (!problem.messages) throw problem;
			const again = h('button', { type: 'button', class: 'plain', click: () => follow(i) }, 'Try again');
			places[i] = [
				h('li', { class: 'error' }, title, h('span', { role: 'alert' }, problem.status === 403 ? 'You may not see this.' : [`${problem.message} `, again])),
			];
			if (list.isConnected) draw();
			return; // until it is asked for again
		}
		if (!list.isConnected) return;
		const focused = document.activeElement?.getAttribute('href'),
			inside = list.contains(document.activeElement);
		draw();
		if (inside) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${focused}"]`))?.focus();
		const later = () => {
			if (!list.isConnected) return undefined;
			return document.hidden ? setTimeout(later, seconds * 1000) : follow(i);
		};
		setTimeout(later, seconds * 1000);
	};
	draw();
	setTimeout(() => mine.forEach((_, i) => follow(i)), 0); // once the page has its place
	return h('section', { 'aria-labelledby': 'now' }, h('h2', { id: 'now' }, 'Now'), list);
};
