"""The installed tools, and the validation of their configurations."""
