"""The built-in tools. A module put here is found at start; there is nothing else to do."""
