// empty during dev
export const immutable = [];
export const prerendered = [];

export const assets = [
	
];

export const routes = [
	
];