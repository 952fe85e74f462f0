"""Assistants as rows of the database: reading them, migrating them, changing them."""
