"""The routers: each chooses the next tool of a run in its own way."""
