globalThis.__sveltekit_dev = {
	base: location.pathname.split('/').slice(0, -1).join('/'),
	env: {
		// empty
	},
	version: "1795972909012"
};