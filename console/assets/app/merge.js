// What becomes of something that two people have changed at once.
import { same } from './dom.js';

const keyOf = (item) => item?.uuid ?? item?.id ?? JSON.stringify(item);

// merged joins what I have made of a value with what somebody else has made of it since, both from base. Of a list, and of a map, what both
// have added and removed counts; of anything else, and of an item that both have changed, mine.
export const merged = (schema, base, mine, theirs) => {
	if (same(base, mine)) return theirs ?? mine;
	if (same(base, theirs)) return mine;
	if ([mine, theirs].every(Array.isArray)) {
		const had = new Set((base ?? []).map(keyOf)),
			kept = new Set(theirs.map(keyOf)),
			own = new Set(mine.map(keyOf));
		return [
			...mine.filter((item) => !had.has(keyOf(item)) || kept.has(keyOf(item))),
			...theirs.filter((item) => !had.has(keyOf(item)) && !own.has(keyOf(item))),
		];
	}
	if (schema?.additionalProperties && [mine, theirs].every((v) => v && typeof v === 'object')) {
		const out = {};
		for (const key of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
			const had = base && key in base;
			if (key in mine && key in theirs) out[key] = merged(undefined, base?.[key], mine[key], theirs[key]);
			else if (!had) out[key] = mine[key] ?? theirs[key]; // one of us has added it
		}
		return out;
	}
	return mine;
};
