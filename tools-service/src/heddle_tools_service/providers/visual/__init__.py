"""Pages for tools: their search, their pictures, and the models that see them."""
