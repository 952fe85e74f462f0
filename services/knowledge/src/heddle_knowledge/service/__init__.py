"""The knowledge service: all that knows its contract. What it does, `knowledge.store` does."""
