"""How the tables came to be: Alembic's environment, and one file for each step in `versions`."""
