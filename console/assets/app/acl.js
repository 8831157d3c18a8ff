// The language of accesses and patterns, as the gateway's documents describe it. What is computed here only explains and hides: the
// gateway itself decides about each request.

const isUUID = (word) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word);

// matches reports whether a pattern, without its !, stands for an access. Who has the UUIDs for which me and my_session stand.
/** @type {(pattern: string, access: string, who?: Who) => boolean} */
export const matches = (pattern, access, who) => {
	const meant = (word) => {
		if (word === 'me') return (who?.user ?? word).toLowerCase();
		if (word === 'my_session') return (who?.session ?? word).toLowerCase();
		return isUUID(word) ? word.toLowerCase() : word;
	};
	const asked = pattern.split('.'),
		given = access.split('.');
	let positions = new Set([0]);
	for (const word of given) {
		const next = new Set();
		for (const at of positions) {
			if (at > 0 && asked[at - 1] === '#') next.add(at);
			if (at < asked.length && (asked[at] === '#' || asked[at] === '*' || meant(asked[at]) === meant(word))) next.add(at + 1);
		}
		positions = next;
	}
	return positions.has(asked.length);
};

// instances are accesses that a pattern, without its !, stands for, among those that an operation takes: {} of its access is a word of the
// path, which is here what the pattern asks for or, if that is any word, one that nobody names.
export const instances = (pattern, operation) => {
	const asked = pattern.split('.'),
		given = operation.split('.');
	const rest = (at, to) => {
		if (at === asked.length || to === given.length) return at === asked.length && to === given.length ? [[]] : [];
		const word = asked[at],
			any = word === '*' || word === '#',
			open = given[to].startsWith('{');
		const self = isUUID(word) && (given[to] === 'me' || given[to] === 'my_session'); // that user, by their own path
		if (!any && !self && (open ? /[{}]/.test(word) : given[to] !== word)) return [];
		const after = [...rest(at + 1, to + 1), ...(word === '#' ? rest(at, to + 1) : [])];
		return after.map((words) => [any ? (open ? 'x' : given[to]) : word, ...words]);
	};
	return rest(0, 0).map((words) => words.join('.'));
};

// allows reports whether a list of patterns grants an access: a denial wins.
export const allows = (patterns, access, who) =>
	patterns.some((p) => !p.startsWith('!') && matches(p, access, who)) && !patterns.some((p) => p.startsWith('!') && matches(p.slice(1), access, who));

// fault says what is wrong with a pattern, or nothing.
export const fault = (pattern) => {
	const text = pattern.startsWith('!') ? pattern.slice(1) : pattern;
	if (text === '') return 'A pattern has at least one word.';
	if (text.includes('!')) return 'A ! stands only in front of the whole pattern, and once.';
	if (/\s/.test(text)) return 'A pattern has no spaces: put each pattern on a line of its own.';
	if (text.split('.').includes('')) return 'There is an empty word: two dots in a row, or one at an end.';
	if (text.split('.').some((word) => word.length > 1 && /[*#]/.test(word))) return '* and # stand for whole words, between dots.';
	return '';
};

const actions = { read: 'see', create: 'create', update: 'change', delete: 'delete' };

const place = (word) => {
	if (word === '*') return 'any one';
	if (word === '#') return 'anything inside';
	if (word === 'me') return 'the user themselves';
	if (word === 'my_session') return 'the session in use';
	return isUUID(word) ? `the one with the UUID ${word}` : word.replaceAll('_', ' ');
};

// explain says a pattern in words.
export const explain = (pattern) => {
	const wrong = fault(pattern);
	if (wrong) return wrong;
	const denies = pattern.startsWith('!'),
		list = (denies ? pattern.slice(1) : pattern).split('.');
	const begin = denies ? 'May never ' : 'May ';
	if (list.length === 1) return list[0] === '#' ? `${begin}do anything at all.` : `${begin}use the access "${list[0]}" itself.`;
	const last = list.at(-1),
		service = list[0] === '*' || list[0] === '#' ? 'any service' : `the service ${list[0]}`;
	const inside = list.slice(1, -1).map(place).join(' › ');
	const what = inside || 'things';
	if (last === '#') return inside ? `${begin}do anything with ${what}, and with all inside, in ${service}.` : `${begin}do anything in ${service}.`;
	if (last === '*') return `${begin}do any one thing with ${what} in ${service}.`;
	return actions[last] ? `${begin}${actions[last]} ${what} in ${service}.` : `${begin}use ${[what, place(last)].join(' › ')} in ${service}.`;
};
