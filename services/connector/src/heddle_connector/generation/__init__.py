"""One call of a model: its request, its events, and tool use without native support."""
