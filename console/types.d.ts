// What the console's scripts call things, for the checker of types alone: no page loads it.

/** A service of the gateway, with its definition once that was loaded. */
interface Service {
	name: string;
	title: string;
	prefix: string;
	definition: any;
	mails?: boolean;
	/** The operations that this installation cannot serve, by their ids. */
	unserved?: string[];
	/** Why the definition could not be loaded, or read. */
	problem?: Error;
}

/** A schema of OpenAPI 3.0, with what our definitions add to it. */
interface Schema {
	type?: string;
	format?: string;
	title?: string;
	description?: string;
	default?: any;
	example?: any;
	enum?: any[];
	pattern?: string;
	minimum?: number;
	maximum?: number;
	maxLength?: number;
	nullable?: boolean;
	readOnly?: boolean;
	writeOnly?: boolean;
	deprecated?: boolean;
	required?: string[];
	properties?: Record<string, Schema>;
	additionalProperties?: any;
	items?: Schema;
	allOf?: Schema[];
	discriminator?: { propertyName: string; mapping: Record<string, string> };
	$ref?: string;
	/** Of what the console asks itself: the filter of the objects that may be picked. */
	'x-among'?: Record<string, string>;
	'x-columns'?: string[];
	'x-enum-labels'?: Record<string, string>;
	'x-fixed'?: boolean;
	'x-help'?: string;
	'x-key'?: boolean;
	'x-or'?: string;
	'x-ref'?: string;
	'x-when'?: Record<string, string[]>;
}

/** A request that was sent. */
interface Sent {
	method: string;
	url: string;
	headers: Record<string, string>;
	body?: any;
}

interface Parameter {
	name: string;
	in: string;
	required?: boolean;
	schema?: Schema;
}

/** What a request can be. */
interface Operation {
	method: string;
	path: string;
	access?: string;
	service?: Service;
	operationId?: string;
	summary?: string;
	description?: string;
	parameters?: Parameter[];
	requestBody?: any;
	responses?: any;
	'x-instead-acl'?: string;
	'x-master-tenant'?: boolean;
	'x-required-acl'?: string;
	'x-title'?: string;
	'x-unimplemented'?: boolean;
}

/** What is so of each resource. */
interface Named {
	/** Service and path: "confd/users". */
	key: string;
	service: Service;
	path: string;
	title: string;
	/** It belongs to who is signed in. */
	own?: boolean;
	create?: Operation;
	read?: Operation;
	update?: Operation;
	remove?: Operation;
}

/** What exists once. */
interface Settings extends Named {
	document: true;
	list?: undefined;
	items?: undefined;
	schema?: undefined;
	itemPath?: undefined;
	parameter?: undefined;
	parts?: undefined;
}

/** Objects that can be listed. */
interface Listed extends Named {
	document?: undefined;
	list: Operation;
	/** The property in which a list's answer has its objects. */
	items: string;
	schema: Schema;
	itemPath?: undefined;
	parameter?: undefined;
	parts?: undefined;
}

/** Objects that also have pages. */
interface Paged extends Omit<Listed, 'itemPath' | 'parameter' | 'parts'> {
	itemPath: string;
	/** The last one of the parameters of itemPath. */
	parameter: string;
	parts: Part[];
}

type Collection = Listed | Paged;
type Resource = Settings | Collection;

/** What belongs to one object. */
interface Part {
	kind?: 'list' | 'shown' | 'document' | 'replaced' | 'link' | 'asked' | 'files';
	name: string;
	path: string;
	title?: string;
	get?: Operation;
	put?: Operation;
	post?: Operation;
	remove?: Operation;
	/** Ends all links at once. */
	all?: Operation;
	/** Ends one of a list. */
	end?: Operation;
	items?: string;
	schema?: Schema;
	parameter?: string;
	/** There are links beside it, of which it has the order. */
	ordered?: boolean;
	/** The path names the object last, and the other one first. */
	reversed?: boolean;
}

/** Where a control is, and what it may name. */
interface Context {
	service: Service;
	list?: Operation;
	/** The name of the keys of a map. */
	key?: string;
	/** The tenant whose objects may be named. */
	tenant?: string;
	/** Whether what is named may be made anew, over the page. */
	makes?: boolean;
	/** Whether the entries of a map may come from elsewhere. */
	inherits?: boolean;
	/** The list whose item this is part of, and the item. */
	of?: string;
	item?: any;
	/** The schemas of the other fields. */
	beside?: Record<string, Schema>;
}

/** What one types a value into. */
interface Control {
	element: any;
	/** What has the focus, unless it is a group. */
	input?: any;
	group?: boolean;
	/** The value. undefined: leave it out; an Error: it cannot be read. */
	read: () => any;
	/** The innermost control that a path leads to. */
	find?(path: string[]): any;
}

/** A control in which one picks an object. */
interface Picker extends Control {
	/** Whether a text is one that it has shown. */
	shows: (text: string) => boolean;
	/** What it shows of the objects that have a text. */
	search: (text: string) => Promise<string[]>;
}

/** A control with its label, and a place for what is wrong with it. */
interface Field extends Control {
	name: string;
	label?: string;
	schema?: Schema;
	required?: boolean;
	before?: any;
	/** What it read at first. */
	first?: any;
	refuse: (text: string, ...more: any[]) => void;
}

/** How a control is made a field. */
interface Labelled {
	note?: string;
	required?: boolean;
	schema?: Schema;
	fixed?: boolean;
	had?: boolean;
}

/** What a page of objects asks for. */
interface Wanted {
	search: string;
	limit: number;
	offset: number;
}

/** Who is signed in. */
interface Me {
	token: string;
	user: string;
	username: string;
	session: string;
	acl: string[];
	expires: string;
	tenant: string;
	/** Their tenant is not the master. */
	below?: boolean;
}

/** Those that are undefined are not sent. */
type Headings = Record<string, string | null | undefined>;

/** For whom the words me and my_session of an access stand. */
type Who = { user?: string; session?: string } | null;

interface CallOptions {
	query?: Record<string, any>;
	body?: any;
	headers?: Headings;
	/** It is not of the page alone that is shown. */
	stays?: boolean;
	/** Nobody waits for it any more. */
	until?: AbortSignal;
	/** What comes is kept as a Blob. */
	file?: boolean;
}

interface FormOptions {
	service: Service;
	schema: Schema;
	list?: Operation;
	key?: string;
	tenant?: string;
	inherits?: boolean;
	before?: any;
	version?: { tag?: string | null };
	latest?: () => Promise<{ object: any; tag?: string | null }>;
	hidden?: (string | undefined)[];
	more?: any[];
	/** Fields of the page itself that come before those of the schema. */
	above?: any[];
	action?: string;
	whole?: boolean;
	locked?: boolean;
	send: (body: any, tag?: string | null) => Promise<any>;
}

interface TableOptions {
	service: Service;
	schema?: Schema;
	columns: string[];
	objects: any[];
	link?: (object: any) => string | undefined;
	sort?: { can: (name: string) => boolean; by: (name: string) => void; state: (name: string) => string | undefined };
	pick?: false | { all: any; one: (object: any) => any };
	named?: (name: string, object: any) => any;
	label?: (name: string) => string | undefined;
}

interface PickerOptions {
	before?: any;
	preset?: any;
	by?: string;
	free?: boolean;
	query?: Record<string, any>;
	headers?: Headings;
	stays?: boolean;
	makes?: boolean;
	within?: string;
}

interface Document {
	/** What the page has from the beginning or, of the menu, whenever somebody is signed in. */
	getElementById(id: 'head' | 'main' | 'menu' | 'nav' | 'state'): HTMLElement;
}

interface Window {
	SwaggerUIBundle: any;
}
