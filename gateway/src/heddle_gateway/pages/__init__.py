"""Pages that the gateway serves for people, besides the studio."""
