"""The revisions of the tables: one file for each step in `versions`."""
