"""All assistants: those of the folder, and those of the database."""
