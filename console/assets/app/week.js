// The hours of a week, which one sees while one types them.
import { fresh, h, put, svg } from './dom.js';

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const span = /^([01]?\d|2[0-3])(?::([0-5]\d))?\s*[-–]\s*([01]?\d|2[0-3])(?::([0-5]\d))?$/;

// hoursOf reads "8:30-12, 13-17:30" as pairs of times, "08:30" and "12:00"; an Error says what is wrong.
export const hoursOf = (text) => {
	const pairs = [];
	for (const one of text
		.split(',')
		.map((part) => part.trim())
		.filter(Boolean)) {
		const [, from, minutes = '00', to, last = '00'] = one.match(span) ?? [];
		if (from === undefined) return new Error(`"${one}" are no hours: write 9:00-17:00, and a comma between several.`);
		const [start, end] = [`${from.padStart(2, '0')}:${minutes}`, `${to.padStart(2, '0')}:${last}`];
		if (end < start) return new Error(`"${one}" ends before it starts.`);
		pairs.push([start, end]);
	}
	return pairs;
};

// periodsOf puts the hours of the days together: each is a period of the days that have it.
export const periodsOf = (week) => {
	const periods = new Map();
	week.forEach((pairs, i) => {
		for (const [start, end] of pairs) {
			const key = `${start} ${end}`;
			if (!periods.has(key)) periods.set(key, { hours_start: start, hours_end: end, week_days: [] });
			periods.get(key).week_days.push(i + 1);
		}
	});
	return [...periods.values()];
};

// textsOf writes periods as the hours of each day, from Monday on; undefined, if some are not of every week.
export const textsOf = (periods) => {
	const whole = (list, length) => !list || new Set(list).size === length;
	if (!periods.every((p) => whole(p.months, 12) && whole(p.month_days, 31))) return undefined;
	const short = (time) => time.replace(/^0/, '').replace(/:00$/, '');
	return days.map((_, i) =>
		periods
			.filter((p) => (p.week_days ?? [i + 1]).includes(i + 1))
			.sort((a, b) => a.hours_start.localeCompare(b.hours_start))
			.map((p) => `${short(p.hours_start)}-${short(p.hours_end)}`)
			.join(', '),
	);
};

const minute = (time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

// bar shows the hours of one day, of which each fourth is marked.
const bar = (pairs) => {
	const picture = svg('svg', { viewBox: '0 0 1440 100', preserveAspectRatio: 'none', class: 'hours', 'aria-hidden': 'true' });
	for (const [start, end] of pairs) picture.append(svg('rect', { x: minute(start), y: 0, width: Math.max(1, minute(end) - minute(start)), height: 100 }));
	for (const at of [360, 720, 1080]) picture.append(svg('path', { d: `M${at} 0v100`, 'vector-effect': 'non-scaling-stroke' }));
	return picture;
};

// week is a control of the periods of a week: of a new one, from Monday to Friday at first. Before are those until now, which textsOf can write.
/** @type {(before: any[] | undefined, attributes: any) => Control} */
export const week = (before, { 'aria-describedby': describedby }) => {
	const texts = before ? textsOf(before) : days.map((_, i) => (i < 5 ? '9-17' : ''));
	const rows = days.map((day, i) => {
		const id = fresh('day'),
			error = h('span', { class: 'error', id: `${id}-error` }),
			picture = h('div');
		const input = h('input', {
			id,
			value: texts?.[i] ?? '',
			placeholder: 'closed',
			autocomplete: 'off',
			spellcheck: 'false',
			'aria-describedby': `${describedby} ${id}-error`,
		});
		const draw = () => {
			const pairs = hoursOf(input.value);
			put(picture, bar(pairs instanceof Error ? [] : pairs));
		};
		input.addEventListener('input', draw);
		draw();
		const read = () => {
			const pairs = hoursOf(input.value);
			put(error, pairs instanceof Error ? pairs.message : '');
			input.setAttribute('aria-invalid', String(pairs instanceof Error));
			if (pairs instanceof Error) input.focus();
			return pairs;
		};
		return { read, element: h('div', { class: 'day' }, h('label', { for: id }, day), input, picture, error) };
	});
	return {
		group: true,
		element: [h('small', {}, 'Such as 9:00-12:30, 13:30-17:00. A day without hours is closed.'), rows.map((row) => row.element)],
		read: () => {
			const all = rows.map((row) => row.read()),
				wrong = all.find((pairs) => pairs instanceof Error);
			return wrong ? Object.assign(wrong, { said: true }) : periodsOf(all);
		},
	};
};
