const variables = {};
const handle_issues = () => {};

const issues = {};

export { variables }

export const dynamic_private_env = {};

export const explicit_public_env = {};

export const rendered_env = {};

handle_issues(issues);

export function set_env(env) {
	const issues = {};
	
	handle_issues(issues);
}

set_env({});