"""A collection's embedding models, and the process that runs them."""
