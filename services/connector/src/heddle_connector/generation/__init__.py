"""One call: its request, its events, and tool use for models without native support."""
